"""How many deadlines any policy could meet: a bound, so that figures say how much is left to gain."""

from __future__ import annotations

import math

from gangplan.model.verifier.throughput import Throughput
from gangplan.planning.rounds.history import Arrival, History

_EDGE = 1e-6
"""Seconds, and parts of a round, by which rounding may put an end or a beginning off."""


def deadlines_in_reach(history: History) -> int:
    """Deadlines that their jobs would meet alone on the whole cluster, each as fast as it can ever be.

    It begins with the first round that begins at or after its submission, pays its start unless it runs
    already, and goes on at its best throughput of any allowed counts and types, present or not. Nobody ends
    sooner under any policy, so that nobody meets more deadlines; that they can all be met together, it does
    not say.
    """
    throughput = Throughput(history.template)
    return sum(_in_reach(arrival, history, throughput) for arrival in history.arrivals)


def _in_reach(arrival: Arrival, history: History, throughput: Throughput) -> bool:
    job, start, length = arrival.job, history.template.now, history.template.round_seconds
    if job.deadline is None:
        return False
    best = throughput.best(job.component)
    if best <= 0.0:
        return False
    rounds = max(0, math.ceil(((job.submit_time or 0.0) - start) / length - _EDGE))
    delay = job.restart_seconds if job.running is None else 0.0
    return start + rounds * length + delay + (arrival.work - job.work_done) / best <= job.deadline + _EDGE
