"""Least attained service, in queues."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance
from gangplan.planning.policies.in_order import attained, serve_in_order
from gangplan.planning.policies.protocol import How

NAME = "least-attained-service"
ABOUT = "who has had least service first, in steps that double; needs no durations"

FIRST_STEP = 3600.0
"""Device-seconds of service in the first queue; each further one ends at twice as many."""


@dataclass(frozen=True, slots=True)
class LeastAttainedService:
    """Serves jobs by the service they have had, and stops who has had more.

    The discretised two-dimensional form of Tiresias (Gu et al., NSDI 2019, section 3.2): jobs sink through
    queues as their service, devices times time, grows, and each queue is served first come, first served, so
    that two alike jobs do not take turns every round. Its queues end at service doubled each time, since one
    fixed step suits one cluster only; and whoever is started keeps its devices for a horizon, since with
    restarts of several rounds everybody would else lose more than it gets.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        return serve_in_order(round_, _rank, preempt=True, lease_seconds=round_.horizon_seconds)


def _rank(instance: Instance, j: int) -> tuple[float, ...]:
    came = instance.jobs[j].submit_time
    served = attained(instance, j)
    queue = 0 if served < FIRST_STEP else 1 + math.floor(math.log2(served / FIRST_STEP))
    return queue, math.inf if came is None else came


def make(how: How) -> LeastAttainedService:
    """The policy."""
    del how
    return LeastAttainedService()
