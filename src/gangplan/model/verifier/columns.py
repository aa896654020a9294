"""What a round says of its jobs, as columns: one entry for every job, in the round's order.

A plan changes thousands of jobs of a large round. What of it can be judged for all at once is judged on these
arrays; the same figures job by job are in :class:`~gangplan.model.verifier.facts.JobFacts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gangplan.domain.job import WHOLE_DEVICE, DeadlineKind, Job
from gangplan.model.verifier.claims import Claim
from gangplan.model.verifier.facts import RoundFacts, job_size
from gangplan.model.verifier.left import left_at

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class JobColumns:
    """Constants of all jobs; each array has the shape (jobs,).

    Attributes:
        index: place of a job by name.
        jobs: the jobs.
        size: req, devices asked for (decision 41).
        full_value: ``size ** policy.size_exponent``.
        base_weight: b.
        weight: w.
        claims: what serving each is worth under the policy's forms of fairness; None: w r.
        time_left: seconds until the deadline; NaN: none.
        left: work units that count for the deadline; NaN where it is unknown, or there is no deadline.
        soft: the deadline is soft.
        decay: seconds after it in which its reward falls to nothing.
        strict: the deadline is strict, and the work left is known.
        restart: seconds that a restart takes.
        preferred: rank of the preferred level; -1: none.
        interactive: it is interactive.
        need: service that the outlook asks for; 0 without one.
        need_worth: what that is worth; 0 without an outlook.
    """

    index: Mapping[str, int]
    jobs: Sequence[Job]
    size: Floats
    full_value: Floats
    base_weight: Floats
    weight: Floats
    claims: Sequence[Claim] | None
    time_left: Floats
    left: Floats
    soft: Bools
    decay: Floats
    strict: Bools
    restart: Floats
    preferred: Ints
    interactive: Bools
    need: Floats
    need_worth: Floats


def job_columns(facts: RoundFacts) -> JobColumns:
    """The columns of the jobs of a round; ask for them by ``facts.once(job_columns)``."""
    round_, weighing = facts.round, facts.weighing
    jobs, policy = round_.jobs, round_.policy
    size = np.array([_size_of_one(job) or job_size(job, policy) for job in jobs], dtype=np.float64)
    distinct, which = np.unique(size, return_inverse=True)
    powers = np.array([one**policy.size_exponent for one in distinct.tolist()], dtype=np.float64)
    due = [i for i, job in enumerate(jobs) if job.deadline is not None]
    time_left, left, decay = np.full(len(jobs), np.nan), np.full(len(jobs), np.nan), np.ones(len(jobs))
    time_left[due] = [_time_left(jobs[i], round_.now) for i in due]
    left[due] = [_left(jobs[i], policy.deadline_quantile) for i in due]
    decay[due] = [jobs[i].deadline_decay_seconds for i in due]
    kinds = [job.deadline_kind for job in jobs]
    outlook = round_.outlook
    need = need_worth = np.zeros(len(jobs))
    if outlook is not None:
        need = np.array([outlook.need(job.name) for job in jobs], dtype=np.float64)
        need_worth = np.array([outlook.worth(job.name) for job in jobs], dtype=np.float64)
    levels = [job.component.preferred_level for job in jobs]
    return JobColumns(
        index={job.name: i for i, job in enumerate(jobs)},
        jobs=jobs,
        size=size,
        full_value=powers[which],
        base_weight=np.array(weighing.bases, dtype=np.float64) / weighing.middle,
        weight=np.array(weighing.weights, dtype=np.float64),
        claims=weighing.claims,
        time_left=time_left,
        left=left,
        soft=np.array([kind is DeadlineKind.SOFT for kind in kinds], dtype=np.bool_),
        decay=decay,
        strict=np.array([kind is DeadlineKind.STRICT for kind in kinds], dtype=np.bool_)
        & np.array([job.work_left is not None for job in jobs], dtype=np.bool_)
        & ~np.isnan(time_left),
        restart=np.array([job.restart_seconds for job in jobs], dtype=np.float64),
        preferred=np.array([-1 if level is None else facts.rank[level] for level in levels], dtype=np.int64),
        interactive=np.array([job.interactive is not None for job in jobs], dtype=np.bool_),
        need=need,
        need_worth=need_worth,
    )


def _size_of_one(job: Job) -> float:
    """Req of a job with one task group of whole devices; 0 of others."""
    groups = job.component.task_groups
    if len(groups) > 1 or groups[0].device_share is not None:
        return 0.0
    return groups[0].count * groups[0].devices_per_task * WHOLE_DEVICE / WHOLE_DEVICE


def _time_left(job: Job, now: float) -> float:
    return np.nan if job.deadline is None else job.deadline - now


def _left(job: Job, probability: float) -> float:
    left = left_at(job, probability)
    return np.nan if left is None else left
