"""Which node comes first for a block: tournaments over the nodes that could take it.

A tournament is a complete binary tree whose leaves are the block's nodes in ascending order. A leaf holds its
node while that has room, and every place above the better of the two below: the node where less is free, or
the first one. So the best node stands at the root, and when a node has changed only the places above it are
played again: looking for room costs the logarithm of the nodes, and not their number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gangplan.model.compiled import compiled
from gangplan.model.program import BoolArray, IntArray

_NOBODY = -1


Nodes = tuple[IntArray, IntArray, IntArray, IntArray]
"""By block, the nodes that could take it when empty, ascending: begins, shape (blocks + 1,), and nodes (CSR);
what is free, shape (nodes, dimensions); and what one copy takes, shape (blocks, dimensions)."""


class Rankings(NamedTuple):
    """The tournaments of all blocks.

    Attributes:
        width: shape (blocks,), leaves, a power of two.
        start: shape (blocks,), where the block's tree begins; its root is at ``start + 1``.
        tree: the trees one after another; :data:`_NOBODY` where no node has room.
        leaf: shape (nodes, blocks), which leaf of a block's tree the node is at; :data:`_NOBODY`: at none.
        held: shape (blocks,), whether the block's tournament was held: it is when it is first asked for.
        seen: shape (nodes, dimensions), what was free when the trees were last right.
        played: shape (1,), pairs compared so far.
    """

    width: IntArray
    start: IntArray
    tree: IntArray
    leaf: IntArray
    held: BoolArray
    seen: IntArray
    played: IntArray

    @classmethod
    def of(cls, node_start: IntArray, node: IntArray, free: IntArray) -> Rankings:
        """No tournament yet; block b has nodes from ``node_start[b]`` up to ``node_start[b + 1]``."""
        nodes = np.diff(node_start)
        width = 2 ** np.ceil(np.log2(np.maximum(nodes, 1))).astype(np.int64)
        start = np.cumsum(2 * width) - 2 * width
        tree = np.empty(2 * int(width.sum()), dtype=np.int64)
        leaf = np.full((len(free), len(nodes)), _NOBODY, dtype=np.int64)
        leaf[node, np.repeat(np.arange(len(nodes)), nodes)] = np.arange(len(node)) - np.repeat(
            node_start[:-1], nodes
        )
        held = np.zeros(len(width), dtype=np.bool_)
        return cls(width, start, tree, leaf, held, free.copy(), np.zeros(1, dtype=np.int64))


@compiled
def best_node(rankings: Rankings, nodes: Nodes, block: int, least: bool) -> int:  # noqa: FBT001
    """The node for one copy of ``block``: where the least is free, or the first; -1 when none has room."""
    if not rankings.held[block]:
        _hold(rankings, nodes, block, least)
    return int(rankings.tree[rankings.start[block] + 1])


@compiled
def _hold(rankings: Rankings, nodes: Nodes, block: int, least: bool) -> None:  # noqa: FBT001
    node_start, node, free, demand = nodes
    rankings.held[block] = True
    width, root = rankings.width[block], rankings.start[block]
    begin, count = node_start[block], node_start[block + 1] - node_start[block]
    for i in range(width):
        leaf = _NOBODY
        if i < count and fits(free[node[begin + i]], demand[block]):
            leaf = node[begin + i]
        rankings.tree[root + width + i] = leaf
    for place in range(width - 1, 0, -1):
        _play(rankings, root, place, free, least)


@compiled
def catch_up(rankings: Rankings, nodes: Nodes, changed: IntArray, least: bool) -> None:  # noqa: FBT001
    """Play again for the nodes that others may have changed."""
    free = nodes[2]
    for n in changed:
        for r in range(free.shape[1]):
            if free[n, r] != rankings.seen[n, r]:
                rank_again(rankings, nodes, n, least)
                break


@compiled
def rank_again(rankings: Rankings, nodes: Nodes, changed: int, least: bool) -> None:  # noqa: FBT001
    """Play again, in all tournaments that were held, what the node ``changed`` is in.

    No further up than to a place that somebody else holds, as before: nothing above it hangs on the node.
    """
    _, _, free, demand = nodes
    rankings.seen[changed] = free[changed]
    for block in range(len(rankings.held)):
        if not rankings.held[block]:
            continue
        at = rankings.leaf[changed, block]
        if at < 0:
            continue
        root = rankings.start[block]
        place = rankings.width[block] + at
        leaf = changed if fits(free[changed], demand[block]) else _NOBODY
        if leaf == rankings.tree[root + place] and (leaf < 0 or not least):
            continue
        rankings.tree[root + place] = leaf
        place //= 2
        while place > 0:
            before = rankings.tree[root + place]
            _play(rankings, root, place, free, least)
            if before == rankings.tree[root + place] and before != changed:
                break
            place //= 2


@compiled
def _play(rankings: Rankings, root: int, place: int, free: IntArray, least: bool) -> None:  # noqa: FBT001
    one, other = rankings.tree[root + 2 * place], rankings.tree[root + 2 * place + 1]
    rankings.played[0] += 1
    if one < 0 or (least and other >= 0 and less(free[other], free[one])):
        one = other
    rankings.tree[root + place] = one


@compiled
def fits(free: IntArray, demand: IntArray) -> bool:
    """Whether a node has room for one copy."""
    for r in range(len(demand)):  # noqa: SIM110  (a generator does not compile)
        if demand[r] > 0 and free[r] < demand[r]:
            return False
    return True


@compiled
def less(one: IntArray, other: IntArray) -> bool:
    """Whether less is free in ``one``, in the order of the dimensions."""
    for r in range(len(one)):
        if one[r] != other[r]:
            return bool(one[r] < other[r])
    return False
