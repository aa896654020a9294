"""From spots to placements: which devices the new tasks get.

Those that the job has now, then those that nobody gives up for it, then the lowest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from gangplan.domain.job import DeviceShare, TaskGroup, TaskPlacement
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.twins import twin_maker

_placement = twin_maker(TaskPlacement)

Places = Mapping[int, tuple[TaskPlacement, ...]]
"""Placements by job index, by group and node."""


class Placements:
    """The placements that assignments of one round mean.

    Attributes:
        present: where every running job is now, forced off or not, and where claims are.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.present: dict[int, tuple[TaskPlacement, ...]] = {
            j: _in_order(job.running.placements)
            for j, job in enumerate(instance.jobs)
            if job.running is not None
        }
        for j, claim in instance.placements.items():
            if j not in self.present:
                self.present[j] = _in_order(claim)
        self._pinned: dict[int, list[tuple[int, TaskPlacement]]] = defaultdict(list)
        for j, placements in self.present.items():
            for placement in placements:
                n = instance.nodes.index.get(placement.node)
                if n is not None and placement.devices:
                    self._pinned[n].append((j, placement))
        self._usable: dict[int, frozenset[int]] = {}
        self._exact: list[bool] = instance.nodes.exact.tolist()
        self._names = [node.name for node in instance.nodes.nodes]

    def after(self, assignment: Assignment) -> Places:
        """Where every job that then runs ends up, with device indices on the nodes that pin them."""
        after = {j: self.present[j] for j in assignment.kept}
        free: dict[int, _Free] = {}
        for placed in assignment.placed.values():
            if placed.device >= 0:
                n = placed.spots[0][0]
                if n not in free:
                    free[n] = self._free_on(n, assignment.kept)
                free[n].keep_from(placed.device)
        for j, placed in sorted(assignment.placed.items()):
            after[j] = self._place(j, placed, assignment.kept, free)
        return after

    def _place(
        self, j: int, placed: Placed, kept: Collection[int], free: dict[int, _Free]
    ) -> tuple[TaskPlacement, ...]:
        groups, spots = self._instance.jobs[j].component.task_groups, placed.spots
        if len(groups) == 1 and len(spots) == 1:
            n, (count,) = spots[0]
            return (self._placement(j, groups[0], n, count, placed.device, kept, free),)
        mine = [
            self._placement(j, group, n, count, placed.device, kept, free)
            for n, tasks in spots
            for group, count in zip(groups, tasks, strict=True)
            if count
        ]
        if len(mine) > 1:
            mine.sort(key=placement_key)
        return tuple(mine)

    def _placement(
        self,
        j: int,
        group: TaskGroup,
        n: int,
        count: int,
        device: int,
        kept: Collection[int],
        free: dict[int, _Free],
    ) -> TaskPlacement:
        """``count`` tasks of a group of job ``j`` on node ``n``; a part is one of ``device``."""
        devices: tuple[int, ...] = ()
        shares: tuple[DeviceShare, ...] = ()
        wanted = count * group.devices_per_task
        if group.device_share is not None:
            devices, shares = (device,), (group.device_share,)
        elif wanted and self._exact[n]:
            here = free.get(n)
            if here is None:
                here = free[n] = self._free_on(n, kept)
            devices = here.take(wanted, self._own(j, n, group.name) if j in self.present else ())
        return _placement(group.name, self._names[n], count, devices, shares)

    def _free_on(self, n: int, kept: Collection[int]) -> _Free:
        if n not in self._usable:
            self._usable[n] = self._instance.nodes.nodes[n].usable_devices
        held: set[int] = set()
        leaving: set[int] = set()
        for j, placement in self._pinned.get(n, ()):
            (held if j in kept else leaving).update(placement.devices)
        return _Free(self._usable[n] - held, leaving)

    def _own(self, j: int, n: int, group: str) -> tuple[int, ...]:
        """The devices that the group has there now."""
        for owner, placement in reversed(self._pinned.get(n, ())):
            if owner == j and placement.group == group:
                return placement.devices
        return ()


class _Free:
    """Free devices of one node.

    Args:
        devices: that nobody who stays holds.
        leaving: those that somebody gives up.
    """

    __slots__ = ("_devices", "_leaving")

    def __init__(self, devices: Collection[int], leaving: set[int]) -> None:
        self._devices, self._leaving = sorted(devices), leaving

    def keep_from(self, device: int) -> None:
        """Leave a device to those who take parts of it."""
        if device in self._devices:
            self._devices.remove(device)

    def take(self, wanted: int, own: tuple[int, ...]) -> tuple[int, ...]:
        if own or self._leaving:
            ranked = sorted(self._devices, key=lambda d: (d not in own, d in self._leaving, d))
            taken = tuple(sorted(ranked[:wanted]))
            self._devices = [device for device in self._devices if device not in taken]
        else:
            taken = tuple(self._devices[:wanted])
            del self._devices[:wanted]
        return taken


def _in_order(placements: tuple[TaskPlacement, ...]) -> tuple[TaskPlacement, ...]:
    return placements if len(placements) == 1 else tuple(sorted(placements, key=placement_key))


def placement_key(placement: TaskPlacement) -> tuple[str, str]:
    """What placements of one job are sorted by."""
    return placement.group, placement.node
