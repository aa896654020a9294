"""Gavel's heterogeneity-aware least attained service: max-min fairness of normalised throughput."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.model.program import FloatArray
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.rates import Rates
from gangplan.planning.policies.solving import solved
from gangplan.planning.policies.time_sharing import equal_share, share_time
from gangplan.planning.programmes import max_min

NAME = "gavel-max-min"
ABOUT = "shares of time by which the worst normalised throughput is largest; needs no durations"


@dataclass(frozen=True, slots=True)
class GavelMaxMin:
    """Max-min fairness over effective throughput (Narayanan et al., OSDI 2020, section 4.1).

    Its programme is :mod:`gangplan.planning.programmes.max_min`, its rounds
    :mod:`gangplan.planning.policies.time_sharing`. Jobs count alike; no two share a device.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        return share_time(round_, before, NAME, _allocate)


def _allocate(rates: Rates, isolated: FloatArray) -> FloatArray:
    del isolated
    fair = equal_share(rates)
    scaled = rates.throughput / np.where(fair > 0, fair, 1.0)[:, None]
    return max_min.largest_minimum(scaled, rates.gang, rates.devices, solved)


def make(how: How) -> GavelMaxMin:
    """The policy."""
    del how
    return GavelMaxMin()
