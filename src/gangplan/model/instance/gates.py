"""Who may not start, and who is left alone: the model's own reading (decisions 9, 11 and 14)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from gangplan.columns import Columns
from gangplan.domain.job import OPEN, Capabilities, Job
from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.model.program import BoolArray

HOUR = 3_600.0
_NOTHING = Capabilities(pausable=False, movable=False, resizable=False)


def gated(jobs: Iterable[Job], now: float) -> frozenset[str]:
    """Names of the jobs that may not be started now.

    Args:
        jobs: all jobs of the round; those are not done.
        now: seconds since the epoch.
    """
    jobs = list(jobs)
    idle = frozenset([job.name for job in jobs if job.interactive is not None and idle_too_long(job, now)])
    closed = [job for job in jobs if job.gate is not OPEN]
    if not closed:
        return idle
    unfinished = {job.name for job in jobs}
    return idle | frozenset(
        job.name
        for job in closed
        if job.gate.held
        or (job.gate.not_before is not None and now < job.gate.not_before)
        or not unfinished.isdisjoint(job.gate.after_jobs)
    )


def idle_too_long(job: Job, now: float) -> bool:
    """Whether an interactive job has been idle for as long as its limit."""
    if job.interactive is None:
        return False
    limit, since = job.interactive.idle_limit_seconds, job.interactive.idle_since
    return limit is not None and since is not None and now >= since + limit


def left_alone_until(job: Job, round_: Round) -> float | None:
    """When a running job may be disturbed by choice again, seconds since the epoch; None: it may be now.

    The latest of its next safe point, its minimum run time (its own and the policy's), and the time at which
    enough of its last hour's disruptions are an hour old.
    """
    if job.running is None:
        return None
    policy, running = round_.policy, job.running
    times = [time for time in (running.next_safe_point, running.minimum_run_until) if time is not None]
    if policy.minimum_run_seconds and running.started_at is not None:
        times.append(running.started_at + policy.minimum_run_seconds)
    limit = policy.disruption_limit_per_job_hour
    if limit is not None:
        recent = sorted(time for time in job.disrupted_at if round_.now - time < HOUR)
        if len(recent) >= limit:
            free_again = recent[-limit] + HOUR if limit else round_.now + HOUR
            times.append(max(free_again, math.nextafter(round_.now, math.inf)))
    last = max(times, default=round_.now)
    return last if last > round_.now else None


def stoppable_from(job: Job, round_: Round) -> float:
    """From when on a running job may be stopped for a promise, seconds since the epoch; ``-inf``: from ever.

    The latest of its next safe point and its minimum run time, its own and the policy's.
    """
    running = job.running
    if running is None:
        return -math.inf
    times = [running.next_safe_point, running.minimum_run_until]
    if running.started_at is not None:
        times.append(running.started_at + round_.policy.minimum_run_seconds)
    return max((time for time in times if time is not None), default=-math.inf)


def as_they_may(
    jobs: Columns[Job],
    round_: Round,
    closed: frozenset[str],
    claimed: Collection[int],
    frozen: Collection[str] = (),
) -> dict[int, Job]:
    """By index: the jobs of which less may be done now than they could do, as :func:`_as_it_may` has them.

    They run, or have a claim, by index: then they take its place, and are not moved from there either. Those
    ``frozen`` may stop, but are neither moved nor resized.
    """
    stay = closed.union(frozen)
    policy = round_.policy
    bound = jobs.of("may be bound", lambda some: _may_be_bound(some, policy), policy)
    looked = set(np.flatnonzero(bound).tolist()).union(claimed)
    if stay:
        looked.update(j for j in np.flatnonzero(jobs.has("running")).tolist() if jobs.things[j].name in stay)
    found = {}
    for j in sorted(looked):
        job = jobs.things[j]
        may = replace(job, capabilities=_NOTHING) if j in claimed else _as_it_may(job, round_, stay)
        if may is not job:
            found[j] = may
    return found


def _may_be_bound(jobs: Sequence[Job], policy: Policy) -> BoolArray:
    """Whether it takes a closer look to tell that each may be disturbed, if it runs; for most it does not."""
    limit = policy.disruption_limit_per_job_hour
    found = [
        running is not None
        and (
            running.next_safe_point is not None
            or running.minimum_run_until is not None
            or bool(policy.minimum_run_seconds)
        )
        for running in map(attrgetter("running"), jobs)
    ]
    if limit is not None:
        for j, job in enumerate(jobs):
            found[j] |= job.running is not None and (not limit or bool(job.disrupted_at))
    return np.array(found, dtype=np.bool_)


def _as_it_may(job: Job, round_: Round, closed: frozenset[str]) -> Job:
    """The job with what may be done to it now: nothing while it is left alone, no start behind its gate."""
    if job.running is None:
        return job
    if left_alone_until(job, round_) is not None:
        return replace(job, capabilities=_NOTHING)
    if job.name in closed:
        return replace(job, capabilities=replace(job.capabilities, movable=False, resizable=False))
    return job
