"""The plan that is taken apart and put together (:mod:`.ruin`): what may be done, what is, and undoing it.

A way is an option of one job with its alike blocks, or staying where the job is. Demands of blocks are whole
devices, CPU and memory.
"""

from __future__ import annotations

from typing import NamedTuple

from gangplan.model.compiled import compiled
from gangplan.model.program import BoolArray, FloatArray, IntArray

OUT = -1
"""What a job does that neither stays nor starts."""

RANDOM, STEPS = 0, 1
"""Positions in :attr:`State.tally`: what the next draw hangs on, and steps made."""
NOW, BEST = 0, 1
"""Positions in :attr:`State.worth`."""

Log = tuple[IntArray, IntArray, IntArray, BoolArray]
"""Who was changed in a step, and by job: what it did before, its nodes then, and whether it is noted."""


class Field(NamedTuple):
    """What may be done.

    Attributes:
        job: shape (ways,), whose way it is.
        block: shape (ways,), -1 where the job stays.
        kind: shape (ways,), the same for ways with the same blocks, copies and scope.
        kind_block: shape (kinds,), the block of each.
        serves: shape (blocks, nodes), whether a node could take a block when empty.
        copies: shape (ways,), blocks of it.
        scope: shape (ways,), level at which all blocks lie in one domain.
        gain: shape (ways,), worth more than doing nothing.
        devices: shape (ways, types + 1), what counts under limits, in all in the last column.
        type: shape (ways,), the only type of devices that a way takes; -1 where limits by type do not count.
        orders: shape (orders, ways, 3), ways with their jobs and kinds, in the orders in which they are
            looked at when a plan is put together.
        nearest: shape (ways,), the same by what they lack of their job's best, least first.
        demand: shape (blocks, 3).
        node_start, node: by block: nodes that could take it when empty (CSR).
        domain_at: shape (nodes, levels); below 0: in none.
        domains: domains of a level at most.
        chain_start, chain: by job: the limits that it counts under (CSR).
        held_start, held_node, held: by job: what it holds where it is (CSR), shape (entries, 3).
        runs: shape (jobs,), whether it holds something.
        fixed: shape (jobs,), who goes on doing what it does.
        most_stopped: most running jobs that do not stay.
    """

    job: IntArray
    block: IntArray
    kind: IntArray
    kind_block: IntArray
    serves: BoolArray
    copies: IntArray
    scope: IntArray
    gain: FloatArray
    devices: IntArray
    type: IntArray
    orders: IntArray
    nearest: IntArray
    demand: IntArray
    node_start: IntArray
    node: IntArray
    domain_at: IntArray
    domains: int
    chain_start: IntArray
    chain: IntArray
    held_start: IntArray
    held_node: IntArray
    held: IntArray
    runs: BoolArray
    fixed: BoolArray
    most_stopped: int


class State(NamedTuple):
    """A plan, changed in place, and the best one so far.

    Attributes:
        free: shape (nodes, 3).
        left: shape (limits, types + 1).
        does: shape (jobs,), a way, or :data:`OUT`.
        spots: shape (jobs, width, 2), nodes and the blocks on each; a node of -1 ends them.
        head: shape (nodes,), the first of those who sit on each, as job * width + position; -1: nobody.
        links: shape (jobs * width, 2), who comes before and after.
        best_does, best_spots: the same of the best plan.
        worth: what the plan is worth, and the best.
        tally: the state of the random numbers, and the steps made.
    """

    free: IntArray
    left: IntArray
    does: IntArray
    spots: IntArray
    head: IntArray
    links: IntArray
    best_does: IntArray
    best_spots: IntArray
    worth: FloatArray
    tally: IntArray


@compiled
def draw(state: State, below: int) -> int:
    """A number from 0 on (a linear congruential generator; Knuth, MMIX)."""
    state.tally[RANDOM] = state.tally[RANDOM] * 6364136223846793005 + 1442695040888963407
    return int((state.tally[RANDOM] >> 33) & 0x3FFFFFFF) % below


@compiled
def take(field: Field, state: State, j: int, sign: int) -> None:
    """Charge what job ``j`` takes to nodes and limits; with a sign of -1, give it back."""
    way = state.does[j]
    block = field.block[way]
    for i in range(state.spots.shape[1]):
        n = state.spots[j, i, 0]
        if n < 0:
            break
        for r in range(3):
            if block < 0:
                state.free[n, r] -= sign * field.held[field.held_start[j] + i, r]
            else:
                state.free[n, r] -= sign * state.spots[j, i, 1] * field.demand[block, r]
        _link(state, n, j * state.spots.shape[1] + i, sign)
    for i in range(field.chain_start[j], field.chain_start[j + 1]):
        for t in range(field.devices.shape[1]):
            state.left[field.chain[i], t] -= sign * field.devices[way, t]
    state.worth[NOW] += sign * field.gain[way]


@compiled
def _link(state: State, n: int, entry: int, sign: int) -> None:
    """Have ``entry`` sit on node ``n``, or, with a sign of -1, no more."""
    if sign > 0:
        after = state.head[n]
        state.links[entry, 0], state.links[entry, 1] = -1, after
        if after >= 0:
            state.links[after, 0] = entry
        state.head[n] = entry
        return
    before, after = state.links[entry, 0], state.links[entry, 1]
    if before >= 0:
        state.links[before, 1] = after
    else:
        state.head[n] = after
    if after >= 0:
        state.links[after, 0] = before


@compiled
def note(state: State, log: Log, count: int, j: int) -> int:
    """Remember what job ``j`` did before this step; how many are remembered."""
    changed, before, before_spots, noted = log
    if not noted[j]:
        noted[j] = True
        changed[count] = j
        before[j] = state.does[j]
        before_spots[j] = state.spots[j]
        count += 1
    return count


@compiled
def remove(field: Field, state: State, log: Log, count: int, j: int) -> int:
    """Have job ``j``, which does something, do nothing; how many are remembered."""
    count = note(state, log, count, j)
    take(field, state, j, -1)
    state.does[j] = OUT
    return count


@compiled
def undo(field: Field, state: State, log: Log, count: int) -> None:
    """Have all that are remembered do what they did before this step."""
    changed, before, before_spots, _ = log
    for i in range(count):
        if state.does[changed[i]] >= 0:
            take(field, state, changed[i], -1)
    for i in range(count):
        j = changed[i]
        state.does[j] = before[j]
        state.spots[j] = before_spots[j]
        if state.does[j] >= 0:
            take(field, state, j, 1)


@compiled
def back_to_best(field: Field, state: State) -> None:
    """Go on from the best plan."""
    for j in range(len(field.fixed)):
        if state.does[j] >= 0:
            take(field, state, j, -1)
    for j in range(len(field.fixed)):
        state.does[j] = state.best_does[j]
        state.spots[j] = state.best_spots[j]
        if state.does[j] >= 0:
            take(field, state, j, 1)
    state.worth[NOW] = state.worth[BEST]


@compiled
def stopped(field: Field, state: State) -> int:
    """How many running jobs do not stay."""
    number = 0
    for j in range(len(field.fixed)):
        if field.runs[j] and (state.does[j] < 0 or field.block[state.does[j]] >= 0):
            number += 1
    return number
