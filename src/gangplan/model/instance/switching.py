"""What a voluntary stop costs: lost work, and the horizon over which it is spread (decision 13)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from gangplan.columns import Columns
from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.model.program import FloatArray


def lost_seconds(jobs: Columns[Job], round_: Round) -> FloatArray:
    """Running time that a stop of each job loses: that of writing a checkpoint, or since the last one.

    Unknown is the worst case; who waits loses nothing.
    """
    last = np.maximum(0.0, jobs.of("checkpoint age", _checkpoint_age))
    since = jobs.of("runs since", _runs_since)
    last = np.where(np.isnan(last), np.maximum(0.0, round_.now - since), last)
    last = np.where(np.isnan(last), round_.horizon_seconds, last)
    written = jobs.numbers("checkpoint_seconds")
    return np.where(jobs.has("running"), np.where(written > 0.0, written, last), 0.0)


def _checkpoint_age(jobs: Sequence[Job]) -> FloatArray:
    """Seconds since each one's last checkpoint; NaN where that is not said."""
    running = map(attrgetter("running"), jobs)
    ages = [None if now is None else now.checkpoint_age_seconds for now in running]
    return np.array(ages, dtype=np.float64)


def _runs_since(jobs: Sequence[Job]) -> FloatArray:
    """When each began to run, or else was submitted; NaN where it waits, or neither is said."""
    since: list[float | None] = [
        None if now is None else now.started_at for now in map(attrgetter("running"), jobs)
    ]
    for j, job in enumerate(jobs):
        if since[j] is None and job.running is not None:
            since[j] = job.submit_time
    return np.array(since, dtype=np.float64)


def horizon_seconds(left: FloatArray, round_: Round, throughput: FloatArray) -> FloatArray:
    """H of each job: expected time to the next change or its time left, the lesser; at least one round.

    Work left that is unknown or 0 (done, yet still there) says nothing about the time left.

    Args:
        left: of each, work units; NaN where nobody knows.
        round_: the round.
        throughput: of each, work units per second.
    """
    time = np.full(len(left), round_.horizon_seconds)
    known = (left > 0.0) & (throughput > 0.0)
    with np.errstate(over="ignore"):
        time[known] = np.minimum(time[known], left[known] / throughput[known])
    found: FloatArray = np.maximum(round_.round_seconds, time)
    return found
