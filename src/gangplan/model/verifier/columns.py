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
from gangplan.domain.policy import Policy
from gangplan.model.verifier.claims import Claim
from gangplan.model.verifier.facts import RoundFacts, job_size
from gangplan.model.verifier.left import all_left

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_SOFT, _STRICT = 1, 2


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
    jobs, policy, columns = round_.jobs, round_.policy, facts.columns
    size = columns.of("size", lambda some: _sizes(some, policy), policy)
    distinct, which = np.unique(size, return_inverse=True)
    powers = np.array([one**policy.size_exponent for one in distinct.tolist()], dtype=np.float64)
    time_left = columns.numbers("deadline") - round_.now
    due = ~np.isnan(time_left)
    kind = columns.of("deadline kind", _deadline_kinds)
    outlook = round_.outlook
    need = need_worth = np.zeros(len(jobs))
    if outlook is not None:
        need = np.array([outlook.need(job.name) for job in jobs], dtype=np.float64)
        need_worth = np.array([outlook.worth(job.name) for job in jobs], dtype=np.float64)
    ranks = facts.rank
    levels = tuple(sorted(ranks, key=lambda level: ranks[level]))
    return JobColumns(
        index={job.name: i for i, job in enumerate(jobs)},
        jobs=jobs,
        size=size,
        full_value=powers[which],
        base_weight=np.array(weighing.bases, dtype=np.float64) / weighing.middle,
        weight=np.array(weighing.weights, dtype=np.float64),
        claims=weighing.claims,
        time_left=time_left,
        left=np.where(due, all_left(columns, policy.deadline_quantile), np.nan),
        soft=kind == _SOFT,
        decay=np.where(due, columns.numbers("deadline_decay_seconds"), 1.0),
        strict=(kind == _STRICT) & columns.has("work_left") & due,
        restart=columns.numbers("restart_seconds"),
        preferred=columns.of("preferred", lambda some: _preferred(some, ranks), *levels),
        interactive=columns.has("interactive"),
        need=need,
        need_worth=need_worth,
    )


def _sizes(jobs: Sequence[Job], policy: Policy) -> Floats:
    return np.array([_size_of_one(job) or job_size(job, policy) for job in jobs], dtype=np.float64)


def _deadline_kinds(jobs: Sequence[Job]) -> Ints:
    soft, strict = DeadlineKind.SOFT, DeadlineKind.STRICT
    kinds = [job.deadline_kind for job in jobs]
    return np.array(
        [_SOFT if one is soft else _STRICT if one is strict else 0 for one in kinds], dtype=np.int64
    )


def _preferred(jobs: Sequence[Job], ranks: Mapping[str, int]) -> Ints:
    levels = [job.component.preferred_level for job in jobs]
    return np.array([-1 if level is None else ranks[level] for level in levels], dtype=np.int64)


def _size_of_one(job: Job) -> float:
    """Req of a job with one task group of whole devices; 0 of others."""
    groups = job.component.task_groups
    if len(groups) > 1 or groups[0].device_share is not None:
        return 0.0
    return groups[0].count * groups[0].devices_per_task * WHOLE_DEVICE / WHOLE_DEVICE
