""":class:`~gangplan.domain.round.Round` -> a request, for files, tests and the client."""

from __future__ import annotations

from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.service.wire.fold import fold
from gangplan.service.wire.times import to_duration, to_timestamp
from gangplan.service.wire.write_cluster import write_accelerator, write_cluster
from gangplan.service.wire.write_job import write_job, write_profile
from gangplan.service.wire.write_parameters import write_parameters
from gangplan.service.wire.write_policy import write_policy
from gangplan.v1 import job_pb2, queue_pb2, round_pb2


def write_round(
    round_: Round, parameters: PlanParameters | None = None, *, compact: bool = False
) -> round_pb2.PlanRoundRequest:
    """A request that reads back as the same round, times rounded to the nanosecond.

    Args:
        round_: the round.
        parameters: how to solve it; None leaves that to the service.
        compact: fold alike nodes and alike waiting jobs to classes; they then read back in another order.
    """
    jobs = [write_job(job) for job in round_.jobs]
    classes: list[job_pb2.JobClass] = []
    if compact:
        jobs, classes = fold(jobs, job_pb2.JobClass, foldable=lambda job: not job.HasField("running"))
    request = round_pb2.PlanRoundRequest(
        request_id=parameters.request_id if parameters is not None else "",
        now=to_timestamp(round_.now),
        round_length=to_duration(round_.round_seconds),
        horizon=to_duration(round_.horizon_seconds),
        cluster=write_cluster(round_.cluster, compact=compact),
        accelerators=[write_accelerator(accelerator) for accelerator in round_.accelerators],
        queues=[_write_queue(queue) for queue in round_.queues],
        jobs=jobs,
        job_classes=classes,
        profiles=[write_profile(profile) for profile in round_.profiles],
        policy=write_policy(round_.policy),
    )
    if parameters is not None:
        request.parameters.CopyFrom(write_parameters(parameters))
    return request


def _write_queue(queue: Queue) -> queue_pb2.Queue:
    return queue_pb2.Queue(
        name=queue.name,
        parent=queue.parent or "",
        device_limit=queue.device_limit,
        device_limit_by_type=dict(sorted(queue.device_limit_by_type.items())),
    )
