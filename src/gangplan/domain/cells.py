"""Throughput by cell, of very many profiles that list the same cells."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

Cell = tuple[str, int, str]
"""Accelerator type, task count, scope."""


class Cells(Mapping[Cell, float]):
    """A mapping as any other; which cells there are is one dict for all that list the same ones.

    Nobody changes one: it is part of an immutable round.

    Attributes:
        place: position of every cell, shared.
        figures: throughput by position, work units per second.
    """

    __slots__ = ("figures", "place")

    def __init__(self, place: Mapping[Cell, int], figures: array[float]) -> None:
        self.place = place
        self.figures = figures

    def __getitem__(self, cell: Cell) -> float:
        return self.figures[self.place[cell]]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.place)

    def __len__(self) -> int:
        return len(self.place)

    def __contains__(self, cell: object) -> bool:
        return cell in self.place

    def __repr__(self) -> str:
        return repr(dict(self))

    def get(self, cell: Cell, default: Any = None) -> Any:
        """The throughput of a cell; ``default`` where it is not listed."""
        at = self.place.get(cell)
        return default if at is None else self.figures[at]


def listed(cells: Mapping[Cell, float]) -> object:
    """A key: mappings with the same one list the same cells in the same order (hashing them takes long)."""
    return id(cells.place) if type(cells) is Cells else tuple(cells)


def figures(rows: Sequence[Mapping[Cell, float]]) -> bytes:
    """The throughputs of mappings that list the same cells, one after the other, as doubles."""
    if set(map(type, rows)) == {Cells}:
        return b"".join([row.figures for row in rows])  # type: ignore[attr-defined]
    return array("d", chain.from_iterable(row.values() for row in rows)).tobytes()
