"""Whether a point keeps to its bounds, over the seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from gangplan.planning.study.schema import Bound
from gangplan.planning.study.task import Outcome


class Kept(Enum):
    """Whether a point keeps to its bounds."""

    YES = "yes"
    NO = "no"
    OPEN = "open"
    """The seeds do not agree well enough for either."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the seeds say of a point.

    Attributes:
        kept: whether it keeps to its bounds.
        times: in how many draws it does.
        draws: how many there are.
        confidence: of YES or NO, or of the likelier of both where it is OPEN; 1 with a single draw, of which
            alone it speaks.
    """

    kept: Kept
    times: int
    draws: int
    confidence: float


def verdict(outcomes: Sequence[Outcome], where: Mapping[str, Bound], confidence: float) -> Verdict:
    """The verdict on one point.

    A sign test: if no more than half of all draws kept to the bounds, ``k`` or more of ``n`` would with a
    chance of at most the upper tail of the binomial distribution at one half (Conover, *Practical
    Nonparametric Statistics*, 3rd edition, 1999, section 3.4). Nothing is assumed of how figures spread.

    Args:
        outcomes: one for each seed; one that failed keeps to nothing.
        where: the bounds.
        confidence: that YES or NO needs.
    """
    draws = len(outcomes)
    times = sum(keeps(outcome, where) for outcome in outcomes)
    if draws == 1:
        return Verdict(Kept.YES if times else Kept.NO, times, 1, 1.0)
    likely = max(times, draws - times)
    sure = 1.0 - tail(likely, draws)
    if sure < confidence:
        return Verdict(Kept.OPEN, times, draws, max(0.0, sure))
    return Verdict(Kept.YES if times == likely else Kept.NO, times, draws, sure)


def keeps(outcome: Outcome, where: Mapping[str, Bound]) -> bool:
    """Whether one draw keeps to all bounds."""
    return not outcome.error and all(bound.kept(outcome.figures.get(name)) for name, bound in where.items())


def tail(times: int, draws: int) -> float:
    """The chance of ``times`` or more heads in so many fair tosses."""
    return math.fsum(math.comb(draws, k) for k in range(times, draws + 1)) / 2.0**draws


def least_draws(confidence: float) -> int:
    """The least number of draws with which anything can be said with so much confidence."""
    return max(2, math.ceil(-math.log2(1.0 - confidence) - 1e-12))
