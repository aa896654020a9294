"""Coarse time: buckets one round long at first, and growing (decision 31).

Fine where decisions are near and coarse beyond, as in TetriSched's dynamic discretisation (Tumanov et al.,
EuroSys 2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.program import FloatArray

NEAR = 4
"""Buckets that are one round long."""
MOST_BUCKETS = 16
LONGEST_SECONDS = 20.0 * 365 * 86_400
"""What lies further ahead is not looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Time from now on, cut into pieces.

    Attributes:
        edges: shape (buckets + 1,), seconds from now, ascending from 0.
    """

    edges: FloatArray

    @property
    def count(self) -> int:
        """Number of buckets."""
        return len(self.edges) - 1

    @property
    def seconds(self) -> FloatArray:
        """Length of each, shape (buckets,)."""
        return np.diff(self.edges)

    @property
    def middle(self) -> FloatArray:
        """Middle of each, seconds from now, shape (buckets,)."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @property
    def end(self) -> float:
        """End of the last, seconds from now."""
        return float(self.edges[-1])

    def until(self, seconds: float) -> int:
        """Buckets that begin before ``seconds`` from now: the last of them may end later."""
        return int(np.searchsorted(self.edges[:-1], seconds, side="left"))


def build_buckets(round_seconds: float, end: float, most: int = MOST_BUCKETS) -> Buckets:
    """Buckets that reach ``end``: at most ``most``, the first ones one round long, the others ever longer.

    Args:
        round_seconds: length of a round, positive.
        end: seconds from now; what lies beyond twenty years is not looked at.
        most: at least one more than :data:`NEAR`.
    """
    end = min(max(end, round_seconds), LONGEST_SECONDS)
    if end <= most * round_seconds:
        count = int(np.ceil(end / round_seconds - 1e-9))
        return Buckets(round_seconds * np.arange(count + 1, dtype=np.float64))
    far = most - NEAR
    low, high = 1.0, 2.0
    while _reach(high, far) * round_seconds < end:
        high *= 2.0
    for _ in range(60):
        middle = (low + high) / 2
        if _reach(middle, far) * round_seconds < end:
            low = middle
        else:
            high = middle
    lengths = np.concatenate((np.ones(NEAR), high ** np.arange(1, far + 1)))
    return Buckets(round_seconds * np.concatenate(([0.0], np.cumsum(lengths))))


def _reach(growth: float, far: int) -> float:
    """Rounds that the near buckets and ``far`` growing ones cover."""
    return NEAR + float((growth ** np.arange(1, far + 1)).sum())
