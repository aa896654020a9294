"""Devices of which tasks take parts: what is free of each, and which one a part comes from.

Whole devices are only counted until placements name them; a part is on a device from the start. So the last
column of what is free on a node counts its devices that nobody holds a part of, and a part that opens one
takes it out of there.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.instance.sites import Vector, pins_devices
from gangplan.model.packing.fragments import Kinds, kinds_of, least_lost
from gangplan.model.program import BoolArray, IntArray

_WHOLE = 3
"""Column of what is free: device parts of devices that nobody holds a part of."""
_UNUSABLE = -(2**40)
"""What is left of a device that is none, or may not be used."""


def with_whole(amounts: Vector, parts: int) -> tuple[int, ...]:
    """What one job takes of a node, and in the last place how much of that are whole devices.

    Nothing is added where nobody shares (``parts`` is 1).
    """
    if parts == 1:
        return amounts
    return (*amounts, amounts[0] if amounts[0] % parts == 0 else 0)


class SharedDevices:
    """What is free of every device.

    Args:
        instance: the round as arrays.
        free: shape (nodes, 4), what is free on every node beside the jobs that stay; its last column is set
            here, and both change together.
    """

    def __init__(self, instance: Instance, free: IntArray) -> None:
        self._instance, self._free, self._parts = instance, free, instance.nodes.parts
        nodes = instance.nodes
        most = int(nodes.built_in.max(initial=0))
        self._left: IntArray = np.full((len(nodes.nodes), most), _UNUSABLE, dtype=np.int64)
        self._kinds: Kinds | None = None
        self._held: BoolArray = np.zeros((len(nodes.nodes), most), dtype=np.bool_)
        for n, node in enumerate(nodes.nodes):
            if pins_devices(node):
                self._left[n, list(node.usable_devices)] = self._parts
                free[n, _WHOLE] = self._parts * node.usable_device_count
        for placements in instance.placements.values():
            for placement in placements:
                self._held[nodes.index[placement.node], list(placement.devices)] = True

    def can_stay(self, j: int) -> bool:
        """Whether nobody took the devices of running job ``j``, or too much of the one it has a part of."""
        return all(
            self._left[n, d] >= amount and (self._left[n, d] < self._parts or self._free[n, _WHOLE] > 0)
            for n, d, amount in self._present(j)
        )

    def stay(self, j: int) -> None:
        """Let running job ``j`` hold its devices."""
        for n, d, amount in self._present(j):
            self._take(n, d, amount)

    def leave(self, j: int) -> None:
        """Undo :meth:`stay`."""
        for n, d, amount in self._present(j):
            self.give_back(n, d, amount)

    def _present(self, j: int) -> list[tuple[int, int, int]]:
        """Node, device and parts of everything that running job ``j`` holds of devices with an index."""
        groups = {group.name: group for group in self._instance.jobs[j].component.task_groups}
        found = []
        for placement in self._instance.placements[j]:
            share = groups[placement.group].device_share
            each = self._parts if share is None else share.compute_milli * self._parts // 1000
            n = self._instance.nodes.index[placement.node]
            found += [(n, d, each) for d in placement.devices]
        return found

    def _take(self, n: int, d: int, amount: int) -> None:
        if self._left[n, d] == self._parts:
            self._free[n, _WHOLE] -= self._parts
        self._left[n, d] -= amount

    def give_back(self, n: int, d: int, amount: int) -> None:
        """Give a part of a device back; a device of which nobody holds any is a whole one again."""
        self._left[n, d] += amount
        if self._left[n, d] == self._parts:
            self._free[n, _WHOLE] += self._parts

    def copies(self, nodes: IntArray, amount: int) -> IntArray:
        """How many parts of ``amount`` the devices of each of ``nodes`` have room for, shape (nodes,)."""
        left = self._left[nodes]
        opened = np.where(left < self._parts, left.clip(0) // amount, 0).sum(axis=1)
        whole = self._free[nodes, _WHOLE].clip(0) // self._parts
        found: IntArray = opened + whole * (self._parts // amount)
        return found

    def take(self, nodes: IntArray, demand: IntArray) -> tuple[int, int]:
        """Take one task on one of ``nodes``: where the least is lost to others (``fragments``).

        Args:
            nodes: ascending.
            demand: shape (4,), of one task.

        Returns:
            Node, and device of its part; (-1, -1) where there is no room.
        """
        if self._kinds is None:
            self._kinds = kinds_of(self._instance)
        type_of = self._instance.nodes.type_of
        n, d = least_lost(
            self._free, self._left, self._held, type_of, self._kinds, nodes, demand, self._parts
        )
        if n >= 0:
            self._free[n] -= demand
            if d >= 0:
                self._take(n, d, int(demand[0]))
        return n, d

    def take_at(self, n: int, d: int, demand: IntArray) -> tuple[int, int]:
        """Take a part of device ``d`` of node ``n``, or where that has no room, of another one there."""
        fits = d >= 0 and (self._free[n] >= demand).all() and self._left[n, d] >= demand[0]
        if fits and (self._left[n, d] < self._parts or self._free[n, _WHOLE] > 0):
            self._free[n] -= demand
            self._take(n, d, int(demand[0]))
            return n, d
        return self.take(np.array([n]), demand)
