"""How jobs end in Slurm's words, which several traces use."""

from __future__ import annotations

from gangplan.planning.trace.records import Status

_STATES: dict[str, Status] = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "OUT_OF_MEMORY": "failed",
    "BOOT_FAIL": "node-failed",
    "NODE_FAIL": "node-failed",
    "CANCELLED": "cancelled",
    "PREEMPTED": "cancelled",
    "REVOKED": "cancelled",
    "DEADLINE": "timeout",
    "TIMEOUT": "timeout",
    "RUNNING": "running",
    "SUSPENDED": "running",
    "RESIZING": "running",
    "PENDING": "waiting",
    "REQUEUED": "waiting",
}
"""The states of ``sacct`` (Slurm's manual, section JOB STATE CODES)."""


def status_of(state: str) -> Status:
    """How a job ended; ``unknown`` for a word that is none of Slurm's. ``CANCELLED by 1000`` is CANCELLED."""
    return _STATES.get(state.split(maxsplit=1)[0].rstrip("+") if state.strip() else "", "unknown")
