"""Which of some nodes take copies of a block: compiled loops over exact node state.

All take ``free``, shape (nodes of the cluster, dimensions), which they change, the ``nodes`` to choose from,
ascending, the ``demand`` of one copy, the ``count`` of copies that is wanted, and the ``most`` that one node
may take. They return the nodes chosen, in the order of choice, and the copies on each; fewer than ``count``
in all where there is no more room.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gangplan.model.compiled import compiled
from gangplan.model.packing.ranking import Rankings, best_node, catch_up, fits, less, rank_again
from gangplan.model.program import BoolArray, IntArray

_ANY = np.iinfo(np.int64).max
_ROOM = 1_024
"""Placements that are made room for at first."""


class SingleBlocks(NamedTuple):
    """Options that are one block on one node, and the quotas that they count under.

    Attributes:
        option, class_of: shape (options,), distinct option and class of each.
        block_of: shape (distinct,), the block; -1 where the option is none of one block on one node.
        demand: shape (blocks, 3).
        node_start, node: by block: nodes that could take it when empty, ascending (CSR).
        queue_of: shape (classes,); -1 without a queue.
        chain_start, chain: by queue: itself and the queues above (CSR).
        devices: shape (distinct, types + 1), devices by type, and in all in the last column.
    """

    option: IntArray
    class_of: IntArray
    block_of: IntArray
    demand: IntArray
    node_start: IntArray
    node: IntArray
    queue_of: IntArray
    chain_start: IntArray
    chain: IntArray
    devices: IntArray


class Crowd(NamedTuple):
    """Who is still to be placed.

    Attributes:
        left: shape (classes,), jobs of each.
        open: shape (distinct,), whether the option may still find room: room only gets less.
    """

    left: IntArray
    open: BoolArray

    @classmethod
    def of(cls, left: IntArray, distinct: int) -> Crowd:
        """A crowd that has not looked for room yet, with so many distinct options."""
        return cls(left, np.ones(distinct, dtype=np.bool_))


@compiled
def copies_on(free: IntArray, nodes: IntArray, demand: IntArray, most: int) -> IntArray:
    """How many copies each of ``nodes`` takes, shape (nodes,)."""
    copies = np.empty(len(nodes), np.int64)
    for i in range(len(nodes)):
        copies[i] = _copies(free[nodes[i]], demand, most)
    return copies


@compiled
def first_on(
    free: IntArray, nodes: IntArray, demand: IntArray, count: int, most: int
) -> tuple[IntArray, IntArray]:
    """The first nodes with room."""
    chosen = np.empty(min(count, len(nodes)), np.int64)
    numbers = np.empty(len(chosen), np.int64)
    found = 0
    for i in range(len(nodes)):
        if count <= 0:
            break
        if not fits(free[nodes[i]], demand):
            continue
        number = min(_copies(free[nodes[i]], demand, most), count)
        if number > 0:
            chosen[found], numbers[found] = nodes[i], number
            found += 1
            count -= number
            free[nodes[i]] -= demand * number
    return chosen[:found], numbers[:found]


@compiled
def best_on(
    free: IntArray, nodes: IntArray, demand: IntArray, count: int, most: int
) -> tuple[IntArray, IntArray]:
    """Nodes with room where the least is free, in the order of the dimensions."""
    if count == 1 and most >= 1:
        return _best_one(free, nodes, demand)
    room = copies_on(free, nodes, demand, most)
    chosen = np.empty(min(count, len(nodes)), np.int64)
    numbers = np.empty(len(chosen), np.int64)
    found = 0
    while count > 0:
        best = -1
        for i in range(len(nodes)):
            if room[i] > 0 and (best < 0 or less(free[nodes[i]], free[nodes[best]])):
                best = i
        if best < 0:
            break
        number = min(room[best], count)
        room[best] = 0
        chosen[found], numbers[found] = nodes[best], number
        found += 1
        count -= number
    for i in range(found):
        free[chosen[i]] -= demand * numbers[i]
    return chosen[:found], numbers[:found]


@compiled
def _best_one(free: IntArray, nodes: IntArray, demand: IntArray) -> tuple[IntArray, IntArray]:
    """The node with room where the least is free, for one copy."""
    best = -1
    for i in range(len(nodes)):
        if (best < 0 or less(free[nodes[i]], free[best])) and fits(free[nodes[i]], demand):
            best = nodes[i]
    found = 1 if best >= 0 else 0
    if found:
        free[best] -= demand
    return np.full(found, best, np.int64), np.ones(found, np.int64)


@compiled
def pack_on(
    free: IntArray, nodes: IntArray, demand: IntArray, count: int, most: int
) -> tuple[IntArray, IntArray]:
    """As few nodes as possible: the largest first, the last on the tightest that takes the rest."""
    room = copies_on(free, nodes, demand, most)
    chosen = np.empty(min(count, len(nodes)), np.int64)
    numbers = np.empty(len(chosen), np.int64)
    found = 0
    while count > 0:
        largest, tightest = -1, -1
        for i in range(len(nodes)):
            if room[i] <= 0:
                continue
            if largest < 0 or room[i] >= room[largest]:
                largest = i
            if room[i] >= count and (tightest < 0 or room[i] < room[tightest]):
                tightest = i
        if largest < 0:
            break
        best = tightest if tightest >= 0 else largest
        number = min(room[best], count)
        room[best] = 0
        chosen[found], numbers[found] = nodes[best], number
        found += 1
        count -= number
    for i in range(found):
        free[chosen[i]] -= demand * numbers[i]
    return chosen[:found], numbers[:found]


@compiled
def place_in_order(
    free: IntArray,
    quota: IntArray,
    blocks: SingleBlocks,
    crowd: Crowd,
    rankings: Rankings,
    changed: IntArray,
    ahead: IntArray,
    at: int,
    best: bool,  # noqa: FBT001
) -> tuple[int, IntArray, IntArray, IntArray]:
    """Place the options ``ahead`` from ``at`` on, up to the next open one that is no single block.

    An option for which no member of its class is left, or whose quotas allow none, is passed over.

    Args:
        free: what is free; changed.
        quota: shape (queues, types + 1), what each queue may still take; changed.
        blocks: what the options are.
        crowd: who is left; changed.
        rankings: of the nodes, for the same ``best``; changed.
        changed: nodes that others have changed since the last time.
        ahead: positions of options.
        at: first of them.
        best: take the node where the least is free, not the first.

    Returns:
        The position that was reached; options, nodes and members placed, in order.
    """
    options = np.empty(_ROOM, np.int64)
    places, numbers = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)
    found = 0
    nodes = blocks.node_start, blocks.node, free, blocks.demand
    catch_up(rankings, nodes, changed, best)
    while at < len(ahead):
        k = ahead[at]
        o, c = blocks.option[k], blocks.class_of[k]
        if crowd.left[c] > 0 and crowd.open[o]:
            most = crowd.left[c]
            q = blocks.queue_of[c]
            begin = blocks.chain_start[q] if q >= 0 else 0
            end = blocks.chain_start[q + 1] if q >= 0 else 0
            for i in range(begin, end):
                for t in range(blocks.devices.shape[1]):
                    if blocks.devices[o, t] > 0:
                        most = min(most, max(0, quota[blocks.chain[i], t]) // blocks.devices[o, t])
            if most <= 0:
                at += 1
                continue
            block = blocks.block_of[o]
            if block < 0:
                break
            if found + crowd.left[c] > len(options):
                longer = 2 * (found + crowd.left[c])
                options, places = _longer(options, longer), _longer(places, longer)
                numbers = _longer(numbers, longer)
            number = 0
            while number < most:
                node = best_node(rankings, nodes, block, best)
                if node < 0:
                    break
                members = min(_copies(free[node], blocks.demand[block], _ANY), most - number)
                free[node] -= blocks.demand[block] * members
                rank_again(rankings, nodes, node, best)
                options[found], places[found], numbers[found] = k, node, members
                number += members
                found += 1
            for i in range(begin, end):
                for t in range(blocks.devices.shape[1]):
                    quota[blocks.chain[i], t] -= blocks.devices[o, t] * number
            crowd.left[c] -= number
            if number < most:
                crowd.open[o] = False
        at += 1
    return at, options[:found], places[:found], numbers[:found]


@compiled
def _longer(some: IntArray, length: int) -> IntArray:
    """``some``, with room for ``length`` in all."""
    longer = np.empty(length, np.int64)
    longer[: len(some)] = some
    return longer


@compiled
def _copies(free: IntArray, demand: IntArray, most: int) -> int:
    for r in range(len(demand)):
        if demand[r] > 0:
            most = min(most, free[r] // demand[r])
    return max(0, most)
