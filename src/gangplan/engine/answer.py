"""The answer: plan, quality, verdicts, and how they came about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gangplan.domain.plan import (
    GAP_TOLERANCE,
    Action,
    Plan,
    Quality,
    RoundResult,
    TerminationLimit,
    TerminationReason,
    Verdict,
    gaps,
)
from gangplan.domain.round import Round
from gangplan.engine.exact import Exact
from gangplan.engine.guarantees import guarantees_of, unmet
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.make_promises import with_promises
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.stages import Staged, tiers_of
from gangplan.engine.take_back import TakenBack
from gangplan.engine.wait_bound import latest_starts
from gangplan.model.words.explain import explain, not_attempted
from gangplan.model.words.notices import notices
from gangplan.twins import twin_maker

OPTIMAL_GAP = 1e-6
"""Relative gap up to which a plan counts as OPTIMAL (decision 23)."""
_action = twin_maker(Action)


def answer(
    judge: Judge,
    parameters: PlanParameters,
    staged: Staged,
    exact: Exact,
    taken_back: TakenBack,
    warm_start: bytes = b"",
) -> RoundResult:
    """Put the answer together; nothing is decided here any more."""
    floor = staged.floor
    best = taken_back.candidate if taken_back.candidate.value >= floor.value - GAP_TOLERANCE else floor
    quality = measure(best, judge.bound, floor.value)
    quality = replace(
        quality,
        tiers=tiers_of(judge, best, staged.tiers),
        guarantees=guarantees_of(judge, best, staged.guarantees),
    )
    optimal = quality.relative_gap <= OPTIMAL_GAP
    with judge.budget.phase("explain"):
        finished = optimal or (exact.solution is not None and exact.limit is TerminationLimit.NONE)
        if judge.budget.remaining < judge.answering_seconds or judge.budget.exhausted:
            verdicts = not_attempted(judge.instance, best.assignment)
        else:
            verdicts = explain(judge.instance, best.assignment, finished=finished)
        priced = _priced(best)
    with judge.budget.phase("promises"):
        plan = with_promises(judge, best, priced)
        latest = latest_starts(judge.instance, plan, best.verification.outcomes)
    details = [
        exact.detail,
        *judge.remarks,
        *(f"rejected {rejected}" for rejected in judge.rejected if not rejected.below_floor),
    ]
    if taken_back.bundles:
        details.append(
            f"took back {taken_back.actions} disruptions in {taken_back.bundles} bundles without proved gain"
        )
    model = None if parameters.kept is None else parameters.kept.model
    return RoundResult(
        plan=plan,
        verdicts=_dated(verdicts, judge.instance.round, latest),
        notices=(*notices(judge.instance, model), *unmet(judge, best, quality.guarantees)),
        quality=quality,
        reason=TerminationReason.OPTIMAL if optimal else TerminationReason.FEASIBLE,
        limit=exact.limit,
        detail="; ".join(detail for detail in details if detail),
        stages=tuple(judge.stages),
        seconds_by_phase={**judge.budget.seconds_by_phase, "total": judge.budget.elapsed},
        pipeline="full" if exact.program is not None else "greedy",
        solver=exact.solution.solver if exact.solution is not None else "",
        statistics=_statistics(judge, exact, taken_back),
        seed=parameters.seed,
        verified=True,
        warm_start=warm_start,
        outlook=judge.instance.round.outlook,
    )


def tell_better(
    judge: Judge, parameters: PlanParameters, floor: Candidate, on_better: Callable[[RoundResult], None]
) -> None:
    """Tell of ``floor``, of the best plan so far where it is better, and from then on of every better one."""

    def tell(judge: Judge, candidate: Candidate) -> None:
        on_better(interim(judge, parameters, candidate, floor.value))

    tell(judge, floor)
    if judge.best is not None and judge.best.value > floor.value:
        tell(judge, judge.best)
    judge.on_better = tell


def interim(
    judge: Judge, parameters: PlanParameters, candidate: Candidate, keep_and_fill: float
) -> RoundResult:
    """A plan on the way, complete but for why others wait, which is looked for once, at the end.

    Args:
        judge: of the plan.
        parameters: of the round.
        candidate: the plan, verified.
        keep_and_fill: value of the plan that keeps everything and fills what is free.
    """
    quality = measure(candidate, judge.bound, keep_and_fill)
    verdicts = not_attempted(judge.instance, candidate.assignment)
    return RoundResult(
        plan=_priced(candidate),
        verdicts=_dated(verdicts, judge.instance.round, {}),
        notices=(),
        quality=quality,
        reason=TerminationReason.OPTIMAL
        if quality.relative_gap <= OPTIMAL_GAP
        else TerminationReason.FEASIBLE,
        limit=TerminationLimit.NONE,
        detail=f"on the way: {candidate.name}",
        stages=tuple(judge.stages),
        seconds_by_phase={**judge.budget.seconds_by_phase, "total": judge.budget.elapsed},
        pipeline="greedy" if parameters.pipeline == "greedy" else "full",
        seed=parameters.seed,
        verified=True,
        outlook=judge.instance.round.outlook,
    )


def _dated(verdicts: Iterable[Verdict], round_: Round, latest: Mapping[str, float]) -> tuple[Verdict, ...]:
    """With the outlook's estimate of each start, not before the next round, and the latest start."""
    if latest:
        verdicts = [replace(verdict, latest_start=latest.get(verdict.job)) for verdict in verdicts]
    if round_.outlook is None:
        return tuple(verdicts)
    starts = {entry.job: entry.estimated_start for entry in round_.outlook.jobs}
    soonest = round_.now + round_.round_seconds
    return tuple(
        replace(verdict, earliest_start=max(soonest, start))
        if (start := starts.get(verdict.job)) is not None
        else verdict
        for verdict in verdicts
    )


