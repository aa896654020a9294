"""Exact node state while a decision is built: what is free on every node, and in every quota."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial

import numpy as np

from gangplan.model.instance.instance import Instance, JobClass
from gangplan.model.instance.options import Option
from gangplan.model.instance.sites import task_vector
from gangplan.model.packing.assignment import Placed, Spot
from gangplan.model.packing.choose import (
    Crowd,
    SingleBlocks,
    best_on,
    copies_on,
    first_on,
    pack_on,
    place_in_order,
)
from gangplan.model.packing.quotas import Quotas, option_devices
from gangplan.model.packing.ranking import Rankings
from gangplan.model.packing.rooms import Rooms
from gangplan.model.packing.shared_devices import SharedDevices, with_whole
from gangplan.model.program import IntArray
from gangplan.twins import twin_maker

Taken = list[tuple[int, int]]
"""Node indices and how many copies of a block each got."""
Single = tuple[int, int, int]
"""Position of an option that is one block on one node, the node, and how many of the class start there."""

_placed = twin_maker(Placed)
_ANY = int(np.iinfo(np.int64).max)


class Fit(Enum):
    """Which node to prefer.

    Where anybody asks for a part of a device, single blocks go where the least is lost to others instead.
    """

    FIRST = "FIRST"
    """In order of names."""
    BEST = "BEST"
    """Where the least stays free; several blocks of a gang on as few nodes as possible."""


class Occupancy:
    """Free capacity beside jobs that stay, and what the quotas still allow."""

    def __init__(self, instance: Instance, kept_classes: Iterable[int]) -> None:
        self.instance = instance
        parts = instance.nodes.parts
        self._demand: IntArray = np.array(
            [with_whole(block.demand, parts) for block in instance.blocks], dtype=np.int64
        )
        capacity = instance.nodes.capacity
        self.free: IntArray = capacity.copy() if parts == 1 else np.column_stack([capacity, capacity[:, 0]])
        self._shared = None if parts == 1 else SharedDevices(instance, self.free)
        self._part_of: dict[tuple[int, int], list[int]] = {}
        self._block_nodes: dict[int, IntArray] = {}
        self._blocks: SingleBlocks | None = None
        self._rankings: tuple[Fit, Rankings] | None = None
        self._changed: list[int] = []
        self._ranked = 0
        self._rooms: dict[tuple[int, int], Rooms] = {}
        self._queues = Quotas(instance)
        staying = np.zeros(len(instance.classes), dtype=np.bool_)
        staying[list(kept_classes)] = True
        keeps = instance.keeps
        held = staying[keeps.class_of]
        np.subtract.at(self.free[:, :3], keeps.node[held], keeps.amounts[held])
        if self._shared is not None:
            counted = held & ~instance.nodes.exact[keeps.node]
            np.subtract.at(self.free[:, 3], keeps.node[counted], keeps.amounts[counted, 0])
            for c in np.flatnonzero(staying).tolist():
                self._shared.stay(instance.classes[c].jobs[0])
        self._queues.take_all_kept(np.flatnonzero(staying))

    def stay(self, c: int) -> None:
        """Let the running class ``c`` hold its present place."""
        self._changed += self.instance.keep_use[c]
        for node, amounts in self.instance.keep_use[c].items():
            self.free[node, :3] -= amounts
            if self._shared is not None and not self.instance.nodes.exact[node]:
                self.free[node, 3] -= amounts[0]
        if self._shared is not None:
            self._shared.stay(self.instance.classes[c].jobs[0])
        self._queues.take_kept(c)

    def leave(self, c: int) -> None:
        """Undo :meth:`stay`: the present place of the running class ``c`` is free."""
        self._changed += self.instance.keep_use[c]
        for node, amounts in self.instance.keep_use[c].items():
            self.free[node, :3] += amounts
            if self._shared is not None and not self.instance.nodes.exact[node]:
                self.free[node, 3] += amounts[0]
        if self._shared is not None:
            self._shared.leave(self.instance.classes[c].jobs[0])
        self._queues.give_kept(c)

    def place_single(self, ahead: IntArray, at: int, crowd: Crowd, fit: Fit) -> tuple[int, list[Single]]:
        """Place the options ``ahead`` from position ``at`` on, up to the next that is no single block.

        Args:
            ahead: positions of options in the order in which they are tried.
            at: where to go on.
            crowd: who is left, and which options found room so far; changed.
            fit: which of the nodes with room.

        Returns:
            The position that was reached, and what was placed in order.
        """
        if self._blocks is None:
            self._blocks = single_blocks(self)
        if self._rankings is None or self._rankings[0] is not fit:
            self._rankings = fit, Rankings.of(self._blocks.node_start, self._blocks.node, self.free)
            self._ranked = len(self._changed)
        changed = np.array(sorted(set(self._changed[self._ranked :])), dtype=np.int64)
        room, best = (self.free, self._queues.left), fit is Fit.BEST
        end, options, places, numbers = place_in_order(
            *room, self._blocks, crowd, self._rankings[1], changed, ahead, at, best
        )
        there = places.tolist()
        self._changed += there
        self._ranked = len(self._changed)
        return end, list(zip(options.tolist(), there, numbers.tolist(), strict=True))

    def note(self, nodes: Iterable[int]) -> None:
        """Take note of nodes where somebody has changed ``free`` from outside."""
        self._changed += nodes

    def take_placed(self, j: int, placed: Placed, count: int = 1) -> Placed:
        """Let job ``j`` hold a new place; with a ``count`` of -1, give it up again.

        Returns:
            The place; its part of a device is of another one there where that has no room.
        """
        instance = self.instance
        option = instance.option_at(placed.option)
        self.take_quota(instance.classes[int(instance.class_of_job[j])], option, count)
        parts = instance.nodes.parts
        groups = instance.jobs[j].component.task_groups
        for node, tasks in placed.spots:
            self._changed.append(node)
            for group, number in zip(groups, tasks, strict=True):
                demand = np.array(with_whole(task_vector(group, parts), parts), dtype=np.int64)
                if self._shared is None or group.device_share is None:
                    self.free[node] -= demand * (number * count)
                elif count > 0:
                    _, device = self._shared.take_at(node, placed.device, demand)
                    placed = replace(placed, device=device)
                elif placed.device >= 0:
                    self.free[node] += demand
                    self._shared.give_back(node, placed.device, int(demand[0]))
        return placed

    def placed(self, k: int, spots: tuple[Spot, ...]) -> Placed:
        """A new place under option ``k`` on spots that were taken, with the device that its part is of."""
        if self._shared is not None:
            block = self.instance.block_index[self.instance.option_at(k).demands[0].block]
            if self.is_part(block):
                return _placed(k, spots, self._part_of[spots[0][0], block].pop())
        return _placed(k, spots, -1)

    def return_part(self, k: int, placed: Placed) -> None:
        """Remember the device of a part again that :meth:`placed` has told, so that it can be given back."""
        block = self.instance.block_index[self.instance.option_at(k).demands[0].block]
        self._part_of.setdefault((placed.spots[0][0], block), []).append(placed.device)

    def is_part(self, block: int) -> bool:
        """Whether ``block`` is a part of a device."""
        return bool(self._demand[block, 0] % self.instance.nodes.parts)

    def take_growth(self, j: int, placed: Placed) -> None:
        """Charge the quotas with what running job ``j`` would hold beyond what it holds now."""
        c = int(self.instance.class_of_job[j])
        option = self.instance.option_at(placed.option)
        if option.devices > self.instance.keeps.devices[c, -1]:
            self._queues.give_kept(c)
            self.take_quota(self.instance.classes[c], option, 1)

    def can_stay(self, c: int) -> bool:
        """Whether the present place of class ``c`` is free, and its quotas allow it."""
        instance = self.instance
        free = all((self.free[n, :3] >= amounts).all() for n, amounts in instance.keep_use[c].items())
        if free and self._shared is not None:
            for n, amounts in instance.keep_use[c].items():
                needed = with_whole(amounts, instance.nodes.parts)[3]
                free &= bool(self.free[n, 3] >= needed)
            free &= self._shared.can_stay(instance.classes[c].jobs[0])
        return free and self._queues.kept_allowed(c)

    def block_nodes(self, block: int) -> IntArray:
        """Open nodes that could take ``block`` when empty, ascending."""
        if block not in self._block_nodes:
            pools = np.flatnonzero(self.instance.block_pools[block])
            members = [self.instance.pools.members[p] for p in pools]
            self._block_nodes[block] = (
                np.sort(np.concatenate(members)) if members else np.zeros(0, dtype=np.int64)
            )
        return self._block_nodes[block]

    def copies(self, block: int, nodes: IntArray) -> IntArray:
        """How many more copies of ``block`` each of ``nodes`` takes, shape (nodes,)."""
        found = copies_on(self.free, nodes, self._demand[block], _ANY)
        if self._shared is not None and self.is_part(block):
            found = np.minimum(found, self._shared.copies(nodes, int(self._demand[block, 0])))
        return found

    def device_copies(self, block: int) -> IntArray:
        """How many copies of ``block`` the single devices of every node have room for, shape (nodes,)."""
        demand = self._demand[block]
        if self._shared is None or not demand[0]:
            return np.full(len(self.free), _ANY)
        if self.is_part(block):
            return self._shared.copies(np.arange(len(self.free)), int(demand[0]))
        whole: IntArray = self.free[:, 3].clip(0) // demand[3]
        return whole

    def take(
        self, block: int, count: int, nodes: IntArray, fit: Fit, *, together: bool, most: int | None = None
    ) -> Taken:
        """Take up to ``count`` copies of ``block`` on ``nodes``.

        ``together`` packs them on few nodes; ``most`` limits what one node takes of them.
        """
        if self._shared is not None and (self.is_part(block) or not together):
            return self._take_singly(block, count, nodes, _ANY if most is None else most)
        limit = _ANY if most is None else most
        pack = together and fit is Fit.BEST
        choose = pack_on if pack else best_on if fit is Fit.BEST else first_on
        places, numbers = choose(self.free, nodes, self._demand[block], count, limit)
        there = places.tolist()
        self._changed += there
        return list(zip(there, numbers.tolist(), strict=True))

    def _take_singly(self, block: int, count: int, nodes: IntArray, most: int) -> Taken:
        """Take up to ``count`` copies one by one; :meth:`placed` tells of which devices parts are."""
        assert self._shared is not None
        taken: dict[int, int] = {}
        for _ in range(count):
            node, device = self._shared.take(nodes, self._demand[block])
            if node < 0:
                break
            if device >= 0:
                self._part_of.setdefault((node, block), []).append(device)
            taken[node] = taken.get(node, 0) + 1
            if taken[node] >= most:
                nodes = nodes[nodes != node]
        return list(taken.items())

    def give_back(self, block: int, taken: Taken) -> None:
        """Undo :meth:`take`."""
        for node, number in taken:
            self._changed.append(node)
            self.free[node] += self._demand[block] * number
            if self._shared is not None and self.is_part(block):
                for _ in range(number):
                    device = self._part_of[node, block].pop()
                    self._shared.give_back(node, device, int(self._demand[block, 0]))

    def members_allowed(self, job_class: JobClass, option: Option) -> int:
        """How many more gangs of ``option`` the quotas allow."""
        return self._queues.allowed(job_class, option)

    def quota_shortfall(self, job_class: JobClass, option: Option) -> tuple[int, str]:
        """Devices that ``option`` is short of under the tightest limit, and the queue that has it."""
        return self._queues.shortfall(job_class, option)

    def broken_queues(self) -> frozenset[int]:
        """Queues that hold more than they may."""
        return self._queues.broken()

    def take_quota(self, job_class: JobClass, option: Option, count: int) -> None:
        """Charge ``count`` gangs (negative: give back) to the class's queue and its ancestors."""
        self._queues.take(job_class, option, count)

    def domains(self, scope: int, block: int, multiplicity: int) -> Iterator[IntArray]:
        """Node sets at ``scope`` where ``multiplicity`` copies may fit, tightest first."""
        if scope == 0:
            yield self.block_nodes(block)
            return
        rooms = self._rooms_of(block, scope)
        for domain in rooms.enough(multiplicity):
            yield rooms.within(domain)

    def nodes_within(self, block: int, scope: int, domain: int) -> IntArray:
        """The nodes of :meth:`block_nodes` in a domain at ``scope``, ascending."""
        return self._rooms_of(block, scope).within(domain) if scope else self.block_nodes(block)

    def _rooms_of(self, block: int, scope: int) -> Rooms:
        """The room for ``block`` in the domains at ``scope`` as it is now."""
        copies = partial(self.copies, block)
        rooms = self._rooms.get((block, scope))
        if rooms is None or self._shared is not None:  # parts of devices change in more ways than are noted
            nodes, at = self.block_nodes(block), self.instance.nodes.domain_at[:, scope]
            rooms = self._rooms[block, scope] = Rooms(nodes, at, copies, len(self._changed))
        else:
            rooms.look(self._changed, copies)
        return rooms


