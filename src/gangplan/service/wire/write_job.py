""":class:`~gangplan.domain.job.Job` and throughput profiles -> the wire."""

from __future__ import annotations

from collections.abc import Iterable

from gangplan.domain.cluster import Resources, Toleration
from gangplan.domain.job import (
    Capabilities,
    Component,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
    TaskSplit,
    ThroughputProfile,
)
from gangplan.service.wire.times import to_duration, to_timestamp
from gangplan.service.wire.write_cluster import TAINT_EFFECTS, write_resources
from gangplan.v1 import job_pb2, throughput_pb2

_SPLITS = {
    TaskSplit.FREE: job_pb2.TASK_SPLIT_FREE,
    TaskSplit.WHOLE_NODES: job_pb2.TASK_SPLIT_WHOLE_NODES,
}
_NOTHING = Resources()
_ANYTHING = Capabilities()


def write_job(job: Job) -> job_pb2.Job:
    """A job."""
    message = job_pb2.Job(
        name=job.name,
        queue=job.queue or "",
        components=[_write_component(job.component)],
        weight=job.weight,
        priority=job.priority,
        revision=job.revision,
    )
    if job.submit_time is not None:
        message.submit_time.CopyFrom(to_timestamp(job.submit_time))
    if job.work_done or job.work_left is not None:
        message.work.done = job.work_done
    if job.work_left is not None:
        message.work.left_known = job.work_left
    if job.fair_progress:
        message.fair_share.progress = job.fair_progress
    if job.fair_finish_age is not None:
        message.fair_share.finish_age.CopyFrom(to_duration(job.fair_finish_age))
    if job.deadline is not None:
        message.deadline.time.CopyFrom(to_timestamp(job.deadline))
        message.deadline.kind = job_pb2.DEADLINE_KIND_TARGET
    if job.restart_seconds:
        message.interruption_cost.restart_time.CopyFrom(to_duration(job.restart_seconds))
    if job.capabilities != _ANYTHING:
        message.capabilities.pausable = job.capabilities.pausable
        message.capabilities.movable = job.capabilities.movable
        message.capabilities.resizable = job.capabilities.resizable
    if job.running is not None:
        message.running.CopyFrom(_write_running(job.running))
    return message


def write_placements(placements: Iterable[TaskPlacement]) -> list[job_pb2.TaskPlacement]:
    """Where tasks are."""
    return [
        job_pb2.TaskPlacement(
            group=placement.group, node=placement.node, tasks=placement.tasks, devices=placement.devices
        )
        for placement in placements
    ]


def write_profile(profile: ThroughputProfile) -> throughput_pb2.ThroughputProfile:
    """A shared profile, its cells sorted."""
    cells = sorted(profile.throughput.items())
    return throughput_pb2.ThroughputProfile(
        name=profile.name,
        accelerator_types=[type_ for (type_, _, _), _ in cells],
        counts=[count for (_, count, _), _ in cells],
        scopes=[scope for (_, _, scope), _ in cells],
        throughputs=[value for _, value in cells],
    )


def _write_component(component: Component) -> job_pb2.Component:
    message = job_pb2.Component(task_groups=[_write_group(group) for group in component.task_groups])
    if component.required_level is not None:
        message.locality.required_level = component.required_level
    if component.preferred_level is not None:
        message.locality.preferred_level = component.preferred_level
    return message


def _write_group(group: TaskGroup) -> job_pb2.TaskGroup:
    message = job_pb2.TaskGroup(
        name=group.name,
        count=group.count,
        allowed_counts=group.allowed_counts if group.allowed_counts != (group.count,) else (),
        devices_per_task=group.devices_per_task,
        accelerator_types=group.accelerator_types,
        profile=group.profile or "",
        split=_SPLITS[group.split],
        node_selector=dict(sorted(group.node_selector.items())),
        tolerations=[_write_toleration(toleration) for toleration in group.tolerations],
    )
    if group.resources_per_task != _NOTHING:
        message.resources_per_task.CopyFrom(write_resources(group.resources_per_task))
    return message


def _write_toleration(toleration: Toleration) -> job_pb2.Toleration:
    message = job_pb2.Toleration(key=toleration.key or "")
    if toleration.value is not None:
        message.value = toleration.value
    if toleration.effect is not None:
        message.effect = TAINT_EFFECTS[toleration.effect]
    return message


def _write_running(running: Running) -> job_pb2.Running:
    message = job_pb2.Running(placements=write_placements(running.placements))
    if running.started_at is not None:
        message.started_at.CopyFrom(to_timestamp(running.started_at))
    if running.checkpoint_age_seconds is not None:
        message.checkpoint_age.CopyFrom(to_duration(running.checkpoint_age_seconds))
    return message
