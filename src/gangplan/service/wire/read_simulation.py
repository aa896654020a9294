"""A SimulateRequest -> what is played; every violation at its place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning import policies
from gangplan.planning.default_policy import DEFAULT_POLICY
from gangplan.planning.playing import Simulation
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import Settings
from gangplan.planning.rounds.told import Telling, Told
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.planned import refuse_planned
from gangplan.service.wire.read_round import read_round_request
from gangplan.v1 import planning_service_pb2

DEFAULT_NOISE = 0.3
MOST_ROUNDS = 100_000
MOST_VARIANTS = 1000
_LONGEST_SECONDS = 1e10
_TOLD: Mapping[int, Told] = MappingProxyType(
    {
        planning_service_pb2.TOLD_UNSPECIFIED: Told.EXACT,
        planning_service_pb2.TOLD_EXACT: Told.EXACT,
        planning_service_pb2.TOLD_NOISY: Told.NOISY,
        planning_service_pb2.TOLD_PREDICTED: Told.PREDICTED,
        planning_service_pb2.TOLD_UNKNOWN: Told.UNKNOWN,
    }
)


def read_simulation(request: planning_service_pb2.SimulateRequest) -> Simulation:
    """What is played, and how.

    Raises:
        InvalidInputError: the request breaks the contract; paths of the first round begin with ``start.``.
    """
    fields = Fields()
    refuse_planned(request, "", fields)
    if not request.HasField("start"):
        fields.refuse("start", "must be set")
    fields.raise_violations()
    try:
        round_, parameters = read_round_request(request.start)
    except InvalidInputError as error:
        raise error.placed(lambda field: f"start.{field}" if field else "start") from error
    policy = request.policy or DEFAULT_POLICY
    if policy not in policies.names():
        fields.refuse("policy", f"no policy {policy!r}; there are: {', '.join(policies.names())}")
    noise = fields.real(request.noise, "", "noise", 0.0, 0.99) if request.HasField("noise") else DEFAULT_NOISE
    rounds = MOST_ROUNDS
    if request.HasField("length"):
        seconds = fields.duration(request.length, "", "length", positive=True)
        rounds = math.ceil(seconds / round_.round_seconds - 1e-9)
        if rounds > MOST_ROUNDS:
            fields.refuse("length", f"is {rounds} rounds; {MOST_ROUNDS} are the most")
    every = None
    if request.HasField("checkpoint_interval"):
        every = fields.duration(request.checkpoint_interval, "", "checkpoint_interval")
    for index, job in enumerate(round_.jobs):
        if not job.work_left or job.work_left > _LONGEST_SECONDS * 1e6:
            place = f"start.jobs[{index}]" if index < len(request.start.jobs) else f"job {job.name!r}"
            fields.refuse(f"{place}.work.left_known", "must be above 0: only a job with work left ever ends")
    fields.raise_violations()
    arrivals = tuple(
        Arrival(
            replace(
                job, submit_time=round_.now if job.submit_time is None else job.submit_time, work_left=None
            ),
            work=job.work_done + (job.work_left or 0.0),
            checkpoint_seconds=every,
        )
        for job in round_.jobs
    )
    history = History(replace(round_, jobs=()), arrivals, seed=parameters.seed)
    given = request.start.parameters.HasField("time_budget")
    how = policies.How(
        pipeline=parameters.pipeline,
        time_budget_seconds=parameters.time_budget_seconds if given else None,
        seed=parameters.seed,
    )
    telling = Telling(_TOLD[request.told], noise=noise, seed=parameters.seed)
    return Simulation(history, policy, how, Settings(telling, rounds))


def read_sweep(request: planning_service_pb2.SweepRequest) -> tuple[Simulation, ...]:
    """All variants.

    Raises:
        InvalidInputError: one breaks the contract, or there are none or too many; paths begin with
            ``variants[k].``.
    """
    if not 1 <= len(request.variants) <= MOST_VARIANTS:
        description = f"must be from 1 to {MOST_VARIANTS}, not {len(request.variants)}"
        raise InvalidInputError([FieldViolation("variants", description)])
    fields = Fields()
    refuse_planned(request, "", fields)
    fields.raise_violations()
    found, violations = [], []
    for index, variant in enumerate(request.variants):
        try:
            found.append(read_simulation(variant))
        except InvalidInputError as error:
            violations += [
                FieldViolation(f"variants[{index}].{v.field}", v.description) for v in error.violations
            ]
    if violations:
        raise InvalidInputError(violations)
    return tuple(found)
