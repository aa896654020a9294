"""What a voluntary stop costs: lost work, and the horizon over which it is spread (decision 13)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.model.instance.columns import column
from gangplan.model.instance.left import all_left
from gangplan.model.program import FloatArray


def lost_seconds(jobs: Sequence[Job], round_: Round) -> FloatArray:
    """Running time that a stop of each job loses: that of writing a checkpoint, or since the last one.

    Unknown is the worst case; who waits loses nothing.
    """
    found = np.zeros(len(jobs))
    at = [i for i, job in enumerate(jobs) if job.running is not None]
    mine = [jobs[i] for i in at]
    last = np.maximum(0.0, column(mine, "running.checkpoint_age_seconds"))
    since = column(mine, "running.started_at")
    since = np.where(np.isnan(since), column(mine, "submit_time"), since)
    last = np.where(np.isnan(last), np.maximum(0.0, round_.now - since), last)
    last = np.where(np.isnan(last), round_.horizon_seconds, last)
    written = column(mine, "checkpoint_seconds")
    found[at] = np.where(written > 0.0, written, last)
    return found


def horizon_seconds(jobs: Sequence[Job], round_: Round, throughput: FloatArray) -> FloatArray:
    """H of each job: expected time to the next change or its time left, the lesser; at least one round.

    Work left that is unknown or 0 (done, yet still there) says nothing about the time left.

    Args:
        jobs: the jobs.
        round_: the round.
        throughput: of each, work units per second.
    """
    work = all_left(jobs, round_.policy.fairness_quantile)
    left = np.full(len(jobs), round_.horizon_seconds)
    known = (work > 0.0) & (throughput > 0.0)
    with np.errstate(over="ignore"):
        left[known] = np.minimum(left[known], work[known] / throughput[known])
    found: FloatArray = np.maximum(round_.round_seconds, left)
    return found
