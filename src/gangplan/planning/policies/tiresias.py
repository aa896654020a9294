"""Tiresias: discretised two-dimensional least attained service."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.verifier.gates import undisturbed
from gangplan.planning.policies.in_order import attained
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.wishes import carry_out, choose, wish_as_asked

NAME = "tiresias"
ABOUT = "three queues by device time received, each first come, first served; needs no durations"

QUEUE_ENDS = (3250.0, 7200.0)
"""Device-seconds of service at which a job sinks to the next queue, those of the public code."""


@dataclass(frozen=True, slots=True)
class Tiresias:
    """Serves queue by queue, and within a queue first who runs, then in the order of arrival (2D-LAS).

    Gu et al., *Tiresias* (NSDI 2019, section 3.2.2): a job's priority falls with devices times time, in
    steps, so that jobs of one queue do not take turns; whoever is in a lower queue is stopped for whoever
    waits in a higher one. Who has just sunk into a queue comes behind those that wait there. The paper finds
    two queues enough; the two ends are those of its code. Nobody is promoted for having waited long (its
    PROMOTEKNOB at infinity, the code's default).
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        instance = build_instance(round_)
        order = sorted(range(len(instance.jobs)), key=lambda j: _rank(instance, j))
        return carry_out(instance, *choose(instance, wish_as_asked(instance, order)))

    def steady_until(self, round_: Round) -> float:
        """Until the first running job reaches the end of its queue."""
        until = math.inf
        for job in round_.jobs:
            if undisturbed(job, round_):
                return round_.now
            if job.running is None:
                continue
            if job.service_received_device_seconds is None:
                return round_.now
            served = job.service_received_device_seconds
            ends = [end for end in QUEUE_ENDS if end > served]
            devices = sum(g.count * g.devices_per_task for g in job.component.task_groups)
            if ends and devices:
                until = min(until, round_.now + (ends[0] - served) / devices)
        return until


def _rank(instance: Instance, j: int) -> tuple[float, int, float, str]:
    job = instance.jobs[j]
    served = attained(instance, j)
    queue = bisect_right(QUEUE_ENDS, served)
    devices = sum(g.count * g.devices_per_task for g in job.component.task_groups)
    sunk = queue > 0 and served - QUEUE_ENDS[queue - 1] < devices * instance.round.round_seconds
    turn = 1 if job.running is None else 2 if sunk else 0
    return queue, turn, math.inf if job.submit_time is None else job.submit_time, job.name


def make(how: How) -> Tiresias:
    """The policy."""
    del how
    return Tiresias()
