"""A linear programme beside the round's own: solved where solvers run, or an account of why not."""

from __future__ import annotations

from gangplan.engine.budget import Budget
from gangplan.engine.registry import AUTO, choose
from gangplan.engine.runner import Cancellation, Runner
from gangplan.errors import BackendError, UnknownSolverError, WorkerError
from gangplan.model.program import Program, Solution, SolveParameters


def solve_relaxation(
    program: Program, runner: Runner, budget: Budget, cancellation: Cancellation | None, *, seed: int = 0
) -> Solution | str:
    """The relaxation's solution, whatever its status; or why there is none, as it stands in a remark.

    Args:
        program: of which no column need be whole.
        runner: where solvers run.
        budget: until when.
        cancellation: to stop earlier.
        seed: the solver's.
    """
    how = SolveParameters(
        time_limit_seconds=budget.remaining if budget.limited else None, seed=seed, relax=True
    )
    try:
        return runner.solve(choose(AUTO, program, how), program, how, None, budget, cancellation)
    except (BackendError, UnknownSolverError, WorkerError) as error:
        return str(error)
