"""Columns: what is read of every thing of a round, as arrays, read again only of the things that are other.

A column is a function of a thing, and of what stands beside: a field of a job, or a number made of some of
its fields. Where a round follows one that is much the same, a column is the last one with other entries where
there are other things, told apart by identity. So it comes out exactly as if it were read anew. What hangs on
the whole round (a median, the time) is no column; it is one step from columns to arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gangplan.kept import Kept, moves, same

T = TypeVar("T")
Array = NDArray[Any]


class _Column(NamedTuple):
    """One column, and what its entries hang on beside the things."""

    beside: tuple[object, ...]
    values: Array


class Columns(Generic[T]):
    """Columns of some things, each read when it is first asked for; none may be written to.

    Of the last round are held the columns that it asked for, and no others.

    Args:
        things: what the columns are of; keeps their identities their own.
        last: of an earlier round; None: there is none.
    """

    __slots__ = ("_last", "_made", "_new", "_source", "things")

    def __init__(self, things: Sequence[T], last: Columns[T] | None = None) -> None:
        self.things = things
        self._made: dict[str, _Column] = {}
        self._last: dict[str, _Column] = {}
        self._source: NDArray[np.int64] | None = None
        self._new: list[int] = []
        if last is not None and last.things:
            self._last = last._made
            self._source, self._new = _places(last.things, things)

    def __len__(self) -> int:
        return len(self.things)

    def numbers(self, field: str) -> NDArray[np.float64]:
        """The numbers that things have under a name (dots lead to a part's), NaN where they have None."""

        def read(things: Sequence[T]) -> Array:
            return np.array(list(map(attrgetter(field), things)), dtype=np.float64)

        return self.of(field, read)

    def has(self, field: str) -> NDArray[np.bool_]:
        """Which things have something else than None under a name."""

        def read(things: Sequence[T]) -> Array:
            return np.array([one is not None for one in map(attrgetter(field), things)], dtype=np.bool_)

        return self.of(f"{field}?", read)

    def of(self, name: str, read: Callable[[Sequence[T]], Array], *beside: object) -> Array:
        """The column of a name.

        Args:
            name: of the column; it stands for ``read``.
            read: the entries of some things, one for each, whatever other things there are.
            beside: all that every entry hangs on, beside the thing.
        """
        known = self._made.get(name)
        if known is not None and same(known.beside, beside):
            return known.values
        last = self._last.get(name)
        if last is None or not same(last.beside, beside):
            values = read(self.things)
        else:
            values = last.values if self._source is None else last.values[self._source]
            if self._new:
                values = values.copy() if self._source is None else values
                values[self._new] = read([self.things[i] for i in self._new])
        values.flags.writeable = False
        self._made[name] = _Column(beside, values)
        return values


def columns_of(kept: Kept, name: str, things: Sequence[T]) -> Columns[T]:
    """Columns of ``things``, with those of the last round of this name."""

    def follow(last: Columns[T] | None) -> Columns[T]:
        return Columns(things, last)

    return kept.after(name, follow)


def _places(before: Sequence[T], things: Sequence[T]) -> tuple[NDArray[np.int64] | None, list[int]]:
    """Where each thing stood before, and the positions of those that are new.

    None: where it stands now, as far as it is not new. A new thing has some place or other.
    """
    new, moved = moves(before, things)
    if not moved and len(before) == len(things):
        return None, new
    source = np.arange(len(things))
    source[len(before) :] = 0
    for i, at in moved:
        source[i] = at
    return source, new
