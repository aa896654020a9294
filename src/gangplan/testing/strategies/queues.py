"""Trees of queues, and their limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gangplan.domain.cluster import AcceleratorType
from gangplan.domain.job import WHOLE_DEVICE, Job
from gangplan.domain.queue import Queue
from gangplan.testing.strategies.draw import Draw


def draw_queues(d: Draw, mood: str) -> tuple[Queue, ...]:
    """Up to three queues, as a tree; limits come when the demand is known."""
    queues: list[Queue] = []
    for i in range(d.one((1, 1, 2, 3) if mood == "limited" else (0, 1, 2))):
        parent = d.one(queues).name if queues and d.chance(60) else None
        received = d.one((None, 0.0, 5_000.0, 40_000.0))
        queues.append(Queue(f"q{i}", parent, weight=d.one((1.0, 3.0, 0.5)), service_received=received))
    return tuple(queues)


def draw_limited(
    d: Draw, mood: str, queues: Sequence[Queue], jobs: Sequence[Job], types: Sequence[AcceleratorType]
) -> tuple[Queue, ...]:
    """The queues with limits: between what their subtree holds and what it asks for, 0, absent, or wide."""
    demand: dict[str | None, int] = {}
    held: dict[str | None, int] = {}
    parents = {queue.name: queue.parent for queue in queues}
    for job in jobs:
        per_task = {group.name: group.device_milli for group in job.component.task_groups}
        asked = sum(group.count * group.device_milli for group in job.component.task_groups)
        now = sum(p.tasks * per_task[p.group] for p in job.running.placements) if job.running else 0
        name = job.queue
        while name is not None:
            demand[name] = demand.get(name, 0) + asked
            held[name] = held.get(name, 0) + now
            name = parents[name]
    limited: list[Queue] = []
    for queue in queues:
        low, high = (-(-each.get(queue.name, 0) // WHOLE_DEVICE) for each in (held, demand))
        limit: int | None = None
        if mood == "limited":
            limit = d.one(
                (low, low, min(low + 1, high), max(low, high // 2), max(low, high - 1), low // 2, 0)
            )
        elif d.chance(40):
            limit = d.one((high, high + 2, max(low, high // 2), 0))
        by_type = {d.one(types).name: d.one((1, 2, 0, 3))} if d.chance(20) else {}
        limited.append(replace(queue, device_limit=limit, device_limit_by_type=by_type))
    return tuple(limited)
