"""Rows of the programme, gathered family by family."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

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

    def __len__(self) -> int:
        return len(self.lower)
