"""The exact step: the whole integer programme, solved in the worker, bound to nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gangplan.domain.plan import TerminationLimit
from gangplan.engine.judge import Judge
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.registry import AUTO, choose
from gangplan.engine.runner import Cancellation, Runner
from gangplan.errors import BackendError, UnknownSolverError, WorkerError
from gangplan.model.bind import bind
from gangplan.model.ease import ease
from gangplan.model.encode import encode
from gangplan.model.formulation import formulate
from gangplan.model.layout import Layout, build_layout
from gangplan.model.program import FloatArray, Program, Solution, SolveLimit, SolveParameters, SolveStatus
from gangplan_solvers import catalog

_RESERVE_SECONDS = 0.03
_RESERVE_FACTOR = 2.0
"""Kept back for binding, verifying and answering: seconds, and a multiple of the slowest verification."""

_FEASIBLE = 1e-6
_EASE_GAP = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """What the exact step did.

    Attributes:
        solution: the solver's checked answer; None when there is none.
        limit: why the search stopped.
        detail: one sentence on a failure; empty when all went well.
        program: the programme; None when the step was not taken.
        unbound: chosen gangs that no node could take.
    """

    solution: Solution | None
    limit: TerminationLimit
    detail: str
    program: Program | None
    unbound: int = 0


def solve_exactly(
    judge: Judge, parameters: PlanParameters, runner: Runner, cancellation: Cancellation | None
) -> Exact:
    """Solve the whole programme within what the budget leaves for it, and bind the solution."""
    if parameters.pipeline == "greedy":
        return Exact(None, TerminationLimit.NONE, "", None)
    budget = judge.budget
    with budget.phase("formulate"):
        layout = build_layout(judge.instance)
        program = formulate(layout)
        start = _start(judge, layout, program)
    solution, limit, detail = _solve(judge, program, parameters, runner, start, cancellation)
    if solution is None:
        return Exact(None, limit, detail, program)
    judge.bound = min(judge.bound, solution.bound)
    if solution.values is None:
        return Exact(solution, limit, detail, program)
    unbound = _bind(judge, "exact", layout, solution.values)
    if unbound:
        eased, _, _ = _solve(
            judge,
            ease(layout, program, program.evaluate(solution.values)),
            replace(parameters, relative_gap=_EASE_GAP),
            runner,
            solution.values,
            cancellation,
        )
        if eased is not None and eased.values is not None:
            unbound = min(unbound, _bind(judge, "eased", layout, eased.values))
    return Exact(solution, limit, detail, program, unbound)


def _bind(judge: Judge, name: str, layout: Layout, values: FloatArray) -> int:
    """Bind and judge a solution; returns how many chosen gangs no node could take."""
    with judge.budget.phase("bind"):
        assignment = bind(layout, values)
    judge.consider(name, assignment)
    return assignment.unbound


def _start(judge: Judge, layout: Layout, program: Program) -> FloatArray | None:
    """The best verified plan as a complete warm start; None where the programme has no column for it."""
    assert judge.best is not None
    values = encode(layout, judge.best.assignment)
    return values if program.worst_violation(values) <= _FEASIBLE else None


def _solve(
    judge: Judge,
    program: Program,
    parameters: PlanParameters,
    runner: Runner,
    start: FloatArray | None,
    cancellation: Cancellation | None,
) -> tuple[Solution | None, TerminationLimit, str]:
    """Ask the chosen backend; when it fails and the choice was ours, ask another one."""
    within = judge.budget.less(_RESERVE_SECONDS + _RESERVE_FACTOR * judge.slowest_seconds)
    failures: list[str] = []
    names = tuple(catalog.names())
    while within.remaining > 0.0 and names:
        how = SolveParameters(
            time_limit_seconds=within.remaining if within.limited else None,
            relative_gap=parameters.relative_gap,
            node_limit=parameters.node_limit,
            threads=parameters.threads,
            seed=parameters.seed,
        )
        try:
            name = choose(parameters.solver, program, how, names)
        except UnknownSolverError:
            if not failures:
                raise
            break  # the failures leave no backend that can be used here
        try:
            with judge.budget.phase("solve"):
                solution = runner.solve(name, program, how, start, within, cancellation)
            if solution.status is SolveStatus.INFEASIBLE:  # no row cuts off a plan, and there is one
                raise BackendError("it claims INFEASIBLE, but there is a verified plan")
        except (BackendError, WorkerError) as error:
            failures.append(f"{name}: {error}")
            if cancellation is not None and cancellation.cancelled:
                return None, TerminationLimit.CANCELLED, "cancelled by the caller"
            names = tuple(other for other in names if other != name) if parameters.solver == AUTO else ()
            continue
        limit = {
            SolveLimit.NONE: TerminationLimit.NONE,
            SolveLimit.TIME: TerminationLimit.TIME,
            SolveLimit.NODE: TerminationLimit.NODE,
        }[solution.limit]
        return solution, limit, "; ".join([*failures, *([solution.detail] if solution.detail else [])])
    if not failures:
        return None, TerminationLimit.TIME, "the budget left no time for a solver"
    timed_out = within.remaining <= 0.0
    return None, TerminationLimit.TIME if timed_out else TerminationLimit.FAILURE, "; ".join(failures)
