""":class:`~gangplan.domain.plan.RoundResult` -> an answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from gangplan.domain.plan import (
    ActionKind,
    Claim,
    Counterfactual,
    Notice,
    Plan,
    Quality,
    RoundResult,
    Stage,
    TierQuality,
    Verdict,
    VerdictKind,
    gaps,
)
from gangplan.service.wire.enums import numbers
from gangplan.service.wire.times import to_duration, write_seconds
from gangplan.service.wire.write_job import write_placements
from gangplan.service.wire.write_outlook import write_outlook, write_reservation
from gangplan.service.wire.write_parameters import PIPELINE_NUMBERS
from gangplan.v1 import plan_pb2, quality_pb2, round_pb2, verdict_pb2

_ACTION_KINDS: Mapping[ActionKind, Any] = MappingProxyType(
    {kind: numbers(plan_pb2.ActionKind.DESCRIPTOR)[kind.name] for kind in ActionKind}
)
_VERDICT_KINDS: Mapping[VerdictKind, Any] = MappingProxyType(
    {kind: numbers(verdict_pb2.VerdictKind.DESCRIPTOR)[kind.name] for kind in VerdictKind}
)


def write_result(result: RoundResult, request_id: str = "", version: str = "") -> round_pb2.PlanRoundResponse:
    """A whole answer.

    Args:
        result: what the engine found.
        request_id: the request's id, repeated.
        version: name and version of the service.
    """
    message = round_pb2.PlanRoundResponse(
        request_id=request_id,
        notices=[_write_notice(notice) for notice in result.notices],
        quality=_write_quality(result.quality),
        termination=quality_pb2.Termination(detail=result.detail),
        stages=[_write_stage(stage, result.quality.keep_and_fill) for stage in result.stages],
        time_by_phase={
            phase: to_duration(seconds) for phase, seconds in sorted(result.seconds_by_phase.items())
        },
        solver=result.solver,
        statistics=dict(sorted(result.statistics.items())),
        seed=result.seed,
        verified=result.verified,
        version=version,
        warm_start=result.warm_start,
    )
    if result.outlook is not None:
        message.outlook.CopyFrom(write_outlook(result.outlook))
    message.plan.SetInParent()
    _add_actions(result.plan, message.plan)
    _add_verdicts(result.verdicts, message)
    message.termination.reason = numbers(quality_pb2.TerminationReason.DESCRIPTOR)[result.reason.name]  # type: ignore[assignment]
    message.termination.limit = numbers(quality_pb2.TerminationLimit.DESCRIPTOR)[result.limit.name]  # type: ignore[assignment]
    message.pipeline = PIPELINE_NUMBERS[result.pipeline]  # type: ignore[index,assignment]
    return message


def write_notices(
    notices: Iterable[Notice], request_id: str = "", version: str = ""
) -> round_pb2.PlanRoundResponse:
    """The answer to a request that was only checked: what was tolerated, and no plan."""
    return round_pb2.PlanRoundResponse(
        request_id=request_id,
        version=version,
        notices=[_write_notice(notice) for notice in notices],
    )


def _write_notice(notice: Notice) -> verdict_pb2.Notice:
    return verdict_pb2.Notice(code=notice.code, field=notice.field, message=notice.message)


def write_plan(plan: Plan) -> plan_pb2.Plan:
    """A plan, in its order."""
    message = plan_pb2.Plan()
    _add_actions(plan, message)
    return message


def _add_actions(plan: Plan, message: plan_pb2.Plan) -> None:
    """Make the actions where they belong: a message that is put into another is copied."""
    reasons = numbers(plan_pb2.ForcedReason.DESCRIPTOR)
    for action in plan.actions:
        written = message.actions.add(
            action_id=action.id,
            job=action.job,
            scope=action.scope,
            throughput=action.throughput,
            kind=_ACTION_KINDS[action.kind],
        )
        write_placements(action.placements, written.placements)
        if action.depends_on:
            written.depends_on.extend(action.depends_on)
        if action.beneficiaries:
            written.beneficiaries.extend(action.beneficiaries)
        costs = written.cost_by_term
        for term, value in action.cost_by_term.items():
            costs[term] = value
        for condition in action.preconditions:
            written.preconditions.add(kind=condition.kind, name=condition.name, revision=condition.revision)
        if action.forced is not None:
            written.forced_reason = reasons[action.forced.name]  # type: ignore[assignment]
        if action.not_before is not None:
            write_seconds(action.not_before, written.not_before)
        if action.reservation is not None:
            write_reservation(action.reservation, written.reservation)
    write_claims(plan.claims, message.claims)
    message.tier_floors.extend(plan.tier_floors)
    for queue, floor in sorted(plan.guarantee_floors.items()):
        message.guarantee_floors[queue] = floor


def write_claims(claims: Iterable[Claim], messages: Any) -> None:
    """Add claims on places that stops are freeing."""
    for claim in claims:
        written = messages.add(job=claim.job, freed_by=claim.freed_by)
        write_placements(claim.placements, written.placements)
        write_seconds(claim.expires_at, written.expires_at)


def write_verdict(verdict: Verdict) -> verdict_pb2.Verdict:
    """Why one job waits."""
    message = round_pb2.PlanRoundResponse()
    _add_verdicts((verdict,), message)
    return message.verdicts[0]


def _add_verdicts(verdicts: Iterable[Verdict], message: round_pb2.PlanRoundResponse) -> None:
    for verdict in verdicts:
        written = message.verdicts.add(
            job=verdict.job,
            kind=_VERDICT_KINDS[verdict.kind],
            code=verdict.code,
            message=verdict.message,
            resource=verdict.resource,
            level=verdict.level,
            shortfall=verdict.shortfall,
            regret=verdict.regret,
        )
        if verdict.earliest_start is not None:
            write_seconds(verdict.earliest_start, written.earliest_start)
        if verdict.latest_start is not None:
            write_seconds(verdict.latest_start, written.latest_start)
        if verdict.conflict_set:
            written.conflict_set.extend(verdict.conflict_set)
        for change in verdict.counterfactuals:
            written.counterfactuals.add(**{name: getattr(change, name) for name in Counterfactual.__slots__})


def _write_quality(quality: Quality) -> quality_pb2.Quality:
    return quality_pb2.Quality(
        objective=quality.objective,
        bound=quality.bound,
        absolute_gap=quality.absolute_gap,
        relative_gap=quality.relative_gap,
        gap_of_gain=quality.gap_of_gain,
        keep_and_fill=quality.keep_and_fill,
        terms=[
            quality_pb2.TermValue(term=term, contribution=value)
            for term, value in sorted(quality.objective_by_term.items())
        ],
        tiers=[_write_tier(tier) for tier in quality.tiers],
        guarantees=None if quality.guarantees is None else _write_tier(quality.guarantees),
    )


def _write_tier(tier: TierQuality) -> quality_pb2.TierQuality:
    gap = max(0.0, tier.bound - tier.best)
    return quality_pb2.TierQuality(
        value=tier.value,
        best=tier.best,
        bound=tier.bound,
        floor=tier.floor,
        absolute_gap=gap,
        relative_gap=gap / tier.bound if tier.bound > 0.0 else 0.0,
    )


def _write_stage(stage: Stage, keep_and_fill: float) -> quality_pb2.Stage:
    """A stage with its gaps (decision 22)."""
    message = quality_pb2.Stage(
        name=stage.name,
        elapsed=to_duration(stage.seconds),
        objective=stage.objective,
        bound=stage.bound,
        verified=stage.objective is not None,
    )
    if stage.objective is not None and stage.bound is not None:
        absolute, relative, of_gain = gaps(stage.objective, stage.bound, keep_and_fill)
        message.absolute_gap, message.relative_gap, message.gap_of_gain = absolute, relative, of_gain
    return message
