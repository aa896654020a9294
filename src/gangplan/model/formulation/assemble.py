"""A programme from its columns and named families of rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gangplan.model.formulation.rows import Rows
from gangplan.model.program import BoolArray, Family, FloatArray, Program


def assemble(
    *,
    objective: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    families: Mapping[str, Rows],
    integer: BoolArray | None = None,
    offset: float = 0.0,
) -> Program:
    """Put rows over columns together.

    Args:
        objective: shape (columns,).
        lower: shape (columns,).
        upper: shape (columns,).
        families: rows by name, in order.
        integer: shape (columns,); None: all are integral.
        offset: constant part of the objective.
    """
    rows = list(families.values())
    entries = np.cumsum([0, *(len(r.column) for r in rows)])
    ends = np.cumsum([0, *(len(r) for r in rows)])
    starts = [np.array(r.start[1:], dtype=np.int64) + entries[i] for i, r in enumerate(rows)]
    return Program(
        objective=objective,
        lower=lower,
        upper=upper,
        integer=np.ones(len(objective), dtype=np.bool_) if integer is None else integer,
        row_start=np.concatenate([np.zeros(1, dtype=np.int64), *starts]),
        column_index=np.concatenate([np.zeros(0, np.int64), *(np.array(r.column, np.int64) for r in rows)]),
        value=np.concatenate([np.zeros(0), *(np.array(r.value, np.float64) for r in rows)]),
        row_lower=np.concatenate([np.zeros(0), *(np.array(r.lower, np.float64) for r in rows)]),
        row_upper=np.concatenate([np.zeros(0), *(np.array(r.upper, np.float64) for r in rows)]),
        offset=offset,
        column_families=(Family("column", 0, len(objective)),),
        row_families=tuple(Family(name, int(ends[i]), int(ends[i + 1])) for i, name in enumerate(families)),
    )
