""":class:`~gangplan.domain.round.Round` -> a request, for files, tests and the client."""

from __future__ import annotations

from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.service.wire.times import write_seconds
from gangplan.service.wire.write_answer import write_claims, write_plan
from gangplan.service.wire.write_cluster import write_accelerator, write_cluster
from gangplan.service.wire.write_job import write_jobs, write_profiles
from gangplan.service.wire.write_outlook import write_outlook, write_reservation
from gangplan.service.wire.write_parameters import write_parameters
from gangplan.service.wire.write_policy import write_policy
from gangplan.v1 import queue_pb2, round_pb2


def write_round(
    round_: Round, parameters: PlanParameters | None = None, *, compact: bool = False
) -> round_pb2.PlanRoundRequest:
    """A request that reads back as the same round, times rounded to the nanosecond.

    Args:
        round_: the round.
        parameters: how to solve it; None leaves that to the service.
        compact: fold alike nodes and alike waiting jobs to classes; they then read back in another order.
    """
    request = round_pb2.PlanRoundRequest(
        request_id=parameters.request_id if parameters is not None else "",
        accelerators=[write_accelerator(accelerator) for accelerator in round_.accelerators],
        queues=[_write_queue(queue) for queue in round_.queues],
        policy=write_policy(round_.policy),
    )
    write_seconds(round_.now, request.now)
    write_seconds(round_.round_seconds, request.round_length)
    write_seconds(round_.horizon_seconds, request.horizon)
    write_cluster(round_.cluster, request.cluster, compact=compact)
    write_jobs(round_.jobs, request, compact=compact)
    write_profiles(round_.profiles, request)
    if round_.outlook is not None:
        request.outlook.CopyFrom(write_outlook(round_.outlook))
    write_claims(round_.claims, request.claims)
    for promise in round_.reservations:
        write_reservation(promise, request.reservations.add())
    if parameters is not None:
        request.parameters.CopyFrom(write_parameters(parameters))
        request.warm_start = parameters.warm_start
        if parameters.previous_plan is not None:
            request.previous_plan.CopyFrom(write_plan(parameters.previous_plan))
    return request


def _write_queue(queue: Queue) -> queue_pb2.Queue:
    return queue_pb2.Queue(
        name=queue.name,
        parent=queue.parent or "",
        device_limit=queue.device_limit,
        device_limit_by_type=dict(sorted(queue.device_limit_by_type.items())),
        weight=None if queue.weight == 1.0 else queue.weight,
        service_received=queue.service_received,
        device_guarantee=queue.device_guarantee,
    )
