"""A second programme, stricter in CPU and memory: its optimum binds.

Rows count CPU and memory of alike nodes only in all, so an optimum may crowd heavy blocks where they do not
pack. Here a block that takes more than its devices' share of a node's CPU or memory is counted as more
devices: up to as many as go with what it takes most of (its dominant share: Ghodsi et al., *Dominant Resource
Fairness*, NSDI 2011). At full weight, rounded up to the next size that blocks have, whatever fits by devices
alone fits in all dimensions where these sizes divide each other (formulation, section 1; decision 28). At
half weight there is room for light blocks beside heavy ones, and mostly it still packs. Either way it is
stricter than need be: its optimum is a plan like any other, and its bound is never used (decision 24).

Measured against inflating only the blocks that failed to bind: that moves the crowd elsewhere. On
``M/cpu-heavy/50`` 10 of 12 gangs still failed after four such solves; with all blocks inflated none did.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gangplan.model.formulation.layout import Layout
from gangplan.model.formulation.rows import Rows
from gangplan.model.program import Family, Program

FULL = 1.0
HALF = 0.5


def inflate(layout: Layout, program: Program, weight: float = FULL) -> Program:
    """``program`` with device rows in which blocks, and jobs that stay, count by their dominant share.

    Args:
        layout: the programme's columns.
        program: the whole programme.
        weight: how much of the difference between a block's devices and its dominant share counts, 0 to 1.

    Returns:
        The programme with rows of a new family ``inflated``; none where devices run out first anyway.
    """
    found = Rows()
    for p in range(layout.instance.pools.count):
        demands = [(column, layout.instance.blocks[flow[0]].demand) for flow, column in layout.pool_flows[p]]
        needs = [(column, _need(layout, p, demand, weight)) for column, demand in demands]
        if any(need > demand[0] for (_, need), (_, demand) in zip(needs, demands, strict=True)):
            if weight >= FULL:
                parts = layout.instance.nodes.parts
                needs = [(c, _size(layout, p, need) if need >= parts else need) for c, need in needs]
            _pool_rows(layout, p, needs, weight, found)
    starts = np.array(found.start[1:], dtype=np.int64) + program.nonzeros
    return replace(
        program,
        row_start=np.concatenate([program.row_start, starts]),
        column_index=np.append(program.column_index, np.array(found.column, dtype=np.int64)),
        value=np.append(program.value, np.array(found.value, dtype=np.float64)),
        row_lower=np.append(program.row_lower, np.array(found.lower, dtype=np.float64)),
        row_upper=np.append(program.row_upper, np.array(found.upper, dtype=np.float64)),
        row_families=(*program.row_families, Family("inflated", program.rows, program.rows + len(found))),
    )


def _size(layout: Layout, pool: int, need: int) -> int:
    """The next size that blocks of the pool have; all its devices where there is none."""
    whole = int(layout.instance.pools.capacity[pool, 0])
    return min((size for size in layout.sizes[pool] if size >= need), default=whole)


def _need(layout: Layout, pool: int, amounts: tuple[int, int, int], weight: float) -> int:
    """Devices that ``amounts`` (devices, CPU, memory) count as on a node of the pool; at most all of them."""
    whole, *hosts = (int(each) for each in layout.instance.pools.capacity[pool])
    devices, *others = amounts
    shares = [-(-amount * whole // host) for amount, host in zip(others, hosts, strict=True) if host]
    dominant = min(whole, max([devices, *shares]))
    return devices + math.ceil(weight * max(0, dominant - devices))


def _pool_rows(layout: Layout, pool: int, needs: list[tuple[int, int]], weight: float, found: Rows) -> None:
    """The device rows of one pool: their sum, and one for every size; what runs now may go on."""
    instance = layout.instance
    devices, number = int(instance.pools.capacity[pool, 0]), int(instance.pools.size[pool])
    kept = {
        node: [
            (int(layout.keep_column[c]), _need(layout, pool, amounts, weight))
            for c, amounts in layout.kept_on[node]
        ]
        for node in instance.pools.members[pool].tolist()
        if node in layout.kept_on
    }
    room_for = {node: max(devices, sum(need for _, need in held)) for node, held in kept.items()}
    found.add(
        [(column, float(need)) for held in (needs, *kept.values()) for column, need in held],
        upper=float(devices * number + sum(most - devices for most in room_for.values())),
    )
    for size in sorted({*layout.sizes[pool], devices}):
        if size == 1 or size < instance.nodes.parts:
            continue
        most = devices // size
        limit = number * most
        entries = [(column, float(need // size)) for column, need in needs]
        rooms = {room.node: room for room in layout.rooms.get((pool, size), ())}
        for node, held in kept.items():
            if node in rooms and rooms[node].column >= 0:
                entries.append((rooms[node].column, -1.0))
                limit -= most
                beside = [(column, float(need)) for column, need in held]
                found.add([(rooms[node].column, float(size)), *beside], upper=float(room_for[node]))
                continue
            losses = [most - (devices - need) // size for _, need in held]
            limit += max(0, sum(losses) - most)
            entries.extend((column, float(loss)) for (column, _), loss in zip(held, losses, strict=True))
        found.add(entries, upper=float(limit))
