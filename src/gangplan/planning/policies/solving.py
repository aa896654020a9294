"""How peers' programmes are solved: by HiGHS, in this thread, without a clock: a run repeats exactly."""

from __future__ import annotations

from gangplan.model.program import Program, Solution, SolveParameters
from gangplan_solvers import catalog

BACKEND = "highs"
_NODES = 2_000
"""Most nodes of branch and bound of a programme with whole numbers."""


def solved(program: Program, *, gap: float = 1e-6, relax: bool = False) -> Solution:
    """The solver's answer; the plan that comes of it is verified, not this.

    Args:
        program: to maximise.
        gap: relative, at which to stop.
        relax: solve the linear relaxation.

    Raises:
        BackendError: the solver failed, or the programme's data are not finite.
    """
    parameters = SolveParameters(relative_gap=gap, node_limit=_NODES, relax=relax)
    return catalog.load(BACKEND).solve(program, parameters)
