"""Which points no other one beats, and how much room each has on the front."""

from __future__ import annotations

import math
from collections.abc import Sequence

Scores = tuple[float, ...]
"""What less is better of, one for each figure."""


def dominates(one: Scores, other: Scores) -> bool:
    """Whether one is nowhere worse and somewhere better (Pareto)."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other


def front(scores: Sequence[Scores]) -> list[int]:
    """Places of the points that no other one dominates, in order; of equal ones the first."""
    found = []
    for k, mine in enumerate(scores):
        beaten = any(dominates(other, mine) or (other == mine and j < k) for j, other in enumerate(scores))
        if not beaten:
            found.append(k)
    return found


def crowding(scores: Sequence[Scores]) -> list[float]:
    """How far the neighbours of each point on a front are, all figures together; endless at the ends.

    Deb, Pratap, Agarwal and Meyarivan, *A fast and elitist multiobjective genetic algorithm: NSGA-II*, IEEE
    Transactions on Evolutionary Computation 6, 2002, section III-B.
    """
    room = [0.0] * len(scores)
    for m in range(len(scores[0]) if scores else 0):
        order = sorted(range(len(scores)), key=lambda k: scores[k][m])
        span = scores[order[-1]][m] - scores[order[0]][m]
        room[order[0]] = room[order[-1]] = math.inf
        for place in range(1, len(order) - 1):
            if span > 0:
                gap = scores[order[place + 1]][m] - scores[order[place - 1]][m]
                room[order[place]] += gap / span
    return room
