"""Very many jobs -> their bytes on the wire, those that say nothing unusual.

Setting forty fields of a message from Python takes longer than putting its bytes together, where numbers and
times of all jobs are encoded at once. What comes out is what
:func:`~gangplan.service.wire.write_job.write_job` writes, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from gangplan.domain.job import (
    OPEN,
    Capabilities,
    Component,
    DeadlineKind,
    Job,
    Running,
    TaskPlacement,
    TaskSplit,
)
from gangplan.service.wire.column_bytes import Reals, are_moments, column, moments, reals
from gangplan.service.wire.put_together import delimited, head, varint
from gangplan.v1 import job_pb2

WriteComponent = Callable[[Component, job_pb2.Component], None]
"""Fills in a component."""
_ANYTHING = Capabilities()
_KINDS = {
    DeadlineKind.TARGET: varint(2 << 3) + varint(job_pb2.DEADLINE_KIND_TARGET),
    DeadlineKind.STRICT: varint(2 << 3) + varint(job_pb2.DEADLINE_KIND_STRICT),
    DeadlineKind.SOFT: varint(2 << 3) + varint(job_pb2.DEADLINE_KIND_SOFT),
}
_STOPPING = varint(6 << 3) + varint(1)
_RARE: tuple[tuple[str, Any], ...] = (
    ("gate", OPEN),
    ("left_quantiles", None),
    ("interactive", None),
    ("disrupted_at", ()),
)
"""Fields that most jobs do not set, and what they are then."""
_RUN_TIMES = ("started_at", "checkpoint_age_seconds", "next_safe_point", "minimum_run_until")


def plain_bodies(jobs: Sequence[Job], write_component: WriteComponent) -> list[bytes | None]:
    """The bytes of jobs without name and revision; None for each that is left to be written field by field.

    Args:
        jobs: in any order.
        write_component: fills in a component.
    """
    rows = _Rows(jobs)
    for name, usual in _RARE:
        rows.leave_all_but(name, usual)
    running = _Rows([job.running for job in jobs if job.running is not None])
    kinds = rows.values("deadline_kind")
    decay = rows.seconds("deadline_decay_seconds")
    decay[[kind is not DeadlineKind.SOFT for kind in kinds]] = np.nan
    components = _Components(write_component)
    fields = (
        [_text(2, queue or "") for queue in rows.values("queue")],
        [components.encoded(component) for component in rows.values("component")],
        reals(4, rows.reals("weight")),
        [varint(5 << 3) + varint(priority) if priority else b"" for priority in rows.values("priority")],
        moments(6, rows.seconds("submit_time")),
        _message(7, reals(1, rows.reals("work_done", unset=0.0)), reals(2, rows.reals("work_left"))),
        _message(
            8, reals(1, rows.reals("fair_progress", unset=0.0)), moments(2, rows.seconds("fair_finish_age"))
        ),
        [
            delimited(9, time + _KINDS[kind] + falls) if time else b""
            for time, kind, falls in zip(
                moments(1, rows.seconds("deadline")), kinds, moments(3, decay), strict=True
            )
        ],
        _message(
            10,
            moments(1, rows.seconds("restart_seconds", unset=0.0)),
            moments(2, rows.seconds("checkpoint_seconds", unset=0.0)),
        ),
        [b"" if may == _ANYTHING else _capabilities(may) for may in rows.values("capabilities")],
        _places(rows, running),
        reals(14, rows.reals("service_received_device_seconds")),
        [_text(20, user) for user in rows.values("user")],
    )
    bodies = map(b"".join, zip(*fields, strict=True))
    return [body if plain else None for body, plain in zip(bodies, rows.plain.tolist(), strict=True)]


class _Rows:
    """Things of one kind, by column.

    Args:
        things: the things.

    Attributes:
        plain: those that are not left to be written field by field.
    """

    def __init__(self, things: Sequence[Job] | Sequence[Running]) -> None:
        self._things = things
        self.plain = np.ones(len(things), np.bool_)

    def values(self, name: str) -> list[Any]:
        """A field of all."""
        return list(map(attrgetter(name), self._things))

    def leave_all_but(self, name: str, usual: object) -> None:
        """Leave those of which a field is not as usual."""
        values = self.values(name)
        if values.count(usual) < len(values):
            self.plain &= np.fromiter([value == usual for value in values], np.bool_, len(values))

    def reals(self, name: str, unset: float | None = None) -> Reals:
        """A field of numbers, NaN for None and ``unset``; whose number is NaN or -0 is left."""
        numbers, sure = column(self.values(name))
        self.plain &= sure
        if unset is not None:
            nothing = numbers == unset
            self.plain &= ~(nothing & np.signbit(numbers))
            numbers[nothing] = np.nan
        return numbers

    def seconds(self, name: str, unset: float | None = None) -> Reals:
        """A field of times, NaN for None and ``unset``; whose time cannot be encoded here is left."""
        numbers = self.reals(name, unset)
        fine = are_moments(numbers)
        self.plain &= fine
        numbers[~fine] = np.nan
        return numbers


def _message(number: int, *fields: list[bytes]) -> list[bytes]:
    """Messages of these fields, set where one of them is."""
    bodies = map(b"".join, zip(*fields, strict=True))
    return [delimited(number, body) if body else b"" for body in bodies]


def _text(number: int, text: str) -> bytes:
    return delimited(number, text.encode()) if text else b""


def _capabilities(may: Capabilities) -> bytes:
    """All three, set though they may be false."""
    said = (may.pausable, may.movable, may.resizable)
    return delimited(11, b"".join(bytes((number << 3, value)) for number, value in enumerate(said, 1)))


def _places(rows: _Rows, running: _Rows) -> list[bytes]:
    """Where jobs run; nothing for those that wait. Who holds parts of devices is left."""
    all_places = running.values("placements")
    whole = [all(not place.shares for place in places) for places in all_places]
    running.plain &= np.fromiter(whole, np.bool_, len(whole))
    fields = (
        [b"".join(map(_placement, places)) for places in all_places],
        *(moments(number, running.seconds(name)) for number, name in enumerate(_RUN_TIMES, 2)),
        [_STOPPING if stopping else b"" for stopping in running.values("stopping")],
    )
    there = np.fromiter([one is not None for one in rows.values("running")], np.bool_, len(rows.plain))
    rows.plain[there] &= running.plain
    found = [b""] * len(rows.plain)
    bodies = map(b"".join, zip(*fields, strict=True))
    for index, body in zip(np.flatnonzero(there).tolist(), bodies, strict=True):
        found[index] = delimited(12, body)
    return found


def _placement(placement: TaskPlacement) -> bytes:
    body = _text(1, placement.group) + _text(2, placement.node)
    if placement.tasks:
        body += varint(3 << 3) + varint(placement.tasks)
    if placement.devices:
        body += delimited(4, _packed(placement.devices))
    return delimited(1, body)


@lru_cache(maxsize=4096)
def _packed(numbers: tuple[int, ...]) -> bytes:
    return b"".join(map(varint, numbers))


class _Components:
    """Components as bytes of a job; those alike but for their profile are written once.

    Args:
        write: fills in a component.
    """

    _PARTS = attrgetter(
        "name",
        "count",
        "allowed_counts",
        "devices_per_task",
        "accelerator_types",
        "resources_per_task.cpu_milli",
        "resources_per_task.memory_bytes",
        "device_share",
        "tolerations",
    )

    def __init__(self, write: WriteComponent) -> None:
        self._write = write
        self._around: dict[Hashable, tuple[bytes, bytes]] = {}

    def encoded(self, component: Component) -> bytes:
        """The component as the field of its job."""
        groups = component.task_groups
        if len(groups) != 1 or groups[0].node_selector:
            return delimited(3, self._whole(component))
        group = groups[0]
        profile = (group.profile or "").encode()
        key = (
            self._PARTS(group),
            group.split is TaskSplit.FREE,
            component.required_level,
            component.preferred_level,
            len(profile),
        )
        around = self._around.get(key)
        if around is None:
            around = self._around[key] = self._split(component, len(profile))
        return around[0] + profile + around[1]

    def _whole(self, component: Component) -> bytes:
        message = job_pb2.Component()
        self._write(component, message)
        return message.SerializeToString(deterministic=True)

    def _split(self, component: Component, length: int) -> tuple[bytes, bytes]:
        """What stands before and after the profile's name of so many bytes in the field of the job."""
        message = job_pb2.Component()
        self._write(component, message)
        group = message.task_groups[0]
        group.ClearField("profile")
        whole = group.SerializeToString(deterministic=True)
        for field, _ in group.ListFields():
            if field.number < job_pb2.TaskGroup.PROFILE_FIELD_NUMBER:
                group.ClearField(field.name)  # type: ignore[arg-type]
        after = group.SerializeToString(deterministic=True)
        before = whole[: len(whole) - len(after)]
        if length:
            before += head(job_pb2.TaskGroup.PROFILE_FIELD_NUMBER, length)
        message.ClearField("task_groups")
        after_group = message.SerializeToString(deterministic=True)
        start = head(job_pb2.Component.TASK_GROUPS_FIELD_NUMBER, len(before) + length + len(after))
        inside = len(start) + len(before) + length + len(after) + len(after_group)
        return head(job_pb2.Job.COMPONENTS_FIELD_NUMBER, inside) + start + before, after + after_group
