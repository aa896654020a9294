"""Who may not start and who may not be disturbed, by the verifier's own reading of the round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gangplan.columns import Columns
from gangplan.domain.job import OPEN, Job
from gangplan.domain.round import Round
from gangplan.model.verifier.promised import longest_run
from gangplan.model.verifier.throughput import Throughput

_HOUR = 3600


def closed_gates(round_: Round) -> dict[str, str]:
    """Jobs that may not be started now, and the rule that says so: idle, held, not-before or after-jobs."""
    found: dict[str, str] = {}
    wary = [job for job in round_.jobs if job.gate is not OPEN or job.interactive is not None]
    names = {job.name for job in round_.jobs} if wary else set()
    for job in wary:
        gate = job.gate
        if is_idle(job, round_.now):
            found[job.name] = "idle"
        elif gate.held:
            found[job.name] = "held"
        elif gate.not_before is not None and gate.not_before > round_.now:
            found[job.name] = "not-before"
        elif any(other in names for other in gate.after_jobs):
            found[job.name] = "after-jobs"
    return found


def run_limits(round_: Round, throughput: Throughput) -> dict[str, str]:
    """Jobs that give longer notice than the policy's longest run, or cannot be paused and may run longer."""
    most = round_.policy.longest_run_seconds
    if most is None:
        return {}
    return {
        job.name: "run-limit"
        for job in round_.jobs
        if job.checkpoint_seconds > most
        or (longest_run(job, round_, throughput) > most and not job.capabilities.pausable)
    }


def is_idle(job: Job, now: float) -> bool:
    """Whether an interactive job says that nobody has used it until its limit, or longer."""
    wishes = job.interactive
    if wishes is None or wishes.idle_limit_seconds is None or wishes.idle_since is None:
        return False
    return wishes.idle_since + wishes.idle_limit_seconds <= now


def counted_age(job: Job, now: float) -> float:
    """Seconds since submission that count: neither before ``not_before`` nor while the job was held."""
    assert job.submit_time is not None
    start = job.submit_time
    if job.gate.not_before is not None and job.gate.not_before > start:
        start = job.gate.not_before
    return max(0.0, now - start - job.gate.held_seconds)


def counted_ages(jobs: Columns[Job], now: float) -> NDArray[np.float64]:
    """:func:`counted_age` of all jobs, shape (jobs,); NaN where it is unknown."""
    start, held = jobs.of("counted", _counted).T
    ages: NDArray[np.float64] = np.maximum(0.0, now - start - held)
    return ages


def _counted(jobs: Sequence[Job]) -> NDArray[np.float64]:
    """When each job's age began to count, and how long after that it was held; shape (jobs, 2)."""
    start = np.array([job.submit_time for job in jobs], dtype=np.float64)
    held = np.zeros(len(jobs))
    for i in [i for i, job in enumerate(jobs) if job.gate is not OPEN]:
        gate = jobs[i].gate
        held[i] = gate.held_seconds
        if gate.not_before is not None and gate.not_before > start[i]:
            start[i] = gate.not_before
    return np.stack([start, held], axis=1)


def undisturbed(job: Job, round_: Round) -> list[str]:
    """Rules by which a running job is left alone now; empty: it may be disturbed."""
    found: list[str] = []
    running, policy, now = job.running, round_.policy, round_.now
    if running is None:
        return found
    if running.next_safe_point is not None and running.next_safe_point > now:
        found.append("safe-point")
    promised = running.minimum_run_until is not None and running.minimum_run_until > now
    fresh = False
    if policy.minimum_run_seconds > 0 and running.started_at is not None:
        fresh = now < running.started_at + policy.minimum_run_seconds
    if promised or fresh:
        found.append("minimum-run-time")
    most = policy.disruption_limit_per_job_hour
    if most is not None and sum(1 for time in job.disrupted_at if now - time < _HOUR) >= most:
        found.append("job-hour")
    return found
