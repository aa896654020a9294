"""Means and percentiles of what may be nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def percentile(values: Iterable[float], share: float) -> float | None:
    """The least value that at least ``share`` of all do not exceed (nearest rank); None without any."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def mean(values: Sequence[float]) -> float | None:
    """The mean; None without any."""
    return math.fsum(values) / len(values) if values else None
