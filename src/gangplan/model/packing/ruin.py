"""Ruin and recreate: the compiled loop that takes a part of a plan apart and puts it together anew.

A few neighbouring nodes are emptied, or room is made for one job that the plan lacks; then whoever is without
a place is looked at again, best first, on exact node state. What is worth less is undone, but for small steps
down that become smaller (Schrimpf et al., *Record breaking optimization results using the ruin and recreate
principle*, 2000; Christiaens and Vanden Berghe, *Slack induction by string removals*, 2020). Four thousand
such steps fit into a tenth of a second at M, and no lock of the interpreter is held.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.compiled import compiled
from gangplan.model.packing.ruin_state import (
    BEST,
    NOW,
    OUT,
    STEPS,
    Field,
    Log,
    State,
    back_to_best,
    draw,
    note,
    remove,
    stopped,
    take,
    undo,
)
from gangplan.model.program import BoolArray, IntArray

_SKIPPED = 24
"""One way in so many is passed over when a plan is put together: no two attempts are quite alike."""
_MOST_NODES = 4
"""Most nodes that are emptied at once."""
_EMPTYING = 2
"""One ruin in so many empties nodes; the others make room for a job."""
_CYCLE = 4_000
"""Steps in which the temperature falls from its height; then it begins anew from the best plan."""
_COLDEST = 1e-3
"""The lowest temperature, as a share of the highest."""
_ALL = 8
"""One time in so many all ways are looked at, not only those that lead to where somebody was."""
_NEARER = 2
"""Draws beside the first of which the nearest way to its job's best is taken."""
_MOST_TRIES = 16
"""Ways that are drawn until one is found that is not in the plan."""
_EPSILON = 1e-9


@compiled
def ruin_and_recreate(field: Field, state: State, height: float, steps: int) -> None:
    """Take so many steps; the best plan is there at any time.

    Args:
        field: what may be done.
        state: the plan; changed.
        height: of the temperature at its highest: a loss of so much is as likely taken as not, about.
        steps: how many.
    """
    jobs = len(field.fixed)
    changed = np.empty(jobs, np.int64)
    before = np.empty(jobs, np.int64)
    before_spots = np.empty_like(state.spots)
    noted = np.zeros(jobs, np.bool_)
    closed = np.empty(len(field.kind_block), np.bool_)
    inside = np.zeros(max(1, field.domains), np.int64)
    log = changed, before, before_spots, noted
    for _ in range(steps):
        at = state.tally[STEPS] % _CYCLE
        if at == 0:
            back_to_best(field, state)
        state.tally[STEPS] += 1
        was = state.worth[NOW]
        if draw(state, _EMPTYING) == 0:
            count = _empty_nodes(field, state, log)
        else:
            count = _make_room(field, state, log, inside)
        count = _recreate(field, state, log, count, closed, inside)
        temperature = height * _COLDEST ** (at / _CYCLE)
        drawn = (1.0 + draw(state, 1 << 20)) / (1 << 20)
        accepted = state.worth[NOW] >= was + temperature * np.log(drawn)
        if accepted and field.most_stopped < jobs:
            accepted = stopped(field, state) <= field.most_stopped
        if not accepted:
            undo(field, state, log, count)
            state.worth[NOW] = was
        elif state.worth[NOW] > state.worth[BEST] + _EPSILON:
            state.worth[BEST] = state.worth[NOW]
            state.best_does[:] = state.does
            state.best_spots[:] = state.spots
        for i in range(count):
            noted[changed[i]] = False


@compiled
def _empty_nodes(field: Field, state: State, log: Log) -> int:
    """Take whoever may be moved off a few nodes, near each other more often than not; jobs remembered."""
    nodes, levels = field.domain_at.shape
    count = 0
    seed = draw(state, nodes)
    level = draw(state, levels)
    for number in range(1 + draw(state, _MOST_NODES)):
        n = seed
        if number:
            for _ in range(_MOST_TRIES):
                n = draw(state, nodes)
                if n != seed and field.domain_at[n, level] == field.domain_at[seed, level]:
                    break
        entry = state.head[n]
        while entry >= 0:
            j = entry // state.spots.shape[1]
            entry = state.links[entry, 1]
            if not field.fixed[j]:
                count = remove(field, state, log, count, j)
    return count