def single_blocks(occupancy: Occupancy) -> SingleBlocks:
    """The options that are one block on one node, as a compiled loop reads them."""
    instance, parts = occupancy.instance, occupancy.instance.nodes.parts
    block_of = [
        instance.block_index[option.demands[0].block] if option.is_single and parts == 1 else -1
        for option in instance.distinct
    ]
    wide = 3 if parts == 1 else 4
    nodes = [occupancy.block_nodes(block) for block in range(len(instance.blocks))]
    chains = instance.limits.ancestors
    return SingleBlocks(
        option=instance.option,
        class_of=instance.option_class,
        block_of=np.array(block_of, dtype=np.int64),
        demand=np.array(
            [with_whole(block.demand, parts) for block in instance.blocks], dtype=np.int64
        ).reshape(-1, wide),
        node_start=np.cumsum([0, *(len(some) for some in nodes)]),
        node=np.concatenate([np.zeros(0, dtype=np.int64), *nodes]),
        queue_of=instance.queue,
        chain_start=np.cumsum([0, *(len(chain) for chain in chains)]),
        chain=np.array([queue for chain in chains for queue in chain], dtype=np.int64),
        devices=option_devices(instance),
    )


def spots_of(parts: Sequence[tuple[tuple[int, ...], Taken]]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Merge blocks on the same node: ``(tasks per copy, taken)`` by demand -> spots by node."""
    merged: dict[int, list[int]] = {}
    for tasks, taken in parts:
        for node, number in taken:
            here = merged.setdefault(node, [0] * len(tasks))
            for g, count in enumerate(tasks):
                here[g] += count * number
    return tuple((node, tuple(counts)) for node, counts in sorted(merged.items()))
