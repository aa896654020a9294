"""What is held for jobs that wait: claims and promises."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.domain.cluster import DeviceReporting, Node
from gangplan.domain.job import Job, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import Claim
from gangplan.testing.strategies.draw import NOW, Draw
from gangplan.testing.strategies.world import World


def draw_claims(d: Draw, world: World, jobs: Sequence[Job]) -> tuple[Claim, ...]:
    """Now and then claims of waiting jobs: mostly on free devices of one node, mostly in time."""
    claims: list[Claim] = []
    for job in jobs:
        if job.running is not None or not world.rooms or not d.chance(8):
            continue
        room = d.one(sorted(world.rooms, key=lambda room: -room.count))
        devices = room.devices if not d.chance(10) else sorted(range(room.node.device_count))
        placements = []
        for group in job.component.task_groups:
            tasks = d.one(group.allowed_counts)
            mine, devices = (
                devices[: tasks * group.devices_per_task],
                devices[tasks * group.devices_per_task :],
            )
            placements.append(TaskPlacement(group.name, room.node.name, tasks, tuple(mine)))
        claims.append(Claim(job.name, tuple(placements), NOW + d.one((600.0, 60.0, 0.0)), ("evict/gone",)))
    return tuple(claims)


def draw_reservations(
    d: Draw, nodes: Sequence[Node], jobs: Sequence[Job], round_seconds: float
) -> tuple[Reservation, ...]:
    """Promises to waiting jobs, on nodes that others mostly hold now; some are wishes only."""
    found: list[Reservation] = []
    for job in jobs:
        if not d.chance(40 if job.running is None else 5):
            continue
        latest = NOW + round_seconds * d.one((4.0, 1.0, 12.0, 0.5, -1.0))
        expires = latest + d.one((3600.0, 0.0))
        places = () if d.chance(15) else _promised_place(d, nodes, job)
        found.append(Reservation(job.name, None, latest, expires, placements=places))
    return tuple(found)


def _promised_place(d: Draw, nodes: Sequence[Node], job: Job) -> tuple[TaskPlacement, ...]:
    """A place for all tasks of a job, node after node from one on, whoever holds it now."""
    first = d.number((0, len(nodes) - 1))
    order = [*nodes[first:], *nodes[:first]]
    free = {node.name: sorted(node.usable_devices) for node in order}
    counts = {node.name: node.usable_device_count for node in order}
    found: list[TaskPlacement] = []
    for group in job.component.task_groups:
        left = d.one(group.allowed_counts)
        for node in order:
            each = group.devices_per_task
            if each and group.accelerator_types and node.accelerator_type not in group.accelerator_types:
                continue
            tasks = min(left, counts[node.name] // each) if each else left
            if tasks:
                exact = node.device_reporting is DeviceReporting.EXACT
                mine = free[node.name][: tasks * each] if exact else []
                free[node.name] = free[node.name][len(mine) :]
                counts[node.name] -= tasks * each
                found.append(TaskPlacement(group.name, node.name, tasks, tuple(mine)))
                left -= tasks
    return tuple(found)
