"""Which solver for which programme, where the caller says ``auto``."""

from __future__ import annotations

from collections.abc import Iterable

from gangplan.engine.steps import BACKENDS
from gangplan.errors import BackendError, UnknownSolverError
from gangplan.model.program import Program, SolveParameters
from gangplan_solvers import catalog
from gangplan_solvers.backend import Feature

AUTO = "auto"

ONLY_BY_NAME = frozenset({"cuopt", "gurobi"})
"""Backends that :data:`AUTO` never takes: their use costs somebody a licence or a GPU."""


def refuse_unknown(name: str, among: Iterable[str] | None = None) -> None:
    """Refuse a solver that is none of those known (None: of the catalogue), nor :data:`AUTO`.

    Raises:
        UnknownSolverError: the message lists those that there are.
    """
    known = catalog.names() if among is None else tuple(among)
    if name != AUTO and name not in known:
        raise UnknownSolverError(f"no solver {name!r}; there are: {', '.join((AUTO, *known))}")


def choose(
    name: str, program: Program, parameters: SolveParameters, among: Iterable[str] | None = None
) -> str:
    """The backend to use for ``program``.

    Args:
        name: a backend's name, taken as it is, or :data:`AUTO`.
        program: what is to be solved.
        parameters: how.
        among: names to choose from; None: all of the catalogue.

    Raises:
        UnknownSolverError: none of that name, or, for ``auto``, none that can be used here and solves such a
            programme.
    """
    known = catalog.names() if among is None else tuple(among)
    refuse_unknown(name, known)
    if name != AUTO:
        return name
    needed = needs(program, parameters)
    order = next(names for most, names in BACKENDS if program.columns <= most)
    rest = tuple(other for other in known if other not in order and other not in ONLY_BY_NAME)
    for candidate in (*order, *rest):
        if candidate in known:
            try:
                backend = catalog.load(candidate)
            except BackendError:
                continue  # another package's, and broken: the list of solvers says how
            if needed <= backend.features and backend.availability().available:
                return candidate
    wanted = ", ".join(sorted(feature.value for feature in needed))
    raise UnknownSolverError(f"no solver that can be used here offers {wanted}; see `gangplan solvers`")


def needs(program: Program, parameters: SolveParameters) -> frozenset[Feature]:
    """The features that a backend must have to solve ``program``."""
    needed = set()
    if parameters.relax:
        needed.add(Feature.RELAXATION)
    else:
        if program.integer.any():
            needed.add(Feature.INTEGER)
        if not program.integer.all():
            needed.add(Feature.CONTINUOUS)
    return frozenset(needed)
