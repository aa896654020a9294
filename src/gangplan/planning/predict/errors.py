"""How wrong predictions were, on jobs that the predictor had not seen when they came."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gangplan.domain.quantiles import Quantiles


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A prediction beside what came.

    Attributes:
        said: seconds left.
        came: seconds that it took from then.
    """

    said: Quantiles
    came: float


@dataclass(frozen=True, slots=True)
class Errors:
    """How wrong a crowd of predictions was.

    Attributes:
        jobs: how many.
        coverage: by stated probability: the part of jobs that took no longer than predicted with it. A
            calibrated predictor has the same on both sides.
        pinball: mean pinball loss over jobs and probabilities, over the mean time that jobs took (Koenker and
            Bassett, Econometrica 46(1), 1978); 0 is perfect, and lower is better.
        median_relative_error: median over jobs of how far the median was off, over what came.
    """

    jobs: int
    coverage: Mapping[float, float]
    pinball: float
    median_relative_error: float


def errors_of(foreseen: Iterable[Foreseen]) -> Errors | None:
    """The errors of predictions; None without any."""
    all_of_them = list(foreseen)
    if not all_of_them:
        return None
    hits: dict[float, list[bool]] = {}
    losses, off = [], []
    for one in all_of_them:
        for probability, value in zip(one.said.probabilities, one.said.values, strict=True):
            over = one.came - value
            hits.setdefault(probability, []).append(over <= 0.0)
            losses.append(max(probability * over, (probability - 1.0) * over))
        off.append(abs(_median(one.said) - one.came) / max(one.came, 1e-9))
    mean = statistics.fmean(one.came for one in all_of_them)
    return Errors(
        jobs=len(all_of_them),
        coverage={probability: statistics.fmean(hit) for probability, hit in sorted(hits.items())},
        pinball=statistics.fmean(losses) / max(mean, 1e-9),
        median_relative_error=statistics.median(off),
    )


def _median(said: Quantiles) -> float:
    """The value at the probability next to one half."""
    nearest = min(range(len(said.values)), key=lambda i: abs(said.probabilities[i] - 0.5))
    return said.values[nearest]
