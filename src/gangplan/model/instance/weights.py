"""Job weights: priority, and finish-time fairness through rho (decision 11).

rho is Themis' finish-time fairness ratio (Mahajan et al., NSDI 2020, section 3) in the form of decision 11:
the predicted finish of the job when it is not served this round, over its finish with its fair share.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.model.program import FloatArray

RHO_CLIP = (0.25, 8.0)


def base_weights(round_: Round, jobs: Sequence[Job]) -> FloatArray:
    """Base weights, shape (jobs,): the job's own weight times its priority's."""
    by_priority = round_.policy.priority_weights
    return np.array([job.weight * by_priority.get(job.priority, 1.0) for job in jobs], dtype=np.float64)


def normalise(weights: FloatArray) -> FloatArray:
    """Scale so that the median is 1 (decision 1); a median of 0 scales nothing."""
    median = float(np.median(weights)) if len(weights) else 0.0
    return weights / (median or 1.0)


def rho_unserved(round_: Round, jobs: Sequence[Job], fair_rate: FloatArray) -> FloatArray:
    """Clipped rho of every job if it waits this round, shape (jobs,).

    Args:
        round_: the round.
        jobs: in the order of all job arrays.
        fair_rate: shape (jobs,), x_iso, work units per second; 0 for who does not accrue.
    """
    rho = np.ones(len(jobs), dtype=np.float64)
    for j, job in enumerate(jobs):
        rate = float(fair_rate[j])
        if job.submit_time is None or job.work_left is None or rate <= 0.0:
            continue
        since = max(job.submit_time, job.gate.not_before or job.submit_time)
        age = max(0.0, round_.now - since - job.gate.held_seconds)
        pace = (job.work_done + rate * round_.round_seconds) / (age + round_.round_seconds)
        shared_finish = age + round_.round_seconds + job.work_left / pace
        if job.fair_finish_age is not None:
            fair_finish = job.fair_finish_age
        else:
            fair_finish = age + max(0.0, job.work_done + job.work_left - job.fair_progress) / rate
        if fair_finish > 0.0:
            rho[j] = shared_finish / fair_finish
    return np.clip(rho, *RHO_CLIP)
