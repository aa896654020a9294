"""Who holds what on every node once a plan is applied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from gangplan.domain.cluster import DeviceReporting, Node, Resources
from gangplan.domain.job import WHOLE_DEVICE, Job, TaskPlacement
from gangplan.domain.plan import Plan
from gangplan.domain.round import Round


class Vacancy(Enum):
    """A device that no job of ours holds."""

    FREE = "free"
    OUT_OF_ORDER = "out of order"
    OTHERS = "used by others"


Holder = str | Vacancy
"""A job's name, or why no job holds the device."""


@dataclass(frozen=True, slots=True)
class NodeOccupancy:
    """One node after the plan.

    Attributes:
        node: the node.
        devices: holder of each built-in device, in index order; on a COUNT_ONLY node in an order of our own.
        cpu_tasks: tasks without devices, by job.
        used: CPU and memory that our jobs and others hold.
    """

    node: Node
    devices: tuple[Holder, ...]
    cpu_tasks: Mapping[str, int]
    used: Resources

    @property
    def free_devices(self) -> int:
        """Devices that are healthy and held by nobody."""
        return sum(1 for holder in self.devices if holder is Vacancy.FREE)

    @property
    def jobs(self) -> tuple[str, ...]:
        """Jobs that run here, in the order of the devices, then those without devices."""
        names = dict.fromkeys(holder for holder in self.devices if isinstance(holder, str))
        return tuple(dict.fromkeys((*names, *self.cpu_tasks)))


def placements_after(round_: Round, plan: Plan) -> dict[str, tuple[TaskPlacement, ...]]:
    """Placements by job once every action of the plan is done; jobs that do not run are left out."""
    after = {job.name: job.running.placements for job in round_.jobs if job.running is not None}
    for action in plan.actions:
        if action.placements:
            after[action.job] = action.placements
        else:
            after.pop(action.job, None)
    return after


def placements_before(round_: Round) -> dict[str, tuple[TaskPlacement, ...]]:
    """Placements by job as the round reports them."""
    return {job.name: job.running.placements for job in round_.jobs if job.running is not None}


def occupancy(round_: Round, placements: Mapping[str, Iterable[TaskPlacement]]) -> tuple[NodeOccupancy, ...]:
    """Every node of the round, in its order, with those placements on it.

    Placements on nodes that are not in the cluster are left out: they hold nothing.
    """
    jobs = {job.name: job for job in round_.jobs}
    by_node: dict[str, list[tuple[Job, TaskPlacement]]] = {}
    for name, places in placements.items():
        for place in places:
            by_node.setdefault(place.node, []).append((jobs[name], place))
    return tuple(_on_node(node, by_node.get(node.name, [])) for node in round_.cluster.nodes)


def devices_held(job: Job, placements: Iterable[TaskPlacement]) -> float:
    """Devices that a job's placements hold; a part of one counts as that part."""
    per_task = {group.name: group.device_milli for group in job.component.task_groups}
    return sum(place.tasks * per_task.get(place.group, 0) for place in placements) / WHOLE_DEVICE


def _on_node(node: Node, here: list[tuple[Job, TaskPlacement]]) -> NodeOccupancy:
    used = node.used_by_others.resources
    cpu_tasks: dict[str, int] = {}
    holders: list[tuple[str, TaskPlacement, int]] = []
    for job, place in here:
        group = next((g for g in job.component.task_groups if g.name == place.group), None)
        if group is None:
            continue
        used += group.resources_per_task * place.tasks
        if group.devices_per_task:
            holders.append((job.name, place, place.tasks * group.devices_per_task))
        else:
            cpu_tasks[job.name] = cpu_tasks.get(job.name, 0) + place.tasks
    devices: list[Holder] = [Vacancy.FREE] * node.device_count
    if node.device_reporting is DeviceReporting.EXACT:
        for index in node.unhealthy_devices:
            devices[index] = Vacancy.OUT_OF_ORDER
        for index in node.used_by_others.devices:
            devices[index] = Vacancy.OTHERS
        for name, place, _ in holders:
            for index in place.devices:
                if index < len(devices):
                    devices[index] = name
    else:
        filled: list[Holder] = [
            name for name, _, count in sorted(holders, key=_by_name) for _ in range(count)
        ]
        filled += [Vacancy.OTHERS] * node.used_by_others.device_count
        room = max(0, node.device_count - len(filled))
        broken = min(node.unhealthy_device_count, room)
        filled += [Vacancy.FREE] * (room - broken) + [Vacancy.OUT_OF_ORDER] * broken
        devices = filled[: node.device_count]
    return NodeOccupancy(node, tuple(devices), cpu_tasks, used)


def _by_name(holder: tuple[str, TaskPlacement, int]) -> str:
    return holder[0]
