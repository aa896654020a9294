"""What is left of the reward for starting an interactive job (``terms/interactive.py``)."""

from __future__ import annotations

from gangplan.domain.job import Job


def start_share(job: Job, now: float) -> float:
    """Part of the reward that starting the job now, or going on with it, earns; 0: it is not interactive.

    Args:
        job: running or waiting.
        now: seconds since the epoch.
    """
    if job.interactive is None:
        return 0.0
    if job.running is not None or job.work_done > 0.0 or job.submit_time is None:
        return 1.0
    begins = max(job.submit_time, job.gate.not_before or job.submit_time)
    waited = max(0.0, now - begins - job.gate.held_seconds)
    return min(1.0, max(0.0, 2.0 - waited / job.interactive.start_within_seconds))
