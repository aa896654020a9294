"""What is known of an amount that nobody knows: quantiles of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantiles:
    """A distribution over amounts of 0 or more, in parallel lists of one length, at least 1.

    Between two of them the quantile is a straight line; below the first it is the first, above the last the
    last.

    Attributes:
        probabilities: each above 0 and below 1, strictly ascending.
        values: the amount that is not exceeded with each of them, ascending.
    """

    probabilities: tuple[float, ...]
    values: tuple[float, ...]
