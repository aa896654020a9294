"""What jobs refer to, and what is left free while running ones are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gangplan.domain.cluster import AcceleratorType, DeviceReporting, Node
from gangplan.domain.job import WHOLE_DEVICE, TaskGroup, ThroughputProfile
from gangplan.domain.queue import Queue
from gangplan.domain.topology import Topology


@dataclass(slots=True)
class Room:
    """What is free on a node while running jobs are drawn."""

    node: Node
    devices: list[int]
    count: int
    cpu_milli: int
    memory_bytes: int
    opened: dict[int, int] = field(default_factory=dict)
    """Thousandths that are left of devices of which parts are taken."""


@dataclass(slots=True)
class World:
    """What jobs refer to."""

    mood: str
    types: Sequence[AcceleratorType]
    topology: Topology
    queues: Sequence[Queue]
    profiles: Sequence[ThroughputProfile]
    counts: Sequence[int] = ()
    most: int = 0
    rooms: list[Room] = field(default_factory=list)
    parts: bool = False
    interactive: bool = False


def take_part(room: Room, group: TaskGroup, milli: int) -> int | None:
    """Take a part of a device where there is room; which one."""
    need = group.resources_per_task
    if room.node.device_reporting is not DeviceReporting.EXACT:
        return None
    if need.cpu_milli > room.cpu_milli or need.memory_bytes > room.memory_bytes:
        return None
    device = next((opened for opened, left in sorted(room.opened.items()) if left >= milli), None)
    if device is None:
        if not room.devices:
            return None
        device = room.devices.pop(0)
        room.count -= 1
        room.opened[device] = WHOLE_DEVICE
    room.opened[device] -= milli
    room.cpu_milli -= need.cpu_milli
    room.memory_bytes -= need.memory_bytes
    return device


def tasks_that_fit(room: Room, group: TaskGroup) -> int:
    """Tasks of a group that a node has room for."""
    amounts = [
        (room.count, group.devices_per_task),
        (room.cpu_milli, group.resources_per_task.cpu_milli),
        (room.memory_bytes, group.resources_per_task.memory_bytes),
    ]
    return min((left // each for left, each in amounts if each), default=0)
