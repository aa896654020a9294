"""Small integer programmes with known answers, and an exhaustive search that knows no solver.

For the conformance suite of solver backends, ours and others': each programme here has a hand argument, and
every bug that was ever found in a solver becomes one more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.model.program import FloatArray, Program

_INF = math.inf


def program(
    objective: Sequence[float],
    rows: Sequence[tuple[Sequence[float], float, float]] = (),
    *,
    lower: float | Sequence[float] = 0.0,
    upper: float | Sequence[float] = 1.0,
    integer: bool | Sequence[bool] = True,
    offset: float = 0.0,
) -> Program:
    """A programme from dense rows ``(coefficients, lower limit, upper limit)``; zeros are left out."""
    columns = len(objective)
    dense = np.array([row[0] for row in rows], dtype=np.float64).reshape(len(rows), columns)
    at_row, at_column = np.nonzero(dense)
    counts = np.bincount(at_row, minlength=len(rows))
    return Program(
        objective=np.array(objective, dtype=np.float64),
        lower=np.broadcast_to(np.asarray(lower, dtype=np.float64), columns).copy(),
        upper=np.broadcast_to(np.asarray(upper, dtype=np.float64), columns).copy(),
        integer=np.broadcast_to(np.asarray(integer, dtype=np.bool_), columns).copy(),
        row_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        column_index=at_column.astype(np.int64),
        value=dense[at_row, at_column],
        row_lower=np.array([row[1] for row in rows], dtype=np.float64),
        row_upper=np.array([row[2] for row in rows], dtype=np.float64),
        offset=offset,
    )


def best_by_enumeration(tiny: Program) -> tuple[float, FloatArray] | None:
    """The optimum of a tiny programme by trying every integral point; None when there is none.

    At most one column may be continuous: for given integral values the rows leave it an interval, and the
    better end is taken.

    Raises:
        ValueError: more than one continuous column, or more than 100,000 points.
    """
    loose = np.flatnonzero(~tiny.integer)
    if loose.size > 1:
        raise ValueError("at most one continuous column can be enumerated")
    first = np.where(tiny.integer, np.ceil(tiny.lower), 0.0)
    last = np.where(tiny.integer, np.floor(tiny.upper), 0.0)
    if np.prod(np.maximum(0.0, last - first + 1)) > 100_000:
        raise ValueError("too many points to enumerate")
    ranges = [np.arange(low, high + 1) for low, high in zip(first, last, strict=True)]
    dense = np.zeros((tiny.rows, tiny.columns))
    for row in range(tiny.rows):
        part = slice(int(tiny.row_start[row]), int(tiny.row_start[row + 1]))
        dense[row, tiny.column_index[part]] = tiny.value[part]
    whole = (dense == np.round(dense)).all(axis=1) & (loose.size == 0)
    best: tuple[float, FloatArray] | None = None
    for point in itertools.product(*ranges):
        x = np.array(point, dtype=np.float64)
        if loose.size and not _set_best(tiny, dense, x, int(loose[0])):
            continue
        held = dense @ x
        slack = np.where(whole, 0.0, 1e-9 * np.maximum(1.0, np.abs(dense) @ np.abs(x)))
        if (held < tiny.row_lower - slack).any() or (held > tiny.row_upper + slack).any():
            continue
        value = tiny.offset + float(tiny.objective @ x)
        if best is None or value > best[0]:
            best = (value, x)
    return best


def _set_best(tiny: Program, dense: FloatArray, x: FloatArray, column: int) -> bool:
    """Set the continuous column of ``x`` to the best value that the rows allow; False when there is none."""
    low, high = float(tiny.lower[column]), float(tiny.upper[column])
    x[column] = 0.0
    held = dense @ x
    for row, entry in enumerate(dense[:, column]):
        if entry:
            ends = sorted(
                ((tiny.row_lower[row] - held[row]) / entry, (tiny.row_upper[row] - held[row]) / entry)
            )
            low, high = max(low, ends[0]), min(high, ends[1])
    if low > high:
        return False
    x[column] = high if tiny.objective[column] > 0 else low
    return True


@dataclass(frozen=True, slots=True, eq=False)
class KnownAnswer:
    """A programme whose optimum is known.

    Attributes:
        program: the programme.
        objective: its optimum; None when it is infeasible.
        values: the optimal point, where it is the only one.
        exact: floating point cannot tell the optimum from an infeasible point; a solver that computes in it
            may come away without proof, or without a solution, but not with a wrong one.
    """

    program: Program
    objective: float | None
    values: tuple[float, ...] | None = None
    exact: bool = False


def _knapsack() -> KnownAnswer:
    """Values 60, 100, 120 and weights 10, 20, 30 in 50: the textbook's 220, leaving the best per weight."""
    return KnownAnswer(program([60, 100, 120], [([10, 20, 30], -_INF, 50)]), 220.0, (0, 1, 1))


