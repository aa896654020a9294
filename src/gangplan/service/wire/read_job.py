"""Jobs on the wire -> :class:`~gangplan.domain.job.Job`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gangplan.domain.cluster import Node, Resources, Toleration
from gangplan.domain.job import Capabilities, Component, Job, TaskGroup, TaskSplit
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_cluster import (
    TAINT_EFFECTS,
    read_members,
    read_resources,
    refuse_own_names,
)
from gangplan.service.wire.read_running import read_running
from gangplan.v1 import job_pb2

DEFAULT_GROUP = "worker"
"""Name of a task group that was given none."""

_SPLITS = {job_pb2.TASK_SPLIT_WHOLE_NODES: TaskSplit.WHOLE_NODES}
_NOTHING = Resources()
_ANYTHING = Capabilities()


@dataclass(frozen=True, slots=True)
class Known:
    """Names that jobs may refer to.

    Attributes:
        types: catalogued accelerator types.
        scopes: level names, ``cluster`` and ``node`` among them.
        queues: queues.
        profiles: throughput profiles.
        nodes: the cluster's nodes by name.
        taken: path of the placement that holds a device, by (node, index); filled while reading.
    """

    types: frozenset[str]
    scopes: frozenset[str]
    queues: frozenset[str]
    profiles: frozenset[str]
    nodes: Mapping[str, Node]
    taken: dict[tuple[str, int], str] = field(default_factory=dict)


def read_jobs(
    jobs: Sequence[job_pb2.Job], classes: Sequence[job_pb2.JobClass], path: str, known: Known, fields: Fields
) -> tuple[Job, ...]:
    """All jobs, classes expanded."""
    seen: dict[str, str] = {}
    found: list[Job] = []
    for index, message in enumerate(jobs):
        here = f"{path}jobs[{index}]."
        fields.name(message.name, here, "name")
        fields.unique(seen, message.name, f"{here}name")
        found.append(_read_job(message, here, known, fields))
    for index, alike in enumerate(classes):
        here = f"{path}job_classes[{index}]."
        refuse_own_names(alike.template, f"{here}template.", fields)
        if alike.template.HasField("running"):
            fields.refuse(f"{here}template.running", "members of a class wait; list running jobs one by one")
        template = _read_job(alike.template, f"{here}template.", known, fields)
        for name, revision in read_members(alike.names, alike.revisions, here, seen, fields):
            found.append(replace(template, name=name, revision=revision))
    return tuple(found)


def _read_job(message: job_pb2.Job, path: str, known: Known, fields: Fields) -> Job:
    """A job, its name unchecked."""
    queue = message.queue or None
    fields.known(queue, known.queues, path, "queue", "queue")
    weight = message.weight if message.HasField("weight") else 1.0
    work, fair = message.work, message.fair_share
    work_left = None
    if work.WhichOneof("left") == "left_known":
        work_left = fields.real(work.left_known, path, "work.left_known", 0.0, limits.WORK)
    deadline = None
    if message.HasField("deadline"):
        if message.deadline.HasField("time"):
            deadline = fields.instant(message.deadline.time, path, "deadline.time")
        else:
            fields.refuse(f"{path}deadline.time", "must be set in a deadline")
    restart = 0.0
    if message.interruption_cost.HasField("restart_time"):
        restart = fields.duration(
            message.interruption_cost.restart_time, path, "interruption_cost.restart_time"
        )
    component = _read_components(message.components, path, known, fields)
    groups = frozenset(group.name for group in component.task_groups)
    return Job(
        name=message.name,
        component=component,
        queue=queue,
        weight=fields.real(weight, path, "weight", limits.SMALLEST_FACTOR, limits.LARGEST_FACTOR),
        priority=fields.integer(message.priority, path, "priority", -limits.PRIORITY, limits.PRIORITY),
        submit_time=fields.instant(message.submit_time, path, "submit_time")
        if message.HasField("submit_time")
        else None,
        work_done=fields.real(work.done, path, "work.done", 0.0, limits.WORK),
        work_left=work_left,
        fair_progress=fields.real(fair.progress, path, "fair_share.progress", 0.0, limits.WORK),
        fair_finish_age=fields.duration(fair.finish_age, path, "fair_share.finish_age")
        if fair.HasField("finish_age")
        else None,
        deadline=deadline,
        restart_seconds=restart,
        capabilities=_read_capabilities(message.capabilities)
        if message.HasField("capabilities")
        else _ANYTHING,
        running=read_running(message.running, f"{path}running.", groups, known.nodes, known.taken, fields)
        if message.HasField("running")
        else None,
        revision=fields.text(message.revision, path, "revision"),
    )


def _read_capabilities(message: job_pb2.Capabilities) -> Capabilities:
    return Capabilities(
        pausable=message.pausable if message.HasField("pausable") else True,
        movable=message.movable if message.HasField("movable") else True,
        resizable=message.resizable if message.HasField("resizable") else True,
    )


def _read_components(
    messages: Sequence[job_pb2.Component], path: str, known: Known, fields: Fields
) -> Component:
    """The job's one component; more are planned."""
    if not messages:
        fields.refuse(f"{path}components", "a job has at least one component")
        return Component(())
    for index in range(1, len(messages)):
        fields.refuse_planned(f"{path}components[{index}]", "more than one component is not supported yet")
    components = [
        _read_component(message, f"{path}components[{index}].", known, fields)
        for index, message in enumerate(messages)
    ]
    return components[0]


