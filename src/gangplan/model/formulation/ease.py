"""A second programme: the same value, easier to bind.

Rows count CPU and memory of alike nodes only in all, so an optimum may crowd heavy blocks where they do not
pack. Among the many optima of a programme with alike classes there is mostly one that packs: here the blocks
that take more than the fair share of a node's CPU or memory that goes with their devices are avoided where
devices are scarce. Blocks within their fair share pack exactly (decision 28); the bound stays that of the
first programme (decision 24).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gangplan.model.formulation.layout import Layout
from gangplan.model.program import Family, FloatArray, Program

_SLACK = 1e-7


def ease(layout: Layout, program: Program, value: float) -> Program:
    """Least use beyond the fair share, at an objective of at least ``value``."""
    gain = np.flatnonzero(program.objective)
    floor = value - program.offset - _SLACK * max(1.0, abs(value))
    return replace(
        program,
        objective=-_excess(layout),
        offset=0.0,
        row_start=np.append(program.row_start, program.nonzeros + len(gain)),
        column_index=np.append(program.column_index, gain),
        value=np.append(program.value, program.objective[gain]),
        row_lower=np.append(program.row_lower, floor),
        row_upper=np.append(program.row_upper, np.inf),
        row_families=(*program.row_families, Family("value", program.rows, program.rows + 1)),
    )


def _excess(layout: Layout) -> FloatArray:
    """Share of a node's CPU and memory beyond the share of its devices, by block column, shape (columns,)."""
    instance = layout.instance
    excess = np.zeros(layout.columns, dtype=np.float64)
    for p, flows in enumerate(layout.pool_flows):
        capacity = np.maximum(instance.pools.capacity[p], 1)
        if not instance.pools.capacity[p, 0]:
            continue
        for (block, _, _), column in flows:
            share = np.array(instance.blocks[block].demand) / capacity
            excess[column] = np.maximum(0.0, share[1:] - share[0]).sum()
    return excess