@compiled
def _make_room(field: Field, state: State, log: Log, inside: IntArray) -> int:
    """Place a way that is not in the plan, and take off whoever is in its way; jobs remembered."""
    jobs, count = len(field.fixed), 0
    way = -1
    for _ in range(_MOST_TRIES):
        at = draw(state, len(field.job))
        for _ in range(_NEARER):
            at = min(at, draw(state, len(field.job)))
        drawn = field.nearest[at]
        if state.does[field.job[drawn]] != drawn and not field.fixed[field.job[drawn]]:
            way = drawn
            break
    if way < 0:
        return count
    j = field.job[way]
    count = note(state, log, count, j)
    if state.does[j] >= 0:
        count = remove(field, state, log, count, j)
    shift = draw(state, jobs)
    for i in range(field.chain_start[j], field.chain_start[j + 1]):
        for move in range(jobs):
            if _has_quota(field, state, way):
                break
            other = (shift + move) % jobs
            if state.does[other] >= 0 and not field.fixed[other] and other != j:
                for k in range(field.chain_start[other], field.chain_start[other + 1]):
                    if field.chain[k] == field.chain[i]:
                        count = remove(field, state, log, count, other)
                        break
    if not _has_quota(field, state, way):
        return count
    block = field.block[way]
    if block < 0:
        for i in range(field.held_start[j], field.held_start[j + 1]):
            count = _clear(field, state, log, count, field.held_node[i], field.held, i)
        _stay(field, state, way)
        return count
    begin, end = field.node_start[block], field.node_start[block + 1]
    if begin == end:
        return count
    first = begin + draw(state, end - begin)
    scope = field.scope[way]
    domain = field.domain_at[field.node[first], scope]
    if field.copies[way] == 1:
        n = field.node[first]
        count = _clear(field, state, log, count, n, field.demand, block)
    else:
        lacking = field.copies[way]
        for move in range(end - begin):
            n = field.node[begin + (first - begin + move) % (end - begin)]
            if domain >= 0 and field.domain_at[n, scope] == domain:
                lacking -= _copies(state.free, n, field.demand, block)
        for move in range(end - begin):
            if lacking <= 0:
                break
            n = field.node[begin + (first - begin + move) % (end - begin)]
            if domain < 0 or field.domain_at[n, scope] != domain:
                continue
            had = _copies(state.free, n, field.demand, block)
            count = _clear(field, state, log, count, n, field.demand, block)
            lacking -= _copies(state.free, n, field.demand, block) - had
    _place(field, state, way, inside, tight=True)
    return count


@compiled
def _clear(
    field: Field,
    state: State,
    log: Log,
    count: int,
    n: int,
    demand: IntArray,
    row: int,
) -> int:
    """Take jobs off node ``n`` until it has room for a row of ``demand``; jobs remembered."""
    for last in range(2):
        entry = state.head[n]
        while entry >= 0 and not _fits(state.free, n, demand, row):
            j = entry // state.spots.shape[1]
            entry = state.links[entry, 1]
            if not field.fixed[j] and (last or draw(state, 2)):
                count = remove(field, state, log, count, j)
    return count


@compiled
def _has_quota(field: Field, state: State, way: int) -> bool:
    j = field.job[way]
    t, last = field.type[way], field.devices.shape[1] - 1
    number = field.devices[way, last]
    for i in range(field.chain_start[j], field.chain_start[j + 1]):
        limit = field.chain[i]
        if number > 0 and (state.left[limit, last] < number or (t >= 0 and state.left[limit, t] < number)):
            return False
    return True


