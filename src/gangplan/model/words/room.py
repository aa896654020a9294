"""How many copies of blocks a domain holds, by counting, and what is short where an option does not fit.

Counting is a proof: where too few copies of a block fit node by node, no plan places the option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.instance.options import Block, Option
from gangplan.model.instance.sites import DIMENSIONS, NO_DOMAIN, admits, vector
from gangplan.model.packing.occupancy import Occupancy
from gangplan.model.program import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Shortage:
    """The option that comes closest: ``fitting`` of ``wanted`` copies of a block in one domain.

    A copy is ``tasks`` tasks.
    """

    block: Block
    tasks: int
    fitting: int
    wanted: int
    scope: int

    @property
    def devices(self) -> int:
        """Devices that are short, in parts."""
        return (self.wanted - self.fitting) * self.block.demand[0]


class Room:
    """How many copies of a block the best domain of a scope holds, by counting; each looked up once.

    Args:
        instance: the round as arrays.
        free: shape (nodes, 3), what each node has left.
        able: nodes that take a block at all, shape (nodes,).
        devices: copies of a block, by its number, that the single devices of every node have room for, shape
            (nodes,); None: as many as their sum has.
    """

    def __init__(
        self,
        instance: Instance,
        free: IntArray,
        able: Callable[[Block], BoolArray],
        devices: Callable[[int], IntArray] | None = None,
    ) -> None:
        self._instance, self._free, self._able = instance, free.clip(0), able
        self._devices = devices
        self._most: dict[tuple[int, int], tuple[int, Block]] = {}
        """By identity of the block, which is quicker than by value; the block stays the same one here."""

    def most(self, block: Block, scope: int) -> int:
        """Copies of a block in the best domain of a scope."""
        key = id(block), scope
        known = self._most.get(key)
        if known is None:
            known = self._most[key] = self._best(block, scope, range(len(DIMENSIONS))), block
        return known[0]

    def scarce(self, shortage: Shortage) -> tuple[int, int] | None:
        """The dimension that is short, and by how much in its base unit; None when only all together are."""
        block = shortage.block
        most = {r: self._best(block, shortage.scope, (r,)) for r, amount in enumerate(block.demand) if amount}
        r = min(most, key=most.__getitem__)
        if most[r] >= shortage.wanted:
            return None
        if shortage.wanted == 1:
            largest = int(self._free[self._able(block), r].max(initial=0))
            return r, max(1, block.demand[r] - largest)  # less than nothing where single devices are too full
        return r, (shortage.wanted - shortage.fitting) * block.demand[r]

    def _best(self, block: Block, scope: int, dimensions: Iterable[int]) -> int:
        """Copies in the best domain when only ``dimensions`` count."""
        copies = np.full(len(self._free), 2**31, dtype=np.int64)
        for r in dimensions:
            if block.demand[r]:
                copies = np.minimum(copies, self._free[:, r] // block.demand[r])
                if r == 0 and self._devices is not None:
                    copies = np.minimum(copies, self._devices(self._instance.block_index[block]))
        at = self._instance.nodes.domain_at[:, scope]
        inside = (at != NO_DOMAIN) & self._able(block)
        return int(np.bincount(at[inside], weights=copies[inside]).max(initial=0))


def shortage_of(options: Iterable[Option], room: Room) -> Shortage | None:
    """None when some option fits by counting; else the option that comes closest."""
    closest: Shortage | None = None
    for option in options:
        worst: Shortage | None = None
        for demand in option.demands:
            most = room.most(demand.block, option.scope)
            if most < demand.multiplicity:
                tasks = sum(demand.tasks)
                here = Shortage(demand.block, tasks, most, demand.multiplicity, option.scope)
                if worst is None or here.devices > worst.devices:
                    worst = here
        if worst is None:
            return None
        if closest is None or (worst.devices, -worst.fitting) < (closest.devices, -closest.fitting):
            closest = worst
    return closest


def free_room(occupancy: Occupancy) -> Room:
    """What each open node still takes."""
    instance = occupancy.instance

    def able(block: Block) -> BoolArray:
        found = np.zeros(len(instance.nodes.nodes), dtype=np.bool_)
        found[occupancy.block_nodes(instance.block_index[block])] = True
        return found

    return Room(instance, occupancy.free, able, occupancy.device_copies)


def raw_room(instance: Instance) -> Room:
    """What each node takes when it is empty and in order."""
    passing: dict[int, BoolArray] = {}
    return Room(instance, raw_capacity(instance), lambda block: admitting(instance, block, passing))


def raw_capacity(instance: Instance) -> IntArray:
    """Devices in parts, milli-CPUs and bytes of each node in order, shape (nodes, 3)."""
    return np.array(
        [vector(n.resources, n.device_count * instance.nodes.parts) for n in instance.nodes.nodes],
        dtype=np.int64,
    ).reshape(len(instance.nodes.nodes), 3)


def admitting(instance: Instance, block: Block, passing: dict[int, BoolArray] | None = None) -> BoolArray:
    """Nodes that pass a block's filters, types and size, in order or not, shape (nodes,).

    ``passing`` remembers which nodes pass a filter.
    """
    passing = {} if passing is None else passing
    able = np.ones(len(instance.nodes.nodes), dtype=np.bool_)
    if block.types:
        able &= np.isin(instance.nodes.type_of, block.types)
    if block.built_in:
        able &= instance.nodes.built_in == block.built_in
    if block.demand[0] % instance.nodes.parts:
        able &= instance.nodes.exact
    for f in block.filters:
        if f not in passing:
            group = instance.filters[f]
            passing[f] = np.array([admits(node, group) for node in instance.nodes.nodes], dtype=np.bool_)
        able &= passing[f]
    return able