def measure(best: Candidate, bound: float, keep_and_fill: float) -> Quality:
    """Value, bound and gaps (decision 22); the bound is never below the plan's own value."""
    bound = max(bound, best.value)
    absolute, relative, of_gain = gaps(best.value, bound, keep_and_fill)
    return Quality(
        objective=best.value,
        bound=bound,
        absolute_gap=absolute,
        relative_gap=relative,
        gap_of_gain=of_gain,
        keep_and_fill=keep_and_fill,
        objective_by_term=dict(best.verification.objective_by_term),
    )


def _priced(best: Candidate) -> Plan:
    """The plan with what each action is worth by term, as the verifier found."""
    worth = best.verification.worth
    priced = [
        _action(
            action.id,
            action.kind,
            action.job,
            action.placements,
            action.scope,
            action.throughput,
            action.depends_on,
            action.beneficiaries,
            action.forced,
            worth[action.job],
            action.preconditions,
            action.not_before,
            action.reservation,
        )
        for action in best.plan.actions
    ]
    return replace(best.plan, actions=tuple(priced))


def _statistics(judge: Judge, exact: Exact, taken_back: TakenBack) -> dict[str, float]:
    instance = judge.instance
    found: dict[str, float] = {
        "jobs": min(len(instance.jobs), instance.free_from),
        "nodes": len(instance.nodes.nodes),
        "classes": len(instance.classes),
        "pools": instance.pools.count,
        "options": len(instance.option),
        **judge.work,
        "taken_back_bundles": taken_back.bundles,
        "taken_back_actions": taken_back.actions,
    }
    if exact.program is not None:
        found |= {
            "columns": exact.program.columns,
            "rows": exact.program.rows,
            "nonzeros": exact.program.nonzeros,
            "unbound_gangs": exact.unbound,
            "exact_steps": exact.steps,
            "loose_resizes": exact.loose,
        }
    if exact.solution is not None:
        found |= {
            "solver_nodes": exact.solution.nodes,
            "solver_iterations": exact.solution.iterations,
            "solver_seconds": exact.solution.seconds,
        }
    return found
