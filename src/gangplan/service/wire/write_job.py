""":class:`~gangplan.domain.job.Job` and throughput profiles -> the wire."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from gangplan.domain.cells import Cell, Cells, listed
from gangplan.domain.cluster import Resources, Toleration
from gangplan.domain.job import (
    Capabilities,
    Component,
    DeadlineKind,
    DeviceShare,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
    TaskSplit,
    ThroughputProfile,
)
from gangplan.service.wire.fold import add_named, bodies_of, fold
from gangplan.service.wire.put_together import delimited
from gangplan.service.wire.times import write_seconds
from gangplan.service.wire.write_cluster import TAINT_EFFECTS
from gangplan.v1 import accelerator_pb2, job_pb2, round_pb2, throughput_pb2

_SPLITS = {
    TaskSplit.FREE: job_pb2.TASK_SPLIT_FREE,
    TaskSplit.WHOLE_NODES: job_pb2.TASK_SPLIT_WHOLE_NODES,
}
_KINDS = {
    DeadlineKind.TARGET: job_pb2.DEADLINE_KIND_TARGET,
    DeadlineKind.STRICT: job_pb2.DEADLINE_KIND_STRICT,
    DeadlineKind.SOFT: job_pb2.DEADLINE_KIND_SOFT,
}
MANY = 600
"""Jobs from which on it takes less time to put their bytes together than to set fields of messages."""
_NOTHING = Resources()
_ANYTHING = Capabilities()
_PROFILES = round_pb2.PlanRoundRequest.PROFILES_FIELD_NUMBER


def write_jobs(jobs: Sequence[Job], request: round_pb2.PlanRoundRequest, *, compact: bool) -> None:
    """Add jobs; ``compact`` folds alike ones that wait to classes."""
    if compact:
        fold(jobs, _bodies(jobs), request, "jobs", "job_classes", foldable=_waits)
    else:
        add_named(jobs, _bodies(jobs), request, "jobs")


def _bodies(jobs: Sequence[Job]) -> list[bytes]:
    """The bytes of jobs, but for name and revision."""
    if len(jobs) < MANY:
        return bodies_of(jobs, write_job, job_pb2.Job())
    from gangplan.service.wire.write_plain_jobs import plain_bodies

    plain = plain_bodies(jobs, _write_component)
    left = bodies_of(
        [job for job, body in zip(jobs, plain, strict=True) if body is None], write_job, job_pb2.Job()
    )
    rest = iter(left)
    return [next(rest) if body is None else body for body in plain]


def _waits(job: Job) -> bool:
    return job.running is None


def write_job(job: Job, message: job_pb2.Job) -> None:
    """Fill in a job, but for its name and revision."""
    if job.queue is not None:
        message.queue = job.queue
    _write_component(job.component, message.components.add())
    message.weight = job.weight
    message.priority = job.priority
    message.user = job.user
    if job.submit_time is not None:
        write_seconds(job.submit_time, message.submit_time)
    if job.work_done or job.work_left is not None or job.left_quantiles is not None:
        message.work.done = job.work_done
    if job.work_left is not None:
        message.work.left_known = job.work_left
    elif job.left_quantiles is not None:
        message.work.left_quantiles.probabilities.extend(job.left_quantiles.probabilities)
        message.work.left_quantiles.work.extend(job.left_quantiles.values)
    if job.fair_progress:
        message.fair_share.progress = job.fair_progress
    if job.fair_finish_age is not None:
        write_seconds(job.fair_finish_age, message.fair_share.finish_age)
    if job.service_received_device_seconds is not None:
        message.service_received_device_seconds = job.service_received_device_seconds
    if job.deadline is not None:
        write_seconds(job.deadline, message.deadline.time)
        message.deadline.kind = _KINDS[job.deadline_kind]
        if job.deadline_kind is DeadlineKind.SOFT:
            write_seconds(job.deadline_decay_seconds, message.deadline.decay)
    if job.restart_seconds:
        write_seconds(job.restart_seconds, message.interruption_cost.restart_time)
    if job.checkpoint_seconds:
        write_seconds(job.checkpoint_seconds, message.interruption_cost.checkpoint_time)
    if job.capabilities != _ANYTHING:
        message.capabilities.pausable = job.capabilities.pausable
        message.capabilities.movable = job.capabilities.movable
        message.capabilities.resizable = job.capabilities.resizable
    gate = job.gate
    if gate.not_before is not None:
        write_seconds(gate.not_before, message.not_before)
    message.held = gate.held
    message.after_jobs.extend(gate.after_jobs)
    if gate.held_seconds:
        write_seconds(gate.held_seconds, message.held_time)
    if job.interactive is not None:
        write_seconds(job.interactive.start_within_seconds, message.interactive.start_within)
        if job.interactive.idle_limit_seconds is not None:
            write_seconds(job.interactive.idle_limit_seconds, message.interactive.idle_limit)
        if job.interactive.idle_since is not None:
            write_seconds(job.interactive.idle_since, message.interactive.idle_since)
    for time in job.disrupted_at:
        write_seconds(time, message.disrupted_at.add())
    if job.running is not None:
        _write_running(job.running, message.running)


def write_profiles(profiles: Iterable[ThroughputProfile], request: round_pb2.PlanRoundRequest) -> None:
    """Add the shared profiles, their cells sorted; who list the same cells share what they say of them."""
    known: dict[object, tuple[list[int], bytes]] = {}
    places: list[object] = []  # keeps what is known by identity alive
    encoded = []
    for profile in profiles:
        cells = profile.throughput
        key = listed(cells)
        if key not in known:
            known[key] = _cells(tuple(cells))
            places.append(cells)
        order, listing = known[key]
        values = cells.figures if isinstance(cells, Cells) else list(cells.values())
        body = delimited(1, profile.name.encode()) + listing
        if order:
            body += delimited(5, struct.pack(f"<{len(order)}d", *[values[i] for i in order]))
        encoded.append(delimited(_PROFILES, body))
    request.MergeFromString(b"".join(encoded))


def _cells(cells: Sequence[Cell]) -> tuple[list[int], bytes]:
    """The order in which cells are sorted, and they as bytes of a profile, in that order."""
    order = sorted(range(len(cells)), key=cells.__getitem__)
    message = throughput_pb2.ThroughputProfile(
        accelerator_types=[cells[i][0] for i in order],
        counts=[cells[i][1] for i in order],
        scopes=[cells[i][2] for i in order],
    )
    return order, message.SerializeToString()


def _write_component(component: Component, message: job_pb2.Component) -> None:
    for group in component.task_groups:
        _write_group(group, message.task_groups.add())
    if component.required_level is not None:
        message.locality.required_level = component.required_level
    if component.preferred_level is not None:
        message.locality.preferred_level = component.preferred_level


def _write_group(group: TaskGroup, message: job_pb2.TaskGroup) -> None:
    message.name = group.name
    message.count = group.count
    if group.allowed_counts != (group.count,):
        message.allowed_counts.extend(group.allowed_counts)
    message.devices_per_task = group.devices_per_task
    if group.device_share is not None:
        write_share(group.device_share, message.device_share)
    if group.accelerator_types:
        message.accelerator_types.extend(group.accelerator_types)
    if group.profile is not None:
        message.profile = group.profile
    message.split = _SPLITS[group.split]
    for key, value in group.node_selector.items():
        message.node_selector[key] = value
    for toleration in group.tolerations:
        _write_toleration(toleration, message.tolerations.add())
    if group.resources_per_task != _NOTHING:
        message.resources_per_task.cpu_milli = group.resources_per_task.cpu_milli
        message.resources_per_task.memory_bytes = group.resources_per_task.memory_bytes


def write_share(share: DeviceShare, message: accelerator_pb2.DeviceShare) -> None:
    """Fill in a part of a device."""
    message.mode = accelerator_pb2.SHARING_MODE_TIME_SLICED
    message.compute_milli = share.compute_milli


def write_placements(placements: Iterable[TaskPlacement], messages: Any) -> None:
    """Add placements, one for each."""
    for placement in placements:
        written = messages.add(
            group=placement.group, node=placement.node, tasks=placement.tasks, devices=placement.devices
        )
        for share in placement.shares:
            write_share(share, written.shares.add())


def _write_toleration(toleration: Toleration, message: job_pb2.Toleration) -> None:
    message.key = toleration.key or ""
    if toleration.value is not None:
        message.value = toleration.value
    if toleration.effect is not None:
        message.effect = TAINT_EFFECTS[toleration.effect]


def _write_running(running: Running, message: job_pb2.Running) -> None:
    message.SetInParent()
    write_placements(running.placements, message.placements)
    if running.started_at is not None:
        write_seconds(running.started_at, message.started_at)
    if running.checkpoint_age_seconds is not None:
        write_seconds(running.checkpoint_age_seconds, message.checkpoint_age)
    if running.next_safe_point is not None:
        write_seconds(running.next_safe_point, message.next_safe_point)
    message.stopping = running.stopping
    if running.minimum_run_until is not None:
        write_seconds(running.minimum_run_until, message.minimum_run_until)
