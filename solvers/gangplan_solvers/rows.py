"""Rows as solvers like them: integral ones divided by their common divisor, others scaled by powers of two.

Memory in bytes becomes small integers, and a row's tolerance means the same whatever its unit. Every step is
exact in floating point, and no integral point is cut off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.program import BoolArray, FloatArray, IntArray, Program

_EXACT = 2.0**53
_SMALL, _LARGE = 1.0, 2.0**20


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """A programme's rows, scaled.

    Attributes:
        value: shape (nonzeros,), entries after scaling.
        lower, upper: shape (rows,), limits after scaling.
        factor: shape (rows,), what each row was multiplied by.
        integral: shape (rows,), True where every entry is an integer of an integral column.
    """

    value: FloatArray
    lower: FloatArray
    upper: FloatArray
    factor: FloatArray
    integral: BoolArray


def row_of_entry(program: Program) -> IntArray:
    """Row index of each entry, shape (nonzeros,)."""
    return np.repeat(np.arange(program.rows), np.diff(program.row_start))


def integral_rows(program: Program) -> BoolArray:
    """Rows whose entries are all integers below 2^53 of integral columns, shape (rows,); empty rows too."""
    value = program.value
    odd = (value != np.round(value)) | (np.abs(value) >= _EXACT) | ~program.integer[program.column_index]
    integral: BoolArray = np.bincount(row_of_entry(program)[odd], minlength=program.rows) == 0
    return integral


def largest_entry(program: Program, weight: FloatArray) -> FloatArray:
    """Per row the largest ``|value| * weight`` with ``weight`` of shape (nonzeros,); 0 for an empty row."""
    largest = np.zeros(program.rows)
    filled = np.diff(program.row_start) > 0
    if filled.any():
        largest[filled] = np.maximum.reduceat(np.abs(program.value) * weight, program.row_start[:-1][filled])
    return largest


def scale(program: Program, *, relax: bool = False) -> Rows:
    """The rows of ``program``, scaled.

    An integral row is divided by the greatest common divisor of its entries and its limits are rounded inward
    to integers (not for the linear relaxation, whose value that would change). Any other row whose largest
    entry is below 1 or above 2^20 is multiplied by the power of two that brings it to [1, 2) or [2^19, 2^20).
    """
    integral = integral_rows(program)
    filled = np.diff(program.row_start) > 0
    largest = largest_entry(program, np.ones(program.nonzeros))
    target = np.where(largest < _SMALL, _SMALL, np.where(largest > _LARGE, _LARGE / 2, largest))
    exponent = np.zeros(program.rows)
    moved = filled & (target != largest)
    exponent[moved] = np.ceil(np.log2(target[moved] / largest[moved]))
    factor = np.exp2(exponent)

    divisor = np.ones(program.rows)
    divided = integral & filled
    if divided.any():
        starts = program.row_start[:-1][filled]
        whole = np.where(integral[row_of_entry(program)], np.abs(program.value), 1.0).astype(np.int64)
        divisor[filled] = np.gcd.reduceat(whole, starts)
        factor[integral] = 1.0
    value = program.value * factor[row_of_entry(program)] / divisor[row_of_entry(program)]
    lower, upper = program.row_lower, program.row_upper
    if not relax:  # quotients of integers below 2^53 round to an integer only when they are one
        lower = np.where(divided, np.ceil(np.ceil(lower - 1e-9) / divisor) * divisor, lower)
        upper = np.where(divided, np.floor(np.floor(upper + 1e-9) / divisor) * divisor, upper)
    return Rows(value, lower * factor / divisor, upper * factor / divisor, factor / divisor, integral)
