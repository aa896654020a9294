"""Rows of the programme, gathered family by family."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from gangplan.model.program import FloatArray, IntArray

INFINITY = math.inf


@dataclass(slots=True)
class Rows:
    """Rows of one family: ``lower <= sum(value * column) <= upper``.

    Attributes:
        start: row pointers into ``column`` and ``value``.
        column, value: entries.
        lower, upper: row limits; may be infinite on one side.
    """

    start: array[int] = field(default_factory=lambda: array("q", [0]))
    column: array[int] = field(default_factory=lambda: array("q"))
    value: array[float] = field(default_factory=lambda: array("d"))
    lower: array[float] = field(default_factory=lambda: array("d"))
    upper: array[float] = field(default_factory=lambda: array("d"))

    def add(
        self, entries: Iterable[tuple[int, float]], upper: float = INFINITY, lower: float = -INFINITY
    ) -> None:
        """Add one row; entries on the same column are summed, zeros dropped, empty rows skipped."""
        merged: dict[int, float] = {}
        for column, value in entries:
            merged[column] = merged[column] + value if column in merged else value
        if 0.0 in merged.values():
            merged = {column: value for column, value in merged.items() if value}
        if not merged:
            return
        self.column.extend(merged)
        self.value.extend(merged.values())
        self.start.append(len(self.column))
        self.lower.append(lower)
        self.upper.append(upper)

    def add_arrays(
        self, columns: IntArray, values: FloatArray, upper: float = INFINITY, lower: float = -INFINITY
    ) -> None:
        """Add one row from arrays; columns are distinct, zeros are dropped, empty rows skipped."""
        kept = values != 0.0
        if kept.any():
            self._extend(columns[kept], values[kept])
            self.start.append(len(self.column))
            self.lower.append(lower)
            self.upper.append(upper)

    def add_grouped(
        self, row_of: IntArray, columns: IntArray, values: FloatArray, upper: FloatArray, lower: FloatArray
    ) -> None:
        """Add one row for every group of entries that has any.

        Args:
            row_of: shape (entries,), the group of each entry.
            columns: shape (entries,), distinct within a group.
            values: shape (entries,), no zeros.
            upper: shape (groups,).
            lower: shape (groups,).
        """
        order = np.argsort(row_of, kind="stable")
        counts = np.bincount(row_of, minlength=len(upper))
        some = np.flatnonzero(counts)
        self.start.extend((np.cumsum(counts[some]) + len(self.column)).tolist())
        self._extend(columns[order], values[order])
        self.lower.extend(lower[some].tolist())
        self.upper.extend(upper[some].tolist())

    def add_pairs(
        self, first: int, value: float, others: IntArray, values: FloatArray, upper: float = INFINITY
    ) -> None:
        """Add one row of two entries, ``first`` and one of the ``others``, for each of these; no zeros."""
        number = len(others)
        columns, both = np.full((number, 2), first, dtype=np.int64), np.full((number, 2), value)
        columns[:, 1], both[:, 1] = others, values
        self.start.extend(range(len(self.column) + 2, len(self.column) + 2 * number + 1, 2))
        self._extend(columns.ravel(), both.ravel())
        self.lower.extend([-INFINITY] * number)
        self.upper.extend([upper] * number)

    def _extend(self, columns: IntArray, values: FloatArray) -> None:
        self.column.frombytes(columns.astype(np.int64, copy=False).tobytes())
        self.value.frombytes(values.astype(np.float64, copy=False).tobytes())

    def __len__(self) -> int:
        return len(self.lower)
