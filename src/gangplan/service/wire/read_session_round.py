"""A request for a round on a session: what it says itself, and what is the session's."""

from __future__ import annotations

from dataclasses import replace

from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.warm_start import read_warm_start
from gangplan.errors import InvalidInputError
from gangplan.service.sessions.record import Carried
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.planned import refuse_planned
from gangplan.service.wire.read_answer import read_actions, read_claims
from gangplan.service.wire.read_outlook import read_outlook, read_reservations
from gangplan.service.wire.read_parameters import read_parameters
from gangplan.service.wire.read_policy import read_policy
from gangplan.v1 import outlook_pb2, plan_pb2, round_pb2

THE_SESSIONS = ("cluster", "accelerators", "queues", "jobs", "job_classes", "profiles")
"""Fields that are the session's, and empty in a round on it."""


def read_session_round(
    request: round_pb2.PlanRoundRequest, round_: Round, parameters: PlanParameters, carried: Carried
) -> tuple[Round, PlanParameters]:
    """The round, and how to plan it.

    Args:
        request: with ``session`` set.
        round_: what the session's content stands for.
        parameters: the session's.
        carried: what the session has of the last answer.

    Raises:
        InvalidInputError: the request breaks the contract; every violation at once.
    """
    fields = Fields()
    refuse_planned(request, "", fields)
    set_fields = {field.name for field, _ in request.ListFields()}
    for name in THE_SESSIONS:
        if name in set_fields:
            fields.refuse(name, "is the session's; change it with ApplyDelta")
    if "now" in set_fields:
        round_ = replace(round_, now=fields.instant(request.now, "", "now"))
    else:
        fields.refuse("now", "must be set")
    length, horizon = round_.round_seconds, round_.horizon_seconds
    if "round_length" in set_fields:
        length = fields.duration(request.round_length, "", "round_length", positive=True)
        horizon = max(length, horizon)
    if "horizon" in set_fields:
        horizon = fields.duration(request.horizon, "", "horizon", positive=True)
        if horizon < length:
            fields.refuse("horizon", f"{horizon:g} s is shorter than the round, {length:g} s")
    policy = round_.policy
    if "policy" in set_fields:
        types = frozenset(entry.name for entry in round_.accelerators)
        policy = read_policy(request.policy, "policy.", types, fields)
    request_id = fields.text(request.request_id, "", "request_id")
    if "parameters" in set_fields:
        parameters = read_parameters(request.parameters, request_id, "parameters.", fields)
    warm_start = request.warm_start or carried.warm_start
    try:
        read_warm_start(warm_start)
    except InvalidInputError as error:
        for violation in error.violations:
            fields.refuse(violation.field, violation.description)
    previous = None
    if "previous_plan" in set_fields:
        previous = read_actions(request.previous_plan, "previous_plan.", fields)
    outlook = request.outlook if "outlook" in set_fields else None
    if outlook is None and carried.outlook:
        outlook = outlook_pb2.Outlook.FromString(carried.outlook)
    claims = request.claims or [plan_pb2.Claim.FromString(claim) for claim in carried.claims]
    round_ = replace(
        round_,
        round_seconds=length,
        horizon_seconds=horizon,
        policy=policy,
        outlook=None if outlook is None else read_outlook(outlook, "outlook.", fields),
        claims=read_claims(claims, "", fields),
        reservations=read_reservations(_promises(request, carried), "reservations", fields),
    )
    fields.raise_violations()
    return round_, replace(parameters, request_id=request_id, warm_start=warm_start, previous_plan=previous)


def _promises(request: round_pb2.PlanRoundRequest, carried: Carried) -> list[plan_pb2.Reservation]:
    """The caller's promises and wishes, and the session's promises to jobs to whom the caller makes none."""
    said = {promise.job for promise in request.reservations if promise.placements}
    kept = [plan_pb2.Reservation.FromString(promise) for promise in carried.promises]
    return [*request.reservations, *(promise for promise in kept if promise.job not in said)]
