"""Work left as rho, deadlines and horizons count it (decision 15)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gangplan.columns import Columns
from gangplan.domain.job import Job
from gangplan.model.instance.columns import column
from gangplan.model.program import FloatArray


def all_left(jobs: Columns[Job], probability: float) -> FloatArray:
    """:func:`counted_left` of all jobs, shape (jobs,); NaN where nobody knows."""
    return jobs.of(f"left at {probability}", lambda some: _all_left(some, probability))


def _all_left(jobs: Sequence[Job], probability: float) -> FloatArray:
    found = column(jobs, "work_left")
    for j in np.flatnonzero(np.isnan(found)).tolist():
        predicted = counted_left(jobs[j], probability)
        if predicted is not None:
            found[j] = predicted
    return found


def counted_left(job: Job, probability: float) -> float | None:
    """The work left where it is known, the quantile of it where it is predicted; None: nobody knows.

    All that is read of it here only rises with the work left, so that the quantile of rho, of the rate that a
    deadline needs and of the time left is what the quantile of the work left makes of it.

    Args:
        job: the job.
        probability: at which a prediction is read.
    """
    if job.work_left is not None or job.left_quantiles is None:
        return job.work_left
    quantiles = job.left_quantiles
    return float(np.interp(probability, quantiles.probabilities, quantiles.values))
