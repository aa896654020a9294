"""Which backends there are: modules of this package, found by name, and entry points of other packages.

A module of this package is a backend when it defines ``BACKEND``. Another package offers one through an entry
point of the group ``gangplan.solvers`` that names a :class:`~gangplan_solvers.backend.Backend` instance.
Nothing is imported until it is used.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import gangplan_solvers
from gangplan.errors import BackendError, UnknownSolverError
from gangplan_solvers.backend import Availability, Backend, Feature

ENTRY_POINT_GROUP = "gangplan.solvers"

_NOT_BACKENDS = frozenset({"answer", "backend", "catalog", "installed", "model_files", "rows"})
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Description:
    """One line of the list of solvers.

    Attributes:
        name: as ``--solver`` takes it.
        features: what it can do.
        availability: whether it can be used here, its library's version, or why not.
    """

    name: str
    features: frozenset[Feature]
    availability: Availability


def _targets(extra: Mapping[str, str]) -> dict[str, str]:
    """``module:attribute`` by backend name; this package first, so that no other can take its names."""
    return {**extra, **_installed()}


@functools.cache
def _installed() -> Mapping[str, str]:
    """What is installed; scanned once, since that reads the metadata of every package there is."""
    points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    found = {point.name: point.value for point in points}
    for module in pkgutil.iter_modules(gangplan_solvers.__path__):
        if module.name not in _NOT_BACKENDS:
            found[module.name] = f"{gangplan_solvers.__name__}.{module.name}:BACKEND"
    return found


def names(extra: Mapping[str, str] = _NOTHING) -> tuple[str, ...]:
    """Names of all backends, sorted, whether they can be used here or not."""
    return tuple(sorted(_targets(extra)))


def load(name: str, extra: Mapping[str, str] = _NOTHING) -> Backend:
    """The backend of that name, whether its library can be used here or not.

    Args:
        name: one of :func:`names`.
        extra: more backends, ``module:attribute`` by name, as an entry point would give them.

    Raises:
        UnknownSolverError: there is none of that name; the message lists what there is.
        BackendError: the module of a backend of that name cannot be imported, or holds none.
    """
    targets = _targets(extra)
    if name not in targets:
        raise UnknownSolverError(f"no solver {name!r}; there are: {', '.join(sorted(targets))}")
    module, _, attribute = targets[name].partition(":")
    try:
        backend: Backend = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise BackendError(f"solver {name!r} at {targets[name]} cannot be loaded: {error}") from error
    return backend


def usable(name: str, extra: Mapping[str, str] = _NOTHING) -> Backend:
    """The backend of that name, ready to use.

    Raises:
        UnknownSolverError: there is none, or it cannot be used here; the message says what to do.
        BackendError: see :func:`load`.
    """
    backend = load(name, extra)
    found = backend.availability()
    if not found.available:
        raise UnknownSolverError(f"solver {name!r} cannot be used here: {found.reason}")
    return backend


def describe(extra: Mapping[str, str] = _NOTHING) -> tuple[Description, ...]:
    """All backends by name. One that cannot be loaded is listed as unavailable, with the reason."""
    lines = []
    for name in names(extra):
        try:
            backend = load(name, extra)
            lines.append(Description(name, backend.features, backend.availability()))
        except BackendError as error:
            lines.append(Description(name, frozenset(), Availability(False, reason=str(error))))
    return tuple(lines)
