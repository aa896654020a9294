"""Which solver for which programme, where the caller says ``auto``."""

from __future__ import annotations

import math
from collections.abc import Iterable

from gangplan.errors import UnknownSolverError
from gangplan.model.program import Program, SolveParameters
from gangplan_solvers import catalog
from gangplan_solvers.backend import Feature

AUTO = "auto"

PREFERENCE: tuple[tuple[float, tuple[str, ...]], ...] = (
    (12_000, ("cpsat", "highs")),
    (math.inf, ("highs", "cpsat")),
)
"""Backends by the largest number of columns they are first choice for, best first.

Measured on whole placement programmes, one thread, warm start, a busy machine: at 3,000 columns CP-SAT led
by its linear relaxation proves the optimum in 1.2 to 2.4 s, HiGHS in 2.2 to 7 s; at 10,500 columns and 10 s
CP-SAT is within 0.3 % and HiGHS still at its start, and HiGHS overruns a limit of 1 to 10 s by up to half
(presolve heeds no clock) where CP-SAT stops in time. Programmes of 76,000 columns leave CP-SAT with little
more than its hint. With a few large integral counts in place of many binaries HiGHS is the quicker one, but
both take under half a second.
"""


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
    rest = tuple(other for other in known if other not in order)
    for candidate in (*order, *rest):
        if candidate in known:
            backend = catalog.load(candidate)
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
