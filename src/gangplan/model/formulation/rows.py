"""Rows of the programme, gathered family by family."""

from __future__ import annotations

import math
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

    start: list[int] = field(default_factory=lambda: [0])
    column: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)

    def add(
        self, entries: Iterable[tuple[int, float]], upper: float = INFINITY, lower: float = -INFINITY
    ) -> None:
        """Add one row; entries on the same column are summed, zeros dropped, empty rows skipped."""
        merged: dict[int, float] = {}
        for column, value in entries:
            merged[column] = merged.get(column, 0.0) + value
        kept = [(column, value) for column, value in merged.items() if value]
        if not kept:
            return
        self.column.extend(column for column, _ in kept)
        self.value.extend(value for _, value in kept)
        self.start.append(len(self.column))
        self.lower.append(lower)
        self.upper.append(upper)

    def add_arrays(
        self, columns: IntArray, values: FloatArray, upper: float = INFINITY, lower: float = -INFINITY
    ) -> None:
        """Add one row from arrays; columns are distinct, zeros are dropped, empty rows skipped."""
        kept = np.flatnonzero(values)
        if len(kept):
            self.column.extend(columns[kept].tolist())
            self.value.extend(values[kept].tolist())
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
        self.column.extend(columns[order].tolist())
        self.value.extend(values[order].tolist())
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
        self.column.extend(columns.ravel().tolist())
        self.value.extend(both.ravel().tolist())
        self.lower.extend([-INFINITY] * number)
        self.upper.extend([upper] * number)

    def __len__(self) -> int:
        return len(self.lower)
