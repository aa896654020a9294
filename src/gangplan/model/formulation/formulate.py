"""The round's integer programme: what counts as a plan, and what it is worth.

Rows come from ``constraints/``, one family a file, found by scanning; this page only puts them together.
No row cuts off a plan that fits, so every bound of the programme is a bound on plans (decision 28).
"""

from __future__ import annotations

import numpy as np

from gangplan.model.constraints import row_families
from gangplan.model.formulation.layout import Layout
from gangplan.model.program import Family, Program


def formulate(layout: Layout) -> Program:
    """Gather the rows over numbered columns."""
    start, column, value, lower, upper = [np.zeros(1, dtype=np.int64)], [], [], [], []
    families: list[Family] = []
    rows = entries = 0
    for name, build in row_families():
        part = build(layout)
        start.append(np.array(part.start[1:], dtype=np.int64) + entries)
        column.append(np.array(part.column, dtype=np.int64))
        value.append(np.array(part.value, dtype=np.float64))
        lower.append(np.array(part.lower, dtype=np.float64))
        upper.append(np.array(part.upper, dtype=np.float64))
        families.append(Family(name, rows, rows + len(part)))
        rows += len(part)
        entries += len(part.column)
    return Program(
        objective=layout.objective,
        lower=layout.lower,
        upper=layout.upper,
        integer=np.ones(layout.columns, dtype=np.bool_),
        row_start=np.concatenate(start),
        column_index=np.concatenate(column),
        value=np.concatenate(value),
        row_lower=np.concatenate(lower),
        row_upper=np.concatenate(upper),
        offset=layout.instance.offset,
        column_families=tuple(Family(*family) for family in layout.families),
        row_families=tuple(families),
    )
