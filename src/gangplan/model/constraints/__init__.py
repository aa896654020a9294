"""The rules that a plan must keep, one file per family, found by scanning this folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from gangplan.model.formulation.layout import Layout
    from gangplan.model.formulation.rows import Rows
    from gangplan.model.verifier.reading import Reading
    from gangplan.model.verifier.violation import Violation


class Constraint(Protocol):
    """What the module of a family offers."""

    NAME: str
    """The family's name; the first part of every rule's name."""
    RULES: tuple[str, ...]
    """Every rule that :meth:`violations` can report, as ``family.rule``."""

    def violations(self, reading: Reading) -> list[Violation]:
        """What the plan breaks, judged on the round and the plan alone; never raises."""
        ...


@cache
def constraints() -> tuple[Constraint, ...]:
    """All families, in the order of their module names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(cast("Constraint", importlib.import_module(f"{__name__}.{name}")) for name in names)


@cache
def row_families() -> tuple[tuple[str, Callable[[Layout], Rows]], ...]:
    """Name and row builder of every family that the programme knows, in the order of module names.

    The others (eligibility, order, justification) hold by the way plans are built, and only the verifier
    judges them.
    """
    return tuple((family.NAME, family.rows) for family in constraints() if hasattr(family, "rows"))
