"""Plans and whole answers on the wire -> :mod:`gangplan.domain.plan`."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from gangplan.domain.outlook import Outlook
from gangplan.domain.plan import (
    Action,
    ActionKind,
    Claim,
    Counterfactual,
    ForcedReason,
    Notice,
    Plan,
    Precondition,
    Quality,
    RoundResult,
    Stage,
    TerminationLimit,
    TerminationReason,
    TierQuality,
    Verdict,
    VerdictKind,
)
from gangplan.garbage import collector_held_off
from gangplan.service.wire import limits
from gangplan.service.wire.enums import read_enum
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.planned import refuse_planned
from gangplan.service.wire.read_outlook import read_outlook, read_reservation
from gangplan.service.wire.read_parameters import PIPELINES
from gangplan.service.wire.read_running import read_placements
from gangplan.twins import twin_maker
from gangplan.v1 import plan_pb2, quality_pb2, round_pb2, verdict_pb2

_action, _verdict = twin_maker(Action), twin_maker(Verdict)


def read_plan(message: round_pb2.PlanRoundResponse | plan_pb2.Plan) -> Plan:
    """The plan of an answer (decision 35), whoever made it.

    Raises:
        InvalidInputError: it is no plan: an action without kind or job, a number out of range, a
            planned field. Whether the plan breaks a rule of the round is for the verifier to say.
    """
    fields = Fields()
    if isinstance(message, round_pb2.PlanRoundResponse):
        if not message.HasField("plan"):
            fields.refuse("plan", "must be set")
        message, path = message.plan, "plan."
    else:
        path = ""
    refuse_planned(message, path, fields)
    plan = read_actions(message, path, fields)
    fields.raise_violations()
    return plan


def read_followed_outlook(message: round_pb2.PlanRoundResponse) -> Outlook | None:
    """The outlook under which the plan of an answer is worth what it says; None: none.

    Raises:
        InvalidInputError: it is no outlook.
    """
    if not message.HasField("outlook"):
        return None
    fields = Fields()
    outlook = read_outlook(message.outlook, "outlook.", fields)
    fields.raise_violations()
    return outlook


def read_result(message: round_pb2.PlanRoundResponse) -> RoundResult:
    """A whole answer.

    Raises:
        InvalidInputError: it is no answer of this version: an enum value that is not known, no quality, ...
    """
    with collector_held_off():
        return _read_result(message)


def _read_result(message: round_pb2.PlanRoundResponse) -> RoundResult:
    fields = Fields()
    for name in ("plan", "quality", "termination"):
        if not message.HasField(name):
            fields.refuse(name, "must be set")
    plan = read_actions(message.plan, "plan.", fields)
    verdicts = tuple(
        _read_verdict(verdict, f"verdicts[{index}].", fields)
        for index, verdict in enumerate(message.verdicts)
    )
    termination = message.termination
    reason = read_enum(
        TerminationReason,
        quality_pb2.TerminationReason.DESCRIPTOR,
        termination.reason,
        "termination.reason",
        fields,
    )
    limit = read_enum(
        TerminationLimit,
        quality_pb2.TerminationLimit.DESCRIPTOR,
        termination.limit,
        "termination.limit",
        fields,
    )
    stages = tuple(
        Stage(
            stage.name,
            fields.duration(stage.elapsed, f"stages[{index}].", "elapsed"),
            stage.objective if stage.HasField("objective") else None,
            stage.bound if stage.HasField("bound") else None,
        )
        for index, stage in enumerate(message.stages)
    )
    seconds = {
        phase: fields.duration(message.time_by_phase[phase], "", f'time_by_phase["{phase}"]')
        for phase in sorted(message.time_by_phase)
    }
    if message.pipeline not in PIPELINES:
        fields.refuse("pipeline", "must be set")
    outlook = None
    if message.HasField("outlook"):
        outlook = read_outlook(message.outlook, "outlook.", fields)
    fields.raise_violations()
    return RoundResult(
        plan=plan,
        verdicts=verdicts,
        notices=tuple(Notice(notice.code, notice.field, notice.message) for notice in message.notices),
        quality=_read_quality(message.quality),
        reason=reason,
        limit=limit,
        detail=termination.detail,
        stages=stages,
        seconds_by_phase=MappingProxyType(seconds),
        pipeline=PIPELINES[message.pipeline],
        solver=message.solver,
        statistics=MappingProxyType(dict(sorted(message.statistics.items()))),
        seed=message.seed,
        verified=message.verified,
        warm_start=message.warm_start,
        outlook=outlook,
    )


def read_actions(message: plan_pb2.Plan, path: str, fields: Fields) -> Plan:
    """The actions of a plan, in its order, and its claims."""
    return Plan(
        tuple(
            _read_action(action, f"{path}actions[{index}].", fields)
            for index, action in enumerate(message.actions)
        ),
        read_claims(message.claims, path, fields),
        tuple(
            fields.real(floor, path, f"tier_floors[{index}]", 0.0, limits.WORK)
            for index, floor in enumerate(message.tier_floors)
        ),
        MappingProxyType(
            {
                queue: fields.real(floor, path, f'guarantee_floors["{queue}"]', 0.0, limits.WORK)
                for queue, floor in sorted(message.guarantee_floors.items())
            }
        ),
    )


def read_claims(messages: Iterable[plan_pb2.Claim], path: str, fields: Fields) -> tuple[Claim, ...]:
    """Claims on places that stops are freeing."""
    found = []
    for index, message in enumerate(messages):
        here = f"{path}claims[{index}]."
        if not message.HasField("expires_at"):
            fields.refuse(f"{here}expires_at", "must be set in a claim")
        found.append(
            Claim(
                fields.name(message.job, here, "job"),
                read_placements(message.placements, here, None, fields),
                fields.instant(message.expires_at, here, "expires_at"),
                tuple(
                    fields.name(each, here, f"freed_by[{number}]")
                    for number, each in enumerate(message.freed_by)
                ),
            )
        )
    return tuple(found)


def _read_action(message: plan_pb2.Action, path: str, fields: Fields) -> Action:
    forced = None
    if message.forced_reason:
        forced = read_enum(
            ForcedReason,
            plan_pb2.ForcedReason.DESCRIPTOR,
            message.forced_reason,
            f"{path}forced_reason",
            fields,
        )
    by_term = message.cost_by_term
    costs = {term: by_term[term] for term in sorted(by_term)}
    for term, value in costs.items():
        if not -limits.WORK <= value <= limits.WORK:  # paths are put together for those alone
            fields.real(value, path, f'cost_by_term["{term}"]', -limits.WORK, limits.WORK)
    return _action(
        fields.name(message.action_id, path, "action_id"),
        read_enum(ActionKind, plan_pb2.ActionKind.DESCRIPTOR, message.kind, f"{path}kind", fields),
        fields.name(message.job, path, "job"),
        read_placements(message.placements, path, None, fields),
        fields.text(message.scope, path, "scope"),
        fields.real(message.throughput, path, "throughput", 0.0, limits.WORK),
        tuple(
            fields.name(other, path, f"depends_on[{index}]") for index, other in enumerate(message.depends_on)
        ),
        tuple(
            fields.name(job, path, f"beneficiaries[{index}]")
            for index, job in enumerate(message.beneficiaries)
        ),
        forced,
        MappingProxyType(costs),
        tuple(
            Precondition(condition.kind, condition.name, condition.revision)
            for condition in message.preconditions
        ),
        fields.instant(message.not_before, path, "not_before") if message.HasField("not_before") else None,
        read_reservation(message.reservation, f"{path}reservation.", fields)
        if message.HasField("reservation")
        else None,
    )


def _read_verdict(message: verdict_pb2.Verdict, path: str, fields: Fields) -> Verdict:
    return _verdict(
        message.job,
        read_enum(VerdictKind, verdict_pb2.VerdictKind.DESCRIPTOR, message.kind, f"{path}kind", fields),
        message.code,
        message.message,
        message.resource,
        message.level,
        message.shortfall if message.HasField("shortfall") else None,
        message.regret if message.HasField("regret") else None,
        fields.instant(message.earliest_start, path, "earliest_start")
        if message.HasField("earliest_start")
        else None,
        fields.instant(message.latest_start, path, "latest_start")
        if message.HasField("latest_start")
        else None,
        tuple(message.conflict_set),
        tuple(_read_counterfactual(each) for each in message.counterfactuals),
    )


def _read_counterfactual(message: verdict_pb2.Counterfactual) -> Counterfactual:
    return Counterfactual(
        message=message.message,
        jobs=tuple(message.jobs),
        queue=message.queue,
        nodes=tuple(message.nodes),
        node_like=message.node_like,
        copies=message.copies,
        gate=message.gate,
        resource=message.resource,
        amount=message.amount,
        level=message.level,
    )


def _read_quality(message: quality_pb2.Quality) -> Quality:
    return Quality(
        objective=message.objective,
        bound=message.bound,
        absolute_gap=message.absolute_gap,
        relative_gap=message.relative_gap,
        gap_of_gain=message.gap_of_gain,
        keep_and_fill=message.keep_and_fill,
        objective_by_term=MappingProxyType({term.term: term.contribution for term in message.terms}),
        tiers=tuple(_read_tier(tier) for tier in message.tiers),
        guarantees=_read_tier(message.guarantees) if message.HasField("guarantees") else None,
    )


def _read_tier(message: quality_pb2.TierQuality) -> TierQuality:
    return TierQuality(message.value, message.best, message.bound, message.floor)
