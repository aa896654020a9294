"""Asking solvers: which backend, how long, and what when it fails."""

from __future__ import annotations

from dataclasses import dataclass, field

from gangplan.domain.plan import TerminationLimit
from gangplan.engine.judge import Judge
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.registry import AUTO, choose
from gangplan.engine.runner import Cancellation, Runner
from gangplan.errors import BackendError, UnknownSolverError, WorkerError
from gangplan.model.program import FloatArray, Program, Solution, SolveLimit, SolveParameters, SolveStatus
from gangplan_solvers import catalog

_LIMITS = {
    SolveLimit.NONE: TerminationLimit.NONE,
    SolveLimit.TIME: TerminationLimit.TIME,
    SolveLimit.NODE: TerminationLimit.NODE,
}

_PRECISE = 0.02
"""A part of the programme need not be solved closer than this share of the gap that is open."""


@dataclass(slots=True)
class Asking:
    """The solvers of one round, and what came of asking them.

    Attributes:
        judge: for the budget.
        parameters: solver, gap, limits, seed.
        runner: where solvers run.
        cancellation: of the round.
        limit: what stopped the last answer, or why there was none.
        failures: what went wrong, one sentence each.
    """

    judge: Judge
    parameters: PlanParameters
    runner: Runner
    cancellation: Cancellation | None
    limit: TerminationLimit = TerminationLimit.NONE
    failures: list[str] = field(default_factory=list)

    @property
    def precise_gap(self) -> float:
        """The relative gap at which a part of the programme is solved closely enough."""
        return max(self.parameters.relative_gap, _PRECISE * self.judge.gap)

    def solve(
        self,
        program: Program,
        start: FloatArray | None,
        *,
        step: str,
        share: float = 1.0,
        relative_gap: float | None = None,
        relax: bool = False,
    ) -> Solution | None:
        """The checked answer of the chosen backend; of another one, when it fails and the choice was ours.

        Args:
            program: what to solve.
            start: a complete feasible solution, or None.
            step: under which name the work is counted.
            share: how much of the time that is left it may take.
            relative_gap: at which it may stop; None: as the caller of the round said.
            relax: solve the linear relaxation, with whatever backend has one.

        Returns:
            None when there was no answer; ``limit`` and ``failures`` say why.
        """
        within = self.judge.budget.less(self.judge.reserve_seconds)
        wanted = AUTO if relax else self.parameters.solver
        names = tuple(catalog.names())
        tried = False
        while within.remaining > 0.0 and names:
            how = SolveParameters(
                time_limit_seconds=share * within.remaining if within.limited else None,
                relative_gap=self.parameters.relative_gap if relative_gap is None else relative_gap,
                node_limit=self.parameters.node_limit,
                threads=self.parameters.threads,
                seed=self.parameters.seed,
                relax=relax,
            )
            try:
                name = choose(wanted, program, how, names)
            except UnknownSolverError:
                if not tried and not relax:
                    raise
                break  # the failures leave no backend that can be used here
            tried = True
            try:
                with self.judge.budget.phase("relax" if relax else "solve"):
                    solution = self.runner.solve(name, program, how, start, within, self.cancellation)
                if solution.status is SolveStatus.INFEASIBLE:  # no row cuts off a plan, and there is one
                    raise BackendError("it claims INFEASIBLE, but there is a verified plan")
            except (BackendError, WorkerError) as error:
                self.failures.append(f"{name}: {error}")
                if self.cancellation is not None and self.cancellation.cancelled:
                    self.limit = TerminationLimit.CANCELLED
                    return None
                names = tuple(other for other in names if other != name) if wanted == AUTO else ()
                continue
            if solution.detail:
                self.failures.append(solution.detail)
            self.limit = _LIMITS[solution.limit]
            self._count(step, program, solution)
            return solution
        late = within.remaining <= 0.0
        self.limit = TerminationLimit.TIME if late or not tried else TerminationLimit.FAILURE
        if not tried and not relax:
            self.failures.append("the budget left no time for a solver")
        return None

    def _count(self, step: str, program: Program, solution: Solution) -> None:
        """Add up the sizes of a step's programmes and what its solver did: counters, for tables and gates."""
        count = self.judge.count
        count(f"{step}_columns", program.columns)
        count(f"{step}_rows", program.rows)
        count(f"{step}_nonzeros", program.nonzeros)
        count(f"{step}_iterations", solution.iterations)
        count(f"{step}_nodes", solution.nodes)
