"""Draws with a few turns of phrase."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


NOW = 1_000_000.0
"""``now`` of every drawn round."""


GIB = 2**30


class Draw:
    """``draw`` with a few turns of phrase."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def chance(self, percent: int) -> bool:
        """True in ``percent`` of 100 draws; shrinks to False."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def one(self, values: Sequence[T]) -> T:
        """One of ``values``; shrinks to the first."""
        return self.draw(st.sampled_from(values))

    def number(self, bounds: tuple[int, int]) -> int:
        """An integer within ``bounds``."""
        return self.draw(st.integers(*bounds))

    def order(self, count: int) -> tuple[int, ...]:
        """The numbers below ``count`` in any order."""
        return tuple(self.draw(st.permutations(range(count))))
