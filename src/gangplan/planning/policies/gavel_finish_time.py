"""Gavel's finish-time fairness: shares of time by which the worst ratio of finish times is least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.model.program import FloatArray
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.rates import Rates
from gangplan.planning.policies.solving import solved
from gangplan.planning.policies.time_sharing import share_time
from gangplan.planning.programmes import finish_time

NAME = "gavel-finish-time"
ABOUT = "shares of time by which the worst finish-time ratio is least"


@dataclass(frozen=True, slots=True)
class GavelFinishTime:
    """Heterogeneity-aware finish-time fairness (Narayanan et al., OSDI 2020, section 4.2).

    By bisection over linear programmes (:mod:`gangplan.planning.programmes.finish_time`), each job on its own
    throughputs (its public code takes those of one type for all). Of durations that nobody knows it takes
    :func:`~gangplan.planning.policies.rates.left_or_guessed`.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        return share_time(round_, before, NAME, _allocate)


def _allocate(rates: Rates, isolated: FloatArray) -> FloatArray:
    shares = np.zeros_like(rates.throughput)
    some = np.flatnonzero((rates.throughput * (rates.devices > 0)).sum(axis=1) > 0)
    if not len(some):
        return shares
    asked = finish_time.TimeShares(
        throughput=rates.throughput[some],
        gang=rates.gang[some],
        devices=rates.devices,
        elapsed=rates.age[some],
        left=rates.left[some],
        isolated=isolated[some],
    )
    fairest = finish_time.bisect(asked, solved)
    shares[some] = fairest.shares if fairest else np.where(asked.throughput > 0, 1.0 / shares.shape[1], 0.0)
    return shares


def make(how: How) -> GavelFinishTime:
    """The policy."""
    del how
    return GavelFinishTime()
