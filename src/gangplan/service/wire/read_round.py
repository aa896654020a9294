"""A request -> :class:`~gangplan.domain.round.Round` and parameters; every violation at once."""

from __future__ import annotations

from dataclasses import replace

from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.warm_start import read_warm_start
from gangplan.errors import InvalidInputError
from gangplan.garbage import collector_held_off
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.known import Known
from gangplan.service.wire.planned import refuse_planned
from gangplan.service.wire.read_answer import read_actions, read_claims
from gangplan.service.wire.read_cluster import read_accelerators, read_cluster
from gangplan.service.wire.read_job import read_jobs
from gangplan.service.wire.read_outlook import read_outlook, read_reservations
from gangplan.service.wire.read_parameters import read_parameters
from gangplan.service.wire.read_policy import read_policy
from gangplan.service.wire.read_queue import read_queues
from gangplan.service.wire.read_throughput import read_profiles
from gangplan.v1 import admission_pb2, placement_service_pb2, round_pb2

DEFAULT_HORIZON_SECONDS = 3600.0
"""Horizon of a request that gives none, unless the round is longer."""


def read_round_request(request: round_pb2.PlanRoundRequest) -> tuple[Round, PlanParameters]:
    """The round and how to solve it.

    Raises:
        InvalidInputError: the request breaks the contract; all violations at once, each with its path.
        UnsupportedFieldError: all that is wrong is that it sets fields whose behaviour is not built yet.
    """
    fields = Fields()
    with collector_held_off():
        refuse_planned(request, "", fields)
        answer = _read_round(request, "", fields)
    fields.raise_violations()
    return answer


def read_validate_plan_request(request: placement_service_pb2.ValidatePlanRequest) -> tuple[Round, Plan]:
    """The round and the plan to check against it; paths begin with ``round.`` and ``plan.``.

    Raises:
        InvalidInputError: as :func:`read_round_request`. A plan that breaks a rule is none: that is for the
            verifier to say.
    """
    fields = Fields()
    refuse_planned(request, "", fields)
    for name in ("round", "plan"):
        if not request.HasField(name):
            fields.refuse(name, "must be set")
    plan = read_actions(request.plan, "plan.", fields)
    if not request.HasField("round"):
        fields.raise_violations()
    with collector_held_off():
        round_, _ = _read_round(request.round, "round.", fields)
    fields.raise_violations()
    return round_, plan


def read_check_admission_request(
    request: admission_pb2.CheckAdmissionRequest,
) -> tuple[Round, PlanParameters, str]:
    """The round, how long the answer may take, and the name of the job; paths begin with ``round.``.

    Raises:
        InvalidInputError: as :func:`read_round_request`. Whether there is such a job the engine says.
    """
    fields = Fields()
    refuse_planned(request, "", fields)
    job = fields.name(request.job, "", "job")
    if not request.HasField("round"):
        fields.refuse("round", "must be set")
        fields.raise_violations()
    with collector_held_off():
        round_, parameters = _read_round(request.round, "round.", fields)
    fields.raise_violations()
    return round_, parameters, job


def _with_state(
    parameters: PlanParameters, request: round_pb2.PlanRoundRequest, path: str, fields: Fields
) -> PlanParameters:
    """With what the request carries from the answer before."""
    if not request.warm_start and not request.HasField("previous_plan"):
        return parameters
    try:
        read_warm_start(request.warm_start)
    except InvalidInputError as error:
        for violation in error.violations:
            fields.refuse(f"{path}{violation.field}", violation.description)
    plan = None
    if request.HasField("previous_plan"):
        plan = read_actions(request.previous_plan, f"{path}previous_plan.", fields)
    return replace(parameters, warm_start=request.warm_start, previous_plan=plan)


def _read_round(
    request: round_pb2.PlanRoundRequest, path: str, fields: Fields
) -> tuple[Round, PlanParameters]:
    now, length, horizon = 0.0, 1.0, DEFAULT_HORIZON_SECONDS
    if request.HasField("now"):
        now = fields.instant(request.now, path, "now")
    else:
        fields.refuse(f"{path}now", "must be set")
    if request.HasField("round_length"):
        length = fields.duration(request.round_length, path, "round_length", positive=True)
    else:
        fields.refuse(f"{path}round_length", "must be set")
    if request.HasField("horizon"):
        horizon = fields.duration(request.horizon, path, "horizon", positive=True)
        if request.HasField("round_length") and horizon < length:
            fields.refuse(f"{path}horizon", f"{horizon:g} s is shorter than the round, {length:g} s")
    else:
        horizon = max(horizon, length)

    accelerators = read_accelerators(request.accelerators, path, fields)
    types = frozenset(type_.name for type_ in accelerators)
    cluster = read_cluster(request.cluster, f"{path}cluster.", types, fields)
    scopes = frozenset((CLUSTER, NODE, *(level.name for level in request.cluster.topology.levels)))
    queues = read_queues(request.queues, path, types, fields)
    profiles = read_profiles(request.profiles, path, types, scopes, fields)
    known = Known(
        types,
        scopes,
        frozenset(queue.name for queue in queues),
        frozenset(profile.name for profile in profiles),
        {node.name: node for node in cluster.nodes},
    )
    jobs = read_jobs(request.jobs, request.job_classes, path, known, fields)
    policy = read_policy(request.policy, f"{path}policy.", types, fields)
    request_id = fields.text(request.request_id, path, "request_id")
    parameters = read_parameters(request.parameters, request_id, f"{path}parameters.", fields)
    parameters = _with_state(parameters, request, path, fields)
    outlook = None
    if request.HasField("outlook"):
        outlook = read_outlook(request.outlook, f"{path}outlook.", fields)
    if request.HasField("session"):
        fields.refuse(f"{path}session", "only PlanRound and StreamRound of a service know sessions")
    if request.validate_only:
        fields.refuse(f"{path}validate_only", "only PlanRound of a service checks without planning")
    round_ = Round(
        now=now,
        round_seconds=length,
        horizon_seconds=horizon,
        cluster=cluster,
        accelerators=accelerators,
        queues=queues,
        jobs=jobs,
        profiles=profiles,
        policy=policy,
        claims=read_claims(request.claims, path, fields),
        outlook=outlook,
        reservations=read_reservations(request.reservations, f"{path}reservations", fields),
    )
    return round_, parameters