def _read_component(message: job_pb2.Component, path: str, known: Known, fields: Fields) -> Component:
    if message.HasField("replicas") and message.replicas != 1:
        if message.replicas > 1:
            fields.refuse_planned(f"{path}replicas", "more than one replica is not supported yet")
        else:
            fields.refuse(f"{path}replicas", f"must be at least 1, and is {message.replicas}")
    if not message.task_groups:
        fields.refuse(f"{path}task_groups", "a component has at least one task group")
    seen: dict[str, str] = {}
    groups = []
    for index, group in enumerate(message.task_groups):
        here = f"{path}task_groups[{index}]."
        groups.append(_read_group(group, here, known, fields))
        fields.unique(seen, groups[-1].name, f"{here}name")
    locality = message.locality
    required, preferred = locality.required_level or None, locality.preferred_level or None
    fields.known(required, known.scopes, path, "locality.required_level", "level")
    fields.known(preferred, known.scopes, path, "locality.preferred_level", "level")
    return Component(tuple(groups), required, preferred)


def _read_group(message: job_pb2.TaskGroup, path: str, known: Known, fields: Fields) -> TaskGroup:
    count, allowed = _read_counts(message, path, fields)
    devices = fields.integer(message.devices_per_task, path, "devices_per_task", 0, limits.DEVICES_PER_NODE)
    resources = _NOTHING
    if message.HasField("resources_per_task"):
        resources = read_resources(message.resources_per_task, f"{path}resources_per_task.", fields)
    if not (
        message.devices_per_task
        or message.resources_per_task.cpu_milli
        or message.resources_per_task.memory_bytes
    ):
        fields.refuse(
            path.rstrip("."), "its tasks ask for nothing: set devices_per_task or resources_per_task"
        )
    types: dict[str, str] = {}
    for index, type_ in enumerate(message.accelerator_types):
        fields.known(type_, known.types, path, f"accelerator_types[{index}]", "catalogued accelerator type")
        fields.unique(types, type_, f"{path}accelerator_types[{index}]")
    profile = message.profile or None
    fields.known(profile, known.profiles, path, "profile", "throughput profile")
    split = _SPLITS.get(message.split, TaskSplit.FREE)
    if split is TaskSplit.WHOLE_NODES and message.devices_per_task == 0:
        fields.refuse(f"{path}split", "WHOLE_NODES is for tasks with devices")
    return TaskGroup(
        name=fields.name(message.name, path, "name") if message.name else DEFAULT_GROUP,
        count=count,
        allowed_counts=allowed,
        devices_per_task=devices,
        resources_per_task=resources,
        accelerator_types=tuple(types),
        profile=profile,
        split=split,
        node_selector=fields.labels(message.node_selector, path, "node_selector"),
        tolerations=tuple(
            _read_toleration(toleration, f"{path}tolerations[{index}].", fields)
            for index, toleration in enumerate(message.tolerations)
        ),
    )


def _read_counts(message: job_pb2.TaskGroup, path: str, fields: Fields) -> tuple[int, tuple[int, ...]]:
    """The count asked for, and all allowed ones, ascending."""
    count = fields.integer(message.count if message.HasField("count") else 1, path, "count", 1, limits.TASKS)
    ranged = message.HasField("count_range")
    if not ranged and not message.allowed_counts:
        return count, (count,)
    source = "count_range" if ranged else "allowed_counts"
    if not message.HasField("count"):
        fields.refuse(f"{path}count", f"must be set beside {source}")
    if ranged and message.allowed_counts:
        fields.refuse(f"{path}count_range", "must not be set together with allowed_counts")
        fields.refuse(f"{path}allowed_counts", "must not be set together with count_range")
        return count, (count,)
    if ranged:
        allowed = _read_range(message.count_range, f"{path}count_range", fields)
        if allowed is None:
            return count, (count,)
    else:
        if len(message.allowed_counts) > limits.ALLOWED_COUNTS:
            fields.refuse(
                f"{path}allowed_counts",
                f"has {len(message.allowed_counts):,} entries; at most {limits.ALLOWED_COUNTS:,} are allowed",
            )
        seen: set[int] = set()
        for index, allowed_count in enumerate(message.allowed_counts):
            fields.integer(allowed_count, path, f"allowed_counts[{index}]", 1, limits.TASKS)
            if allowed_count in seen:
                fields.refuse(f"{path}allowed_counts[{index}]", f"{allowed_count} is listed twice")
            seen.add(allowed_count)
        allowed = tuple(sorted(seen))
    if message.HasField("count") and message.count == count and count not in allowed:
        fields.refuse(f"{path}count", f"{message.count} is not among {source}")
    return count, allowed


def _read_range(message: job_pb2.CountRange, path: str, fields: Fields) -> tuple[int, ...] | None:
    """The numbers of a range; None when it is refused."""
    before = len(fields.invalid)
    step = message.step if message.HasField("step") else 1
    fields.integer(message.minimum, path, ".minimum", 1, limits.TASKS)
    fields.integer(message.maximum, path, ".maximum", 1, limits.TASKS)
    fields.integer(step, path, ".step", 1, limits.TASKS)
    if message.maximum < message.minimum:
        fields.refuse(f"{path}.minimum", f"{message.minimum} is above the maximum, {message.maximum}")
    if len(fields.invalid) > before:
        return None
    numbers = range(message.minimum, message.maximum + 1, step)
    if len(numbers) > limits.ALLOWED_COUNTS:
        fields.refuse(path, f"holds {len(numbers):,} numbers; at most {limits.ALLOWED_COUNTS:,} are allowed")
        return None
    return tuple(numbers)


def _read_toleration(message: job_pb2.Toleration, path: str, fields: Fields) -> Toleration:
    return Toleration(
        key=fields.optional_name(message.key, path, "key"),
        value=fields.text(message.value, path, "value") if message.HasField("value") else None,
        effect=TAINT_EFFECTS.get(message.effect),
    )
