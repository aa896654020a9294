"""Earliest deadline first."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.verifier.gates import undisturbed
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.wishes import Wish, carry_out, choose, ways_of

NAME = "earliest-deadline"
ABOUT = "the earliest deadline first, with as many devices as the job may have; who runs is stopped for it"


@dataclass(frozen=True, slots=True)
class EarliestDeadline:
    """Serves jobs by their deadlines (Liu and Layland, *JACM* 20(1), 1973), without admission control.

    A job that may have several counts gets the largest for which there are devices, as the baseline of that
    name in Gu et al., *ElasticFlow* (ASPLOS 2023, section 6.1, and its public code) does: that is often more
    than it has use for. Who has no deadline comes last, first come, first served.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        instance = build_instance(round_)
        order = sorted(range(len(instance.jobs)), key=lambda j: _rank(instance, j))
        return carry_out(instance, *choose(instance, [Wish(j, _widest(instance, j)) for j in order]))

    def steady_until(self, round_: Round) -> float:
        """For ever: nothing changes the order; unless who is left alone now may be stopped later."""
        alone = any(undisturbed(job, round_) for job in round_.jobs)
        return round_.now if alone else math.inf


def _rank(instance: Instance, j: int) -> tuple[float, float, str]:
    job = instance.jobs[j]
    by = math.inf if job.deadline is None else job.deadline
    return by, math.inf if job.submit_time is None else job.submit_time, job.name


def _widest(instance: Instance, j: int) -> tuple[int, ...]:
    """Options with most devices first, of these the fastest first."""
    return tuple(sorted(ways_of(instance, j), key=lambda k: -int(instance.devices[k])))


def make(how: How) -> EarliestDeadline:
    """The policy."""
    del how
    return EarliestDeadline()
