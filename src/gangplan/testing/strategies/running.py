"""Where jobs run."""

from __future__ import annotations

from dataclasses import replace

from gangplan.domain.job import Job, Running, TaskGroup, TaskPlacement
from gangplan.testing.strategies.draw import NOW, Draw
from gangplan.testing.strategies.world import Room, World, take_part, tasks_that_fit


def draw_running(d: Draw, job: Job, world: World, first: Room | None) -> Running | None:
    """Where the job runs: tasks on nodes with room, mostly as it may; None when there is no room.

    Now and then it is on a node that is gone, on a failed device, or with a task too few.
    """
    placements: list[TaskPlacement] = []
    rooms = [world.rooms[i] for i in d.order(len(world.rooms))]
    rooms.sort(key=lambda room: room is not first)
    taken: list[tuple[Room, int, list[int], TaskGroup, int]] = []
    spread = first is None and d.chance(50)
    for group in job.component.task_groups:
        left = d.one(group.allowed_counts)
        type_: str | None = None
        for room in rooms:
            node = room.node
            if group.devices_per_task and (
                node.accelerator_type is None
                or (type_ or node.accelerator_type) != node.accelerator_type
                or (group.accelerator_types and node.accelerator_type not in group.accelerator_types)
            ):
                continue
            if group.device_share is not None:
                device = take_part(room, group, group.device_share.compute_milli)
                if device is None:
                    continue
                placements.append(TaskPlacement(group.name, node.name, 1, (device,), (group.device_share,)))
                left = 0
                break
            tasks = min(left, tasks_that_fit(room, group))
            if spread and left > 1:
                tasks = min(tasks, (left + 1) // 2)
            if tasks == 0:
                continue
            type_ = node.accelerator_type
            count = tasks * group.devices_per_task
            devices, room.devices = room.devices[:count], room.devices[count:]
            room.count -= count
            room.cpu_milli -= tasks * group.resources_per_task.cpu_milli
            room.memory_bytes -= tasks * group.resources_per_task.memory_bytes
            taken.append((room, count, devices, group, tasks))
            placements.append(TaskPlacement(group.name, node.name, tasks, tuple(sorted(devices))))
            left -= tasks
            if left == 0:
                break
        if left:
            for room, count, devices, held, tasks in taken:
                room.devices = sorted([*room.devices, *devices])
                room.count += count
                room.cpu_milli += tasks * held.resources_per_task.cpu_milli
                room.memory_bytes += tasks * held.resources_per_task.memory_bytes
            return None
    mishap = d.one(("none",) * 24 + ("gone", "device", "short"))
    if mishap == "gone":
        placements[-1] = replace(placements[-1], node="gone-0")
    elif mishap == "device" and placements[-1].devices:
        broken = next((room.node for room in rooms if room.node.name == placements[-1].node), None)
        if broken is not None and broken.unhealthy_devices:
            devices_ = (*placements[-1].devices[1:], min(broken.unhealthy_devices))
            placements[-1] = replace(placements[-1], devices=tuple(sorted(devices_)))
    elif mishap == "short" and len(placements) > 1:
        placements.pop()
    return Running(
        tuple(placements),
        started_at=d.one((NOW - 60.0, NOW - 600.0, NOW, None)),
        checkpoint_age_seconds=d.one((0.0, 0.0, 0.0, 30.0, 300.0, None)),
        next_safe_point=NOW + d.one((30.0, -30.0)) if d.chance(6) else None,
        minimum_run_until=NOW + d.one((600.0, 0.0)) if d.chance(6) else None,
        stopping=d.chance(4),
    )
