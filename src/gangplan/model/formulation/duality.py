"""What row prices prove: a bound on the whole programme, and how much each column is off.

For any multipliers y (weak duality; equally the Lagrangian relaxation of all rows, decision 24):

    max c x <= sum over rows of the worse of y * upper, y * lower + sum over columns of max over its box of
    (c - A^T y) x.

The second sum is exact for every column at once, so prices from a programme with few columns bound the one
with all of them. A column x_j above its lower bound costs at least ``-reduced_j`` per unit against the bound:
whoever leaves out only columns of regret at least d proves ``max(bound without them, this bound - d)``
(decision 23).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.program import FloatArray, Program

_OUTWARD = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class DualBound:
    """What multipliers prove.

    Attributes:
        bound: no solution is worth more; rounded outward.
        reduced: shape (columns,), reduced costs ``c - A^T y``.
    """

    bound: float
    reduced: FloatArray


def price_out(program: Program, multipliers: FloatArray) -> DualBound:
    """Evaluate ``multipliers``, shape (rows,); one that meets an infinite limit counts as 0."""
    limit = np.where(multipliers > 0, program.row_upper, program.row_lower)
    used = np.where(np.isfinite(limit), multipliers, 0.0)
    row = np.repeat(np.arange(program.rows), np.diff(program.row_start))
    pull = np.bincount(program.column_index, weights=used[row] * program.value, minlength=program.columns)
    reduced = program.objective - pull
    by_row = used * np.where(used != 0, limit, 0.0)
    by_column = np.maximum(reduced * program.lower, reduced * program.upper)
    rounding = _OUTWARD * float(np.abs(by_row).sum() + np.abs(by_column).sum())
    return DualBound(program.offset + float(by_row.sum() + by_column.sum()) + rounding, reduced)
