"""Quota: device limits along the queue tree, after the plan (property P15).

For every queue, the devices that jobs of its whole subtree hold, and those of each limited type, are at most
the limit, or what the subtree's running jobs that are not forced off hold now when that is more (property
P25). Unset is unlimited; 0 is none at all (property P14). CPU-only jobs hold no devices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gangplan.model.rows import Rows
from gangplan.model.violation import Violation

if TYPE_CHECKING:
    from gangplan.domain.queue import Queue
    from gangplan.model.layout import Layout
    from gangplan.model.reading import Change, Holding, Reading

NAME = "quota"
RULES = ("quota.device-limit", "quota.device-limit-by-type")


def violations(reading: Reading) -> list[Violation]:
    """Queues whose subtree would hold more than it may."""
    queues = {queue.name: queue for queue in reading.round.queues}
    if not queues:
        return []
    present: dict[tuple[str, str | None], int] = {}
    final: dict[tuple[str, str | None], int] = {}
    for change in reading.changes.values():
        if change.job.queue is None:
            continue
        if change.forced is None:
            _add(present, change, change.before, reading, queues)
        _add(final, change, change.after, reading, queues)
    found: list[Violation] = []
    for queue in queues.values():
        for kind, limit in _limits(queue):
            key = (queue.name, kind)
            held, now = final.get(key, 0), present.get(key, 0)
            if held > max(limit, now):
                rule = "device-limit" if kind is None else "device-limit-by-type"
                what = "devices" if kind is None else f"devices of {kind}"
                message = f"queue {queue.name} would hold {held} {what}; its limit is {limit} ({now} now)"
                found.append(Violation(f"quota.{rule}", message=message))
    return found


def _limits(queue: Queue) -> Iterator[tuple[str | None, int]]:
    if queue.device_limit is not None:
        yield None, queue.device_limit
    yield from queue.device_limit_by_type.items()


def _add(
    held: dict[tuple[str, str | None], int],
    change: Change,
    holding: Holding,
    reading: Reading,
    queues: dict[str, Queue],
) -> None:
    """Add a holding to the sums of its queue and of every queue above."""
    per_task = {group.name: group.devices_per_task for group in change.job.component.task_groups}
    sums: dict[str | None, int] = {}
    for (group, node), part in holding.items():
        devices = part.tasks * per_task.get(group, 0)
        if devices:
            kind = reading.nodes[node].accelerator_type if node in reading.nodes else None
            sums[None] = sums.get(None, 0) + devices
            if kind is not None:
                sums[kind] = sums.get(kind, 0) + devices
    name, seen = change.job.queue, set[str]()
    while sums and name in queues and name not in seen:
        for kind, devices in sums.items():
            held[name, kind] = held.get((name, kind), 0) + devices
        seen.add(name)
        name = queues[name].parent


def rows(layout: Layout) -> Rows:
    """Devices held by a queue's subtree, in all and by type; a limit that is broken now may not get worse."""
    instance, found = layout.instance, Rows()
    limits = {queue.name: queue for queue in instance.round.queues}
    members: dict[int, list[int]] = defaultdict(list)
    for c, job_class in enumerate(instance.classes):
        if job_class.queue >= 0:
            for queue in instance.queue_ancestors[job_class.queue]:
                members[queue].append(c)
    for q, name in enumerate(instance.queue_names):
        queue = limits[name]
        if queue.device_limit is not None:
            _limit_row(layout, members[q], None, queue.device_limit, found)
        for type_name, limit in sorted(queue.device_limit_by_type.items()):
            type_ = instance.speeds.type_index[type_name]
            _limit_row(layout, members[q], type_, limit, found)
    return found


def _limit_row(layout: Layout, classes: list[int], type_: int | None, limit: int, found: Rows) -> None:
    instance = layout.instance
    entries: list[tuple[int, float]] = []
    present = 0
    for c in classes:
        job_class = instance.classes[c]
        for i, option in enumerate(job_class.options):
            column = int(layout.option_column[job_class.start + i])
            devices = option.devices if type_ is None else dict(option.devices_by_type).get(type_, 0)
            if column >= 0:
                entries.append((column, float(devices)))
        if job_class.kept:
            held = sum(
                amounts[0]
                for node, amounts in instance.keep_use[c].items()
                if type_ is None or instance.nodes.type_of[node] == type_
            )
            present += held
            entries.append((int(layout.keep_column[c]), float(held)))
    found.add(entries, upper=float(max(limit, present)))
