"""Gavel's largest total throughput."""

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
from gangplan.planning.programmes import total_throughput

NAME = "gavel-total-throughput"
ABOUT = "shares of time by which the sum of throughputs is largest, in the jobs' own units"


@dataclass(frozen=True, slots=True)
class GavelTotalThroughput:
    """Most work per second over all jobs (Narayanan et al., OSDI 2020, section 4.2).

    The rival of that name in Jayaram Subramanya et al., *Sia* (SOSP 2023). It starves who counts large units:
    its jobs share the rest that nobody else has use for (:mod:`gangplan.planning.policies.time_sharing`).
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        return share_time(round_, before, NAME, _allocate)


def _allocate(rates: Rates, isolated: FloatArray) -> FloatArray:
    del isolated
    if not rates.throughput.size:
        return np.zeros_like(rates.throughput)
    values = solved(total_throughput.formulate(rates.throughput, rates.gang, rates.devices)).values
    if values is None:
        return np.where(rates.throughput > 0, 1.0 / rates.throughput.shape[1], 0.0)
    return values.reshape(rates.throughput.shape)


def make(how: How) -> GavelTotalThroughput:
    """The policy."""
    del how
    return GavelTotalThroughput()
