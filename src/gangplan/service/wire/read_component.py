"""Components of jobs on the wire -> :class:`~gangplan.domain.job.Component`."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.domain.cluster import Resources, Toleration
from gangplan.domain.job import Component, TaskGroup, TaskSplit
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.known import Known
from gangplan.service.wire.read_cluster import TAINT_EFFECTS, read_resources
from gangplan.service.wire.read_share import read_share
from gangplan.twins import twin_maker
from gangplan.v1 import job_pb2

DEFAULT_GROUP = "worker"
"""Name of a task group that was given none."""

_SPLITS = {job_pb2.TASK_SPLIT_WHOLE_NODES: TaskSplit.WHOLE_NODES}
_NOTHING = Resources()
_component, _task_group = twin_maker(Component), twin_maker(TaskGroup)
_SHORT = 127
"""Longest name whose length is one byte on the wire."""
_HEADS = tuple(
    bytes((job_pb2.TaskGroup.PROFILE_FIELD_NUMBER << 3 | 2, length)) for length in range(_SHORT + 1)
)
"""What stands before a profile's name of each length on the wire."""


class Components:
    """Reads components; those alike but for profiles with names of one length are looked at once.

    Args:
        known: names that they may refer to.
        fields: collects what is wrong.
    """

    def __init__(self, known: Known, fields: Fields) -> None:
        self._known = known
        self._fields = fields
        self._found: dict[_Around, Component] = {}
        self._plain: dict[tuple[bytes, _Around], Component] = {}

    def read(self, messages: Sequence[job_pb2.Component], path: str) -> Component:
        """The job's one component; more are planned."""
        if len(messages) == 1:
            return self._read_one(messages[0], path)
        if not messages:
            self._fields.refuse(f"{path}components", "a job has at least one component")
            return Component(())
        for index in range(1, len(messages)):
            self._fields.refuse_planned(
                f"{path}components[{index}]", "more than one component is not supported yet"
            )
        components = [
            _read_component(message, f"{path}components[{index}].", self._known, self._fields)
            for index, message in enumerate(messages)
        ]
        return components[0]

    def plain(self, encoded: bytes, profile: Span) -> Component | None:
        """A component of one task group by its bytes; None: something is wrong with it, or unusual.

        Args:
            encoded: all its bytes, as protobuf writes them.
            profile: where among them the profile's name is; empty: it has none.
        """
        start, stop = profile
        if start == stop:
            name, around = b"", (encoded, b"")
        elif stop - start <= _SHORT:
            name, around = encoded[start:stop], (encoded[: start - 2], encoded[stop:])
        else:
            return None
        key = name, around
        component = self._plain.get(key)
        if component is None:
            like = self._found.get(around) or self._first(encoded, around)
            text = name.decode()
            if like is None or (text and text not in self._known.profiles):
                return None
            component = self._plain[key] = _like(like, text)
        return component

    def _first(self, encoded: bytes, around: _Around) -> Component | None:
        """Look at a component that is like none before; nothing is said when something is wrong with it."""
        message = job_pb2.Component.FromString(encoded)
        if len(message.task_groups) != 1:
            return None
        fields = Fields()
        component = _read_component(message, "", self._known, fields)
        if fields.invalid or fields.unsupported:
            return None
        self._found[around] = component
        return component

    def _read_one(self, message: job_pb2.Component, path: str) -> Component:
        groups = message.task_groups
        if len(groups) != 1:
            return _read_component(message, f"{path}components[0].", self._known, self._fields)
        profile = groups[0].profile
        around = _around(message.SerializeToString(), profile)
        like = self._found.get(around)
        if like is not None and (not profile or profile in self._known.profiles):
            return _like(like, profile)
        fields = self._fields
        before = len(fields.invalid) + len(fields.unsupported)
        component = _read_component(message, f"{path}components[0].", self._known, fields)
        if len(fields.invalid) + len(fields.unsupported) == before:
            self._found[around] = component
        return component


Span = tuple[int, int]
_Around = tuple[bytes, bytes]
"""Bytes of a component before and after its profile."""


def _around(encoded: bytes, profile: str) -> _Around:
    """What a component of one group says but for its profile: equal for two, they differ in that name only.

    Bytes before it that look like the profile do no harm: the real one is then among those after it.
    """
    name = profile.encode()
    if not 0 < len(name) <= _SHORT:
        return encoded, b""
    before, _, after = encoded.partition(_HEADS[len(name)] + name)
    return before, after


def _like(like: Component, profile: str) -> Component:
    """``like`` with the profile of that name in its one group."""
    group = like.task_groups[0]
    if group.profile != (profile or None):
        group = _with_profile(group, profile)
    return _component((group,), like.required_level, like.preferred_level)


def _with_profile(like: TaskGroup, name: str) -> TaskGroup:
    """``like`` with the profile of that name, none where it is empty."""
    return _task_group(
        like.name,
        like.count,
        like.allowed_counts,
        like.devices_per_task,
        like.resources_per_task,
        like.accelerator_types,
        name or None,
        like.split,
        like.node_selector,
        like.tolerations,
        like.device_share,
    )


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
    if len(groups) > 1:
        for index, one in enumerate(groups):
            if one.device_share is not None:
                fields.refuse_planned(
                    f"{path}task_groups[{index}].device_share",
                    "a part of a device for one of several task groups is not supported yet",
                )
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
    share = None
    if message.HasField("device_share"):
        share = read_share(message.device_share, f"{path}device_share", fields)
        if message.devices_per_task != 1:
            fields.refuse(f"{path}devices_per_task", "must be 1 beside device_share")
        if count != 1 or allowed != (1,):
            fields.refuse_planned(
                f"{path}device_share", "parts of devices for several tasks are not supported yet"
            )
        if split is TaskSplit.WHOLE_NODES:
            fields.refuse(f"{path}split", "WHOLE_NODES does not go with device_share")
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
        device_share=share,
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
