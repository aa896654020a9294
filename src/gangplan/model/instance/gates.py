"""Who may not start, and who is left alone: the model's own reading (decisions 9, 11 and 14)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from gangplan.domain.job import OPEN, Capabilities, Job
from gangplan.domain.round import Round

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
    jobs: Sequence[Job],
    round_: Round,
    closed: frozenset[str],
    claimed: Collection[str],
    frozen: Collection[str] = (),
) -> tuple[Job, ...]:
    """The jobs as :func:`_as_it_may` has them; nothing is done to who waits without a claim.

    Those ``frozen`` may stop, but are neither moved nor resized.
    """
    found = list(jobs)
    stay = closed.union(frozen)
    for j, job in enumerate(jobs):
        if (job.running is not None and _may_be_bound(job, round_, stay)) or job.name in claimed:
            found[j] = _as_it_may(job, round_, stay, claimed)
    return tuple(found)


def _may_be_bound(job: Job, round_: Round, closed: Collection[str]) -> bool:
    """Whether it takes a closer look to tell that a running job may be disturbed; for most it does not."""
    running, policy = job.running, round_.policy
    limit = policy.disruption_limit_per_job_hour
    return running is not None and (
        running.next_safe_point is not None
        or running.minimum_run_until is not None
        or bool(policy.minimum_run_seconds)
        or (limit is not None and (not limit or bool(job.disrupted_at)))
        or job.name in closed
    )


def _as_it_may(job: Job, round_: Round, closed: frozenset[str], claimed: Collection[str]) -> Job:
    """The job with what may be done to it now: nothing while it is left alone, no start behind its gate.

    One that has a claim takes its place, and is not moved from there either.
    """
    if job.name in claimed:
        return replace(job, capabilities=_NOTHING)
    if job.running is None:
        return job
    if left_alone_until(job, round_) is not None:
        return replace(job, capabilities=_NOTHING)
    if job.name in closed:
        return replace(job, capabilities=replace(job.capabilities, movable=False, resizable=False))
    return job
