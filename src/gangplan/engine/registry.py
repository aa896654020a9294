"""Which solver for which programme, where the caller says ``auto``."""

from __future__ import annotations

import math
from collections.abc import Iterable

from gangplan.errors import BackendError, UnknownSolverError
from gangplan.model.program import Program, SolveParameters
from gangplan_solvers import catalog
from gangplan_solvers.backend import Feature

AUTO = "auto"

PREFERENCE: tuple[tuple[float, tuple[str, ...]], ...] = (
    (12_000, ("cpsat", "highs")),
    (math.inf, ("highs", "cpsat")),
)
"""Backends by the largest number of columns they are first choice for, best first.

Measured once each on whole placement programmes (three of size M, two of size L, the openb cluster), one
thread, warm start, a machine busy with other work. At 3,000 columns CP-SAT, led by its linear relaxation,
proved the optimum in 1.2 to 2.4 s and HiGHS in 2.2 to 7.2 s. At 10,500 columns and a limit of 10 s CP-SAT
came within 0.3 % or to the optimum, where HiGHS was still at its start, 3 % off; and HiGHS came back 0.9 to
5.3 s after limits of 1 to 10 s, while CP-SAT kept them. On openb (1,908 columns, large counts) HiGHS took
0.2 s and CP-SAT 0.7 s. The prototype at 76,000 columns had little more from CP-SAT than its hint; where
between the two the balance tips was not measured.
"""

ONLY_BY_NAME = frozenset({"cuopt", "gurobi"})
"""Backends that :data:`AUTO` never takes: their use costs somebody a licence or a GPU."""


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
    if name != AUTO:
        if name not in known:
            raise UnknownSolverError(f"no solver {name!r}; there are: {', '.join((AUTO, *known))}")
        return name
    needed = needs(program, parameters)
    order = next(names for most, names in PREFERENCE if program.columns <= most)
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
