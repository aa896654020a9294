"""Room by exchange: small starts change places until a block fits that found no node.

Counts that fit a pool in all may still crowd single nodes: one has a device but no CPU left, another CPU but
no device. Blocks that lie together badly are one step from lying well: a heavy one moves to another node, or
changes places with a lighter one there, whenever that brings the node nearest to having room still nearer
(local search over moves and swaps; Buljubašić and Vasquez, *Consistent neighborhood search for
one-dimensional bin packing and two-dimensional vector packing*, 2016). Nothing is worth less by it: every job
keeps its option, and only waiting jobs that the plan starts on one node are moved.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gangplan.model.compiled import compiled
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.occupancy import Occupancy
from gangplan.model.packing.shared_devices import with_whole
from gangplan.model.program import BoolArray, FloatArray, IntArray

_STEPS = 64
_MOST_FAILURES = 16
"""Blocks for which no room is found before no more are tried."""
_MOST_KINDS = 256
"""With more kinds of blocks there are too many ways to exchange them."""


class _Kinds(NamedTuple):
    """Blocks that may be moved.

    Attributes:
        kinds: block indices, ascending.
        on: shape (kinds, nodes), how many lie on each node.
        allowed: shape (kinds, nodes), where they may lie.
        demand: shape (kinds, dimensions).
    """

    kinds: list[int]
    on: IntArray
    allowed: BoolArray
    demand: IntArray


class Exchange:
    """The starts of a plan that may change places.

    Args:
        occupancy: what is free beside all that is placed; changed.
        placed: who is placed, by job; changed.
    """

    def __init__(self, occupancy: Occupancy, placed: dict[int, Placed]) -> None:
        instance = occupancy.instance
        self._occupancy, self._placed = occupancy, placed
        self._parts = instance.nodes.parts
        most = instance.nodes.capacity.max(axis=0, initial=1)
        limits = with_whole((int(most[0]), int(most[1]), int(most[2])), self._parts)
        self._scale: FloatArray = 1.0 / np.maximum(np.array(limits, dtype=np.float64), 1.0)
        self._jobs: dict[tuple[int, int], list[int]] = defaultdict(list)
        for j, where in placed.items():
            option = instance.option_at(where.option)
            if j in instance.placements or not option.is_single or option.apart:
                continue
            block = instance.block_index[option.demands[0].block]
            if not occupancy.is_part(block):
                self._jobs[block, where.spots[0][0]].append(j)

    def make_room(self, block: int) -> int:
        """A node that has room for one more ``block`` once others have changed places; -1: none found.

        Where exchanges alone do not help, somebody whose leaving would make room is given another place by
        exchange. Parts of a device stay where they are.
        """
        if self._occupancy.is_part(block):
            return -1
        here = self._here(block)
        if len(here.kinds) > _MOST_KINDS:
            return -1
        node = self._gather(here, block)
        if node >= 0:
            return node
        free, demand = self._occupancy.free, here.demand[here.kinds.index(block)]
        nodes = self._occupancy.block_nodes(block)
        for i, kind in enumerate(here.kinds):
            there = nodes[here.on[i, nodes] > 0]
            there = there[((free[there] + here.demand[i] >= demand) | (demand == 0)).all(axis=1)]
            if not len(there):
                continue
            target = self._gather(here, kind)
            there = there[(there != target) & (here.on[i, there] > 0)]
            there = there[((free[there] + here.demand[i] >= demand) | (demand == 0)).all(axis=1)]
            if target >= 0 and len(there):
                source = int(there[0])
                free[source] += here.demand[i]
                free[target] -= here.demand[i]
                self._move(kind, source, target)
                return source
        return -1

    def _here(self, block: int) -> _Kinds:
        """Where everybody is who may move."""
        kinds = sorted({kind for (kind, _), jobs in self._jobs.items() if jobs} | {block})
        position = {kind: i for i, kind in enumerate(kinds)}
        shape = len(kinds), len(self._occupancy.free)
        on, allowed = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_)
        for (kind, node), jobs in self._jobs.items():
            if jobs:
                on[position[kind], node] = len(jobs)
        for i, kind in enumerate(kinds):
            allowed[i, self._occupancy.block_nodes(kind)] = True
        blocks = self._occupancy.instance.blocks
        demand = [with_whole(blocks[k].demand, self._parts) for k in kinds]
        return _Kinds(kinds, on, allowed, np.array(demand, dtype=np.int64))

    def _gather(self, here: _Kinds, block: int) -> int:
        wanted = here.kinds.index(block)
        node, moves = gather(
            self._occupancy.free, here.on, here.allowed, here.demand, wanted, self._scale, _STEPS
        )
        for i, source, target in moves.tolist():
            self._move(here.kinds[i], source, target)
        return int(node)

    def _move(self, kind: int, source: int, target: int) -> None:
        self._occupancy.note((source, target))
        j = self._jobs[kind, source].pop()
        self._jobs[kind, target].append(j)
        old = self._placed[j]
        self._placed[j] = Placed(old.option, ((target, old.spots[0][1]),))


def start_by_exchange(occupancy: Occupancy, assignment: Assignment, order: IntArray) -> Assignment:
    """Start waiting jobs of one block for which there is room once others have changed places.

    Args:
        occupancy: what is free beside everybody; changed.
        assignment: who runs where, with everybody placed who finds room without.
        order: positions of options in the order in which they are tried.
    """
    instance = occupancy.instance
    placed = dict(assignment.placed)
    left = instance.members - np.bincount(
        instance.class_of_job[np.fromiter(placed, dtype=np.int64, count=len(placed))],
        minlength=len(instance.classes),
    )
    left[instance.kept] = 0
    exchange: Exchange | None = None
    failed: set[int] = set()
    block_of = np.array(
        [
            instance.block_index[option.demands[0].block] if option.is_single else -1
            for option in instance.distinct
        ],
        dtype=np.int64,
    )
    ahead = order[(left[instance.option_class[order]] > 0) & (block_of[instance.option[order]] >= 0)]
    blocks = block_of[instance.option[ahead]]
    at = 0
    while at < len(ahead):
        k, block = int(ahead[at]), int(blocks[at])
        at += 1
        c, option = int(instance.option_class[k]), instance.option_at(k)
        job_class = instance.classes[c]
        while left[c] and block not in failed and occupancy.members_allowed(job_class, option):
            if len(failed) >= _MOST_FAILURES or not _could_fit(occupancy, block):
                failed.add(block)
                break
            exchange = exchange or Exchange(occupancy, placed)
            node = exchange.make_room(block)
            if node < 0:
                failed.add(block)
                break
            j = next(j for j in job_class.jobs if j not in placed)
            placed[j] = occupancy.take_placed(j, Placed(k, ((node, option.demands[0].tasks),)))
            left[c] -= 1
        if block in failed:
            others = blocks[at:] != block
            ahead, blocks, at = ahead[at:][others], blocks[at:][others], 0
    return replace(assignment, placed=placed)


def _could_fit(occupancy: Occupancy, block: int) -> bool:
    """Whether some node has the devices for ``block`` (or it needs none) and all nodes together the rest."""
    if occupancy.is_part(block):
        return False
    demand = np.array(with_whole(occupancy.instance.blocks[block].demand, occupancy.instance.nodes.parts))
    free = occupancy.free[occupancy.block_nodes(block)]
    return bool((free[:, 0] >= demand[0]).any() and (free.sum(axis=0) >= demand).all())


@compiled
def gather(
    free: IntArray,
    on: IntArray,
    allowed: BoolArray,
    demand: IntArray,
    wanted: int,
    scale: FloatArray,
    steps: int,
) -> tuple[int, IntArray]:
    """Move and swap blocks until some node takes one more of kind ``wanted``.

    Args:
        free: shape (nodes, dimensions), what is free; changed.
        on: shape (kinds, nodes), blocks that may be moved; changed.
        allowed: shape (kinds, nodes), where each kind may lie.
        demand: shape (kinds, dimensions).
        wanted: the kind that wants room.
        scale: shape (dimensions,), one over what counts as much of each.
        steps: most moves and swaps.

    Returns:
        The node, -1 when there is none, and the moves: kind, from, to. They are made in either case.
    """
    kinds, nodes = on.shape
    moves = np.empty((2 * steps, 3), np.int64)
    made = 0
    dead = np.zeros(nodes, np.bool_)
    for _ in range(steps):
        target, least = -1, np.inf
        for n in range(nodes):
            if allowed[wanted, n] and not dead[n]:
                short = _short(free[n], demand[wanted], scale)
                if short < least:
                    target, least = n, short
        if target < 0:
            break
        if least <= 0.0:
            return target, moves[:made]
        out, back, other, best = -1, -1, -1, least - 1e-12
        for t in range(kinds):
            if on[t, target] <= 0:
                continue
            for s in range(-1, kinds):
                if s == t or (s >= 0 and not allowed[s, target]):
                    continue
                short = _short_after(free[target], demand, wanted, t, s, scale)
                if short >= best:
                    continue
                for m in range(nodes):
                    there = m != target and allowed[t, m] and (s < 0 or on[s, m] > 0)
                    if there and _takes(free[m], demand, t, s):
                        out, back, other, best = t, s, m, short
                        break
        if out < 0:
            dead[target] = True
            continue
        _carry(free, on, demand, out, target, other)
        moves[made, 0], moves[made, 1], moves[made, 2] = out, target, other
        made += 1
        if back >= 0:
            _carry(free, on, demand, back, other, target)
            moves[made, 0], moves[made, 1], moves[made, 2] = back, other, target
            made += 1
    return -1, moves[:made]


@compiled
def _short(free: IntArray, demand: IntArray, scale: FloatArray) -> float:
    """What is missing for one block."""
    short = 0.0
    for r in range(len(demand)):
        if demand[r] > 0 and free[r] < demand[r]:
            short += (demand[r] - free[r]) * scale[r]
    return short


@compiled
def _short_after(
    free: IntArray, demand: IntArray, wanted: int, out: int, back: int, scale: FloatArray
) -> float:
    """What ``wanted`` lacks once ``out`` has left and ``back`` (-1: nobody) has come; inf: no room."""
    short = 0.0
    for r in range(len(free)):
        left = free[r] + demand[out, r] - (demand[back, r] if back >= 0 else 0)
        if left < 0:
            return np.inf
        if demand[wanted, r] > left:
            short += (demand[wanted, r] - left) * scale[r]
    return short


@compiled
def _takes(free: IntArray, demand: IntArray, new: int, old: int) -> bool:
    """Whether a node has room for ``new`` in place of ``old`` (-1: of nobody)."""
    for r in range(len(free)):  # noqa: SIM110  (a generator does not compile)
        if demand[new, r] > free[r] + (demand[old, r] if old >= 0 else 0):
            return False
    return True


@compiled
def _carry(free: IntArray, on: IntArray, demand: IntArray, kind: int, source: int, target: int) -> None:
    on[kind, source] -= 1
    on[kind, target] += 1
    free[source] += demand[kind]
    free[target] -= demand[kind]
