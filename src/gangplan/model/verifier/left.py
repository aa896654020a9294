"""Work left as it counts, by the verifier's own arithmetic (decision 15)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gangplan.columns import Columns
from gangplan.domain.job import Job


def left_at(job: Job, probability: float) -> float | None:
    """Work units left, if known; else the prediction at ``probability``, else None.

    Straight between the quantiles that are given, and level beyond the first and the last.
    """
    if job.work_left is not None:
        return job.work_left
    if job.left_quantiles is None:
        return None
    at, work = job.left_quantiles.probabilities, job.left_quantiles.values
    above = bisect_left(at, probability)
    if above == 0:
        return work[0]
    if above == len(at):
        return work[-1]
    part = (probability - at[above - 1]) / (at[above] - at[above - 1])
    return (1.0 - part) * work[above - 1] + part * work[above]


def all_left(jobs: Columns[Job], probability: float) -> NDArray[np.float64]:
    """:func:`left_at` of all jobs, shape (jobs,); NaN: unknown."""

    def read(some: Sequence[Job]) -> NDArray[np.float64]:
        left = [left_at(job, probability) if job.work_left is None else job.work_left for job in some]
        return np.array(left, dtype=np.float64)

    return jobs.of(f"left at {probability}", read)
