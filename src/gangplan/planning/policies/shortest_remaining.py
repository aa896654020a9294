"""Shortest remaining time first."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance
from gangplan.model.verifier.gates import undisturbed
from gangplan.planning.policies.in_order import attained, remaining, serve_in_order
from gangplan.planning.policies.protocol import How

NAME = "shortest-remaining"
ABOUT = "who needs least time at its reference speed first, who runs is stopped for it"


@dataclass(frozen=True, slots=True)
class ShortestRemaining:
    """Serves jobs by the time that they need at the throughput of their request, packed on its best type.

    Where that is not known, attained service takes its place, behind all of whom it is known (decision 15),
    and whoever is started keeps its devices for a horizon: who is behind changes every round. So it does for
    predicted times, which grow while a job runs on beyond what was expected.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        known = all(job.work_left is not None for job in round_.jobs)
        lease = 0.0 if known else round_.horizon_seconds
        return serve_in_order(round_, _rank, preempt=True, lease_seconds=lease)

    def steady_until(self, round_: Round) -> float:
        """For ever where times are known and everybody may be disturbed: who runs gets ahead of who waits."""
        known = all(job.work_left is not None and not undisturbed(job, round_) for job in round_.jobs)
        return math.inf if known else round_.now


def _rank(instance: Instance, j: int) -> tuple[float, ...]:
    left = remaining(instance, j)
    came = instance.jobs[j].submit_time
    since = math.inf if came is None else came
    return (0.0, left, since) if left is not None else (1.0, attained(instance, j), since)


def make(how: How) -> ShortestRemaining:
    """The policy."""
    del how
    return ShortestRemaining()
