"""What a voluntary stop costs: lost work, and the horizon over which it is spread (decision 13)."""

from __future__ import annotations

from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.model.instance.left import counted_left


def lost_seconds(job: Job, round_: Round) -> float:
    """Running time that a stop loses: that of writing a checkpoint, or since the last one.

    Unknown is the worst case.
    """
    if job.running is None:
        return 0.0
    if job.checkpoint_seconds > 0.0:
        return job.checkpoint_seconds
    if job.running.checkpoint_age_seconds is not None:
        return max(0.0, job.running.checkpoint_age_seconds)
    for since in (job.running.started_at, job.submit_time):
        if since is not None:
            return max(0.0, round_.now - since)
    return round_.horizon_seconds


def horizon_seconds(job: Job, round_: Round, throughput: float) -> float:
    """H: expected time to the next change or the time left, whichever is less; at least one round.

    Work left that is unknown or 0 (done, yet still there) says nothing about the time left.
    """
    left = round_.horizon_seconds
    work = counted_left(job, round_.policy.fairness_quantile)
    if work is not None and work > 0.0 and throughput > 0.0:
        left = min(left, work / throughput)
    return max(round_.round_seconds, left)
