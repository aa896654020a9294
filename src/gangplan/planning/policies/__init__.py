"""Who decides, round after round: one policy a file, found by scanning this folder.

A module here that has ``NAME``, ``ABOUT`` and ``make`` is a policy: ``make(how)`` gives a
:class:`~gangplan.planning.policies.protocol.RoundPolicy`. The next one is one new file. One that has
``NAMES``, a line on each by name, is as many: ``make(how, name)`` gives them. Other modules serve these:
``wishes`` makes a verified plan of what each job should have, ``memory`` keeps what a policy remembers.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.policies.protocol import How, RoundPolicy

__all__ = ["How", "RoundPolicy", "describe", "make", "names"]


def names() -> tuple[str, ...]:
    """Names of all policies, sorted."""
    return tuple(sorted(_modules()))


def describe() -> dict[str, str]:
    """One line on each policy, by name."""
    return {name: _about(_modules()[name], name) for name in names()}


def make(name: str, how: How | None = None) -> RoundPolicy:
    """The policy of that name.

    Raises:
        InvalidInputError: there is none.
    """
    module = _modules().get(name)
    if module is None:
        raise InvalidInputError(
            [FieldViolation("policy", f"no policy {name!r}; there are: {', '.join(names())}")]
        )
    how = how or How()
    made: RoundPolicy = module.make(how, name) if hasattr(module, "NAMES") else module.make(how)
    return made


def _about(module: ModuleType, name: str) -> str:
    about = module.NAMES[name] if hasattr(module, "NAMES") else module.ABOUT
    return str(about)


@cache
def _modules() -> dict[str, ModuleType]:
    found: dict[str, ModuleType] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "make"):
            found |= dict.fromkeys(getattr(module, "NAMES", ()) or (str(module.NAME),), module)
    return found