def _assignment() -> KnownAnswer:
    """Three workers, three tasks, each once: 9 + 8 + 7 on the diagonal, every other matching is worse."""
    worth = [[9, 1, 2], [3, 8, 1], [2, 4, 7]]
    rows = []
    for i in range(3):
        rows.append(([1.0 if k // 3 == i else 0.0 for k in range(9)], 1, 1))
        rows.append(([1.0 if k % 3 == i else 0.0 for k in range(9)], 1, 1))
    flat = [float(v) for line in worth for v in line]
    return KnownAnswer(program(flat, rows), 24.0, (1, 0, 0, 0, 1, 0, 0, 0, 1))


def _infeasible() -> KnownAnswer:
    """Two binaries cannot sum to 3."""
    return KnownAnswer(program([1, 1], [([1, 1], 3, _INF)]), None)


def _infeasible_only_in_integers() -> KnownAnswer:
    """The row 2 x + 2 y = 3 has fractional points but no integral one."""
    return KnownAnswer(program([1, 1], [([2, 2], 3, 3)], upper=5), None)


def _no_columns() -> KnownAnswer:
    """Nothing to decide: the value is the offset."""
    return KnownAnswer(program([], [([], -1, 1)], offset=2.5), 2.5, ())


def _no_columns_infeasible() -> KnownAnswer:
    """Nothing to decide, and 0 breaks a row."""
    return KnownAnswer(program([], [([], 1, 2)]), None)


def _no_rows() -> KnownAnswer:
    """Only bounds: each column goes to its better end."""
    return KnownAnswer(program([2, -3, 0.5], lower=-1, upper=4), 2 * 4 + 3 + 0.5 * 4, (4, -1, 4))


def _empty_row() -> KnownAnswer:
    """A row without entries that 0 satisfies changes nothing."""
    return KnownAnswer(program([1], [([0], -1, 1), ([1], -_INF, 1)], upper=3), 1.0, (1,))


def _empty_row_infeasible() -> KnownAnswer:
    """A row without entries that 0 breaks makes all infeasible."""
    return KnownAnswer(program([1], [([0], 1, 2)]), None)


def _crossed_bounds() -> KnownAnswer:
    """An integral column between 0.4 and 0.6 has no value."""
    return KnownAnswer(program([1, 1], lower=[0, 0.4], upper=[1, 0.6]), None)


def _zero_objective() -> KnownAnswer:
    """Any feasible point is worth the offset."""
    return KnownAnswer(program([0, 0], [([1, 1], 1, 1)], offset=-7), -7.0)


def _equality() -> KnownAnswer:
    """Of 3 x + 5 y = 19 in 0..10 the only point is (3, 2): the next would be x = 8, y = -1."""
    return KnownAnswer(program([1, 10], [([3, 5], 19, 19)], upper=10), 23.0, (3, 2))


def _negative_bounds() -> KnownAnswer:
    """Worth x - y with x + y = -3 in -5..5: x = 2, y = -5."""
    return KnownAnswer(program([1, -1], [([1, 1], -3, -3)], lower=-5, upper=5), 7.0, (2, -5))


def _minimum_of_costs() -> KnownAnswer:
    """Costs only, cover 7 with 3s and 5s: 3 + 5 at cost 8 beats 3 + 3 + 3 at 9 and 5 + 5 at 10."""
    return KnownAnswer(program([-3, -5], [([3, 5], 7, _INF)], upper=9), -8.0, (1, 1))


def _large_general_integers() -> KnownAnswer:
    """Room of 7 x + 11 y <= 10^8 with worth 7 and 10: only x is worth its room; 14,285,714 of them."""
    count = 10**8 // 7
    return KnownAnswer(program([7, 10], [([7, 11], -_INF, 1e8)], upper=1e8), 7.0 * count, (count, 0))


def _large_bounds_that_do_not_bind() -> KnownAnswer:
    """Bounds of 10^9 on columns that a row keeps below 10."""
    return KnownAnswer(program([2, 3], [([1, 2], -_INF, 9)], upper=1e9), 18.0, (9, 0))


def _fixed_charge() -> KnownAnswer:
    """Big M, y <= 10^5 z: opening costs 50,000, each unit earns 1; 60,000 units pay for it."""
    rows = [([1.0, -1e5], -_INF, 0), ([1.0, 0], -_INF, 6e4)]
    return KnownAnswer(program([1, -5e4], rows, upper=[1e5, 1]), 1e4, (60_000, 1))


def _fixed_charge_not_worth_it() -> KnownAnswer:
    """The same with 40,000 units: better closed. Who takes z = 10^-6 for 0 gets 0.1 units for nothing."""
    rows = [([1.0, -1e5], -_INF, 0), ([1.0, 0], -_INF, 4e4)]
    return KnownAnswer(program([1, -5e4], rows, upper=[1e5, 1]), 0.0, (0, 0))


def _memory_in_bytes() -> KnownAnswer:
    """Tasks of 80, 48 and 33 GiB in 128 GiB: the first two fill it to the byte."""
    gib = float(2**30)
    return KnownAnswer(program([5, 3, 4], [([80 * gib, 48 * gib, 33 * gib], -_INF, 128 * gib)]), 9.0)


def _memory_short_by_a_byte() -> KnownAnswer:
    """Two tasks of half the memory each and one byte more: they do not fit together."""
    half = float(2**38)
    return KnownAnswer(program([2, 1], [([half + 1, half], -_INF, 2 * half)]), 2.0, (1, 0), exact=True)


def _wide_range_of_coefficients() -> KnownAnswer:
    """Worths from 1 to 10^5, one slot each: the small ones must not be lost beside the large."""
    objective = [1e5, 1.0, 1e5, 2.0, 1e5, 3.0]
    rows = [([1, 0, 1, 0, 1, 0], -_INF, 2), ([0, 1, 0, 1, 0, 1], -_INF, 2)]
    return KnownAnswer(program(objective, rows), 2e5 + 5.0)


def _tiny_coefficients() -> KnownAnswer:
    """A knapsack whose worths are some 10^-9: below the absolute tolerances of most solvers."""
    return KnownAnswer(program([6e-9, 10e-9, 12e-9], [([10, 20, 30], -_INF, 50)]), 22e-9, (0, 1, 1))


def _tiny_row_coefficients() -> KnownAnswer:
    """The same knapsack with weights and room in units of 10^-8."""
    return KnownAnswer(program([60, 100, 120], [([1e-7, 2e-7, 3e-7], -_INF, 5e-7)]), 220.0, (0, 1, 1))


def _nearly_equal() -> KnownAnswer:
    """Two options that differ by two millionths: the gap for OPTIMAL is finer."""
    return KnownAnswer(program([1.0, 1.000002], [([1, 1], -_INF, 1)]), 1.000002, (0, 1))


def _decimal_rows() -> KnownAnswer:
    """The row 0.1 + 0.2 <= 0.3 holds, whatever floating point says."""
    return KnownAnswer(program([1, 1], [([0.1, 0.2], -_INF, 0.3)]), 2.0, (1, 1))


def _irrational_rows() -> KnownAnswer:
    """Row sqrt(2) x + sqrt(3) y <= 10: of x + 1.3 y the best is (2, 4), which takes 9.76."""
    return KnownAnswer(
        program([1, 1.3], [([math.sqrt(2), math.sqrt(3)], -_INF, 10)], upper=10), 2 + 4 * 1.3, (2, 4)
    )


def _offset() -> KnownAnswer:
    """The offset is part of value and bound."""
    return KnownAnswer(program([1], offset=-1e4), -9999.0, (1,))


def _symmetric() -> KnownAnswer:
    """Eleven alike items of 3 in four alike bins of 8 (two each): 8 fit, in a great many ways."""
    items, bins = 11, 4
    once = [([1.0 if k // bins == i else 0.0 for k in range(items * bins)], -_INF, 1) for i in range(items)]
    room = [([3.0 if k % bins == b else 0.0 for k in range(items * bins)], -_INF, 8) for b in range(bins)]
    return KnownAnswer(program([1.0] * (items * bins), once + room), 8.0)


def _degenerate() -> KnownAnswer:
    """Many rows through the same corner: sums of pairs at most 1, sum of all at most 1."""
    rows: list[tuple[Sequence[float], float, float]] = [([1.0] * 6, -_INF, 1)]
    for i, j in itertools.combinations(range(6), 2):
        rows.append(([1.0 if k in {i, j} else 0.0 for k in range(6)], -_INF, 1))
    return KnownAnswer(program([1, 2, 3, 4, 5, 6], rows), 6.0, (0, 0, 0, 0, 0, 1))


def _odd_cycle() -> KnownAnswer:
    """Nodes of a cycle of seven, no two neighbours: 3, where the relaxation says 3.5."""
    rows = [([1.0 if k in {i, (i + 1) % 7} else 0.0 for k in range(7)], -_INF, 1) for i in range(7)]
    return KnownAnswer(program([1.0] * 7, rows), 3.0)


def _two_sided_rows() -> KnownAnswer:
    """Rows 4 <= x + y <= 6 and -1 <= x - y <= 1 with worth 3 and -1: x = 3, y = 2 beats x = 3, y = 3."""
    return KnownAnswer(program([3, -1], [([1, 1], 4, 6), ([1, -1], -1, 1)], upper=10), 7.0, (3, 2))


def _fixed_by_a_row_of_decimals() -> KnownAnswer:
    """Row 0 <= 0.2 x - 4.1 y <= 4 with x and y -1 or 0, worth 0.1 x - 0.2 y: (-1, -1) takes 3.9, worth 0.1.

    CBC's preprocessing fixes both at 0.
    """
    rows = [([0.2, -4.1], 0, 4)]
    return KnownAnswer(program([0.1, -0.2], rows, lower=-1, upper=0), 0.1, (-1, -1))


def _gangs_in_blocks() -> KnownAnswer:
    """Two hosts of 8: gangs of 8 (worth 8.5), 6, 3, 3, 2. The 8 fills one host; 6 + 2 the other, or
    3 + 3 + 2, each worth 8. Columns are z[gang, host].
    """
    sizes, worth = [8.0, 6, 3, 3, 2], [8.5, 6, 3, 3, 2]
    once = [([1.0 if k // 2 == gang else 0.0 for k in range(10)], -_INF, 1) for gang in range(5)]
    room = [
        ([float(sizes[k // 2]) if k % 2 == host else 0.0 for k in range(10)], -_INF, 8) for host in (0, 1)
    ]
    return KnownAnswer(program([worth[k // 2] for k in range(10)], once + room), 16.5)


def _mixed_fixed_charge() -> KnownAnswer:
    """A continuous amount up to 2.5 per opened site (at most 4, cost 1 each, worth 0.5 a unit), 7 in all."""
    return KnownAnswer(
        program([0.5, -1], [([1, -2.5], -_INF, 0), ([1, 0], -_INF, 7)], upper=[10, 4], integer=[False, True]),
        0.5 * 7.0 - 3.0,
        (7.0, 3),
    )


def _linear() -> KnownAnswer:
    """No integral column at all: max 3 x + 2 y, x + y <= 4, x + 3 y <= 6, x <= 3 is 11 at (3, 1)."""
    return KnownAnswer(
        program([3, 2], [([1, 1], -_INF, 4), ([1, 3], -_INF, 6)], upper=[3, 10], integer=False), 11.0, (3, 1)
    )


_BUILDERS: tuple[Callable[[], KnownAnswer], ...] = (
    _knapsack,
    _assignment,
    _infeasible,
    _infeasible_only_in_integers,
    _no_columns,
    _no_columns_infeasible,
    _no_rows,
    _empty_row,
    _empty_row_infeasible,
    _crossed_bounds,
    _zero_objective,
    _equality,
    _negative_bounds,
    _minimum_of_costs,
    _large_general_integers,
    _large_bounds_that_do_not_bind,
    _fixed_charge,
    _fixed_charge_not_worth_it,
    _memory_in_bytes,
    _memory_short_by_a_byte,
    _wide_range_of_coefficients,
    _tiny_coefficients,
    _tiny_row_coefficients,
    _nearly_equal,
    _decimal_rows,
    _irrational_rows,
    _offset,
    _symmetric,
    _degenerate,
    _odd_cycle,
    _two_sided_rows,
    _fixed_by_a_row_of_decimals,
    _gangs_in_blocks,
    _mixed_fixed_charge,
    _linear,
)

KNOWN_ANSWERS: Mapping[str, KnownAnswer] = {
    builder.__name__.removeprefix("_").replace("_", "-"): builder() for builder in _BUILDERS
}
"""Programmes with known answers by name."""


def hard_knapsack(columns: int = 60, rows: int = 5, seed: int = 0) -> Program:
    """A knapsack with several tight rows and worths close to the weights: a second is not enough for it."""
    random = np.random.default_rng(seed)
    weight = random.integers(400, 1000, (rows, columns)).astype(np.float64)
    worth = weight.mean(axis=0) + random.integers(0, 40, columns)
    limits = [(line.tolist(), -_INF, float(line.sum() // 2)) for line in weight]
    return program(worth.tolist(), limits)