@compiled
def _copies(free: IntArray, n: int, demand: IntArray, block: int) -> int:
    """How many copies of ``block`` node ``n`` takes."""
    if not _fits(free, n, demand, block):
        return 0
    most = np.iinfo(np.int64).max
    for r in range(3):
        if demand[block, r] > 0:
            most = min(most, free[n, r] // demand[block, r])
    return most


@compiled
def _stay(field: Field, state: State, way: int) -> bool:
    """Have the job of ``way`` where it runs, if there is room."""
    j = field.job[way]
    for i in range(field.held_start[j], field.held_start[j + 1]):
        for r in range(3):
            if state.free[field.held_node[i], r] < field.held[i, r]:
                return False
    width, begin = state.spots.shape[1], field.held_start[j]
    for i in range(field.held_start[j + 1] - begin):
        state.spots[j, i, 0] = field.held_node[begin + i]
    if field.held_start[j + 1] - begin < width:
        state.spots[j, field.held_start[j + 1] - begin, 0] = -1
    state.does[j] = way
    take(field, state, j, 1)
    return True


@compiled
def _place(field: Field, state: State, way: int, inside: IntArray, tight: bool) -> bool:  # noqa: FBT001
    """Have ``way`` where the least is free around it, if there is room."""
    j, block, copies = field.job[way], field.block[way], field.copies[way]
    begin, end = field.node_start[block], field.node_start[block + 1]
    free, nodes, demand, domain_at = state.free, field.node, field.demand, field.domain_at
    if copies == 1:
        best = -1
        for i in range(begin, end):
            n = nodes[i]
            if (best < 0 or not tight or _less(free, n, best)) and _fits(free, n, demand, block):
                best = n
        if best < 0:
            return False
        state.spots[j, 0, 0], state.spots[j, 0, 1] = best, 1
        if state.spots.shape[1] > 1:
            state.spots[j, 1, 0] = -1
        state.does[j] = way
        take(field, state, j, 1)
        return True
    scope = field.scope[way]
    inside[:] = 0
    for i in range(begin, end):
        n = nodes[i]
        domain = domain_at[n, scope]
        if domain >= 0:
            inside[domain] += _copies(free, n, demand, block)
    chosen = -1
    for domain in range(len(inside)):
        if inside[domain] >= copies and (chosen < 0 or inside[domain] < inside[chosen]):
            chosen = domain
    if chosen < 0:
        return False
    width = state.spots.shape[1]
    found = 0
    while copies > 0 and found < width:
        largest, most, tightest, least = -1, 0, -1, 0
        for i in range(begin, end):
            n = nodes[i]
            if domain_at[n, scope] != chosen:
                continue
            known = False
            for k in range(found):
                known = known or state.spots[j, k, 0] == n
            if known:
                continue
            here = _copies(free, n, demand, block)
            if here > most:
                largest, most = n, here
            if here >= copies and (tightest < 0 or here < least):
                tightest, least = n, here
        if largest < 0:
            break
        best = tightest if tightest >= 0 else largest
        number = min(copies, least if tightest >= 0 else most)
        state.spots[j, found, 0], state.spots[j, found, 1] = best, number
        found += 1
        copies -= number
    if found < width:
        state.spots[j, found, 0] = -1
    if copies > 0:
        return False
    state.does[j] = way
    take(field, state, j, 1)
    return True


@compiled
def _less(free: IntArray, a: int, b: int) -> bool:
    """Whether less is free on node ``a``, in the order of the dimensions."""
    for r in range(3):
        if free[a, r] != free[b, r]:
            return bool(free[a, r] < free[b, r])
    return False


@compiled
def _fits(free: IntArray, n: int, demand: IntArray, block: int) -> bool:
    for r in range(3):  # noqa: SIM110  (a generator does not compile)
        if demand[block, r] > free[n, r]:
            return False
    return True


@compiled
def _open(
    field: Field,
    state: State,
    log: Log,
    count: int,
    closed: BoolArray,
) -> None:
    """What may find room now that somebody has left: blocks that a node takes where somebody was.

    Once in a while all, since a limit may have become slack, too.
    """
    changed, before, before_spots, _ = log
    closed[:] = draw(state, _ALL) > 0
    if not closed[0]:
        return
    for kind in range(len(closed)):
        block = field.kind_block[kind]
        if block < 0:
            closed[kind] = False
            continue
        for i in range(count):
            j = changed[i]
            if before[j] == OUT or not closed[kind]:
                continue
            for k in range(before_spots.shape[1]):
                n = before_spots[j, k, 0]
                if n < 0:
                    break
                if field.serves[block, n]:
                    closed[kind] = False
                    break


@compiled
def _recreate(
    field: Field,
    state: State,
    log: Log,
    count: int,
    closed: BoolArray,
    inside: IntArray,
) -> int:
    """Place whoever is out, in one of the orders, on what is free; jobs remembered.

    Room only gets less, so what once found none is not tried again.
    """
    _open(field, state, log, count, closed)
    order = field.orders[draw(state, len(field.orders))]
    tight = draw(state, 8) > 0
    does = state.does
    for i in range(len(order)):
        j = order[i, 1]
        if closed[order[i, 2]] or does[j] != OUT or field.fixed[j]:
            continue
        way = order[i, 0]
        if not _has_quota(field, state, way) or draw(state, _SKIPPED) == 0:
            continue
        if field.block[way] < 0:
            if not _stay(field, state, way):
                continue
        elif not _place(field, state, way, inside, tight):
            closed[field.kind[way]] = True
            continue
        if not log[3][j]:
            log[3][j] = True
            log[0][count], log[1][j] = j, OUT
            count += 1
    return count
