"""Which of some nodes take copies of a block: compiled loops over exact node state.

All take ``free``, shape (nodes of the cluster, dimensions), which they change, the ``nodes`` to choose from,
ascending, the ``demand`` of one copy, the ``count`` of copies that is wanted, and the ``most`` that one node
may take. They return the nodes chosen, in the order of choice, and the copies on each; fewer than ``count``
in all where there is no more room.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.compiled import compiled
from gangplan.model.program import IntArray


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
    room = copies_on(free, nodes, demand, most)
    chosen = np.empty(min(count, len(nodes)), np.int64)
    numbers = np.empty(len(chosen), np.int64)
    found = 0
    while count > 0:
        best = -1
        for i in range(len(nodes)):
            if room[i] > 0 and (best < 0 or _less(free[nodes[i]], free[nodes[best]])):
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
def _copies(free: IntArray, demand: IntArray, most: int) -> int:
    for r in range(len(demand)):
        if demand[r] > 0:
            most = min(most, free[r] // demand[r])
    return max(0, most)


@compiled
def _less(one: IntArray, other: IntArray) -> bool:
    for r in range(len(one)):
        if one[r] != other[r]:
            return bool(one[r] < other[r])
    return False
