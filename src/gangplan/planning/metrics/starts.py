"""Starts: how far they were from what was told of them, and how soon interactive jobs start."""

from __future__ import annotations

from dataclasses import dataclass

from gangplan.planning.metrics.spread import mean, percentile
from gangplan.planning.rounds.loop import Played

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class StartEstimates:
    """How far starts were from what jobs were first told; seconds, positive: they started later.

    Attributes:
        estimated: jobs that were told an estimate before they first ran, and have run since.
        error_mean, error_absolute_mean, error_absolute_p90: first start less the first estimate; None without
            any.
        promised: jobs that were promised a start before they first ran, and have run or are late.
        kept: of these, those that started by then.
    """

    estimated: int
    error_mean: float | None
    error_absolute_mean: float | None
    error_absolute_p90: float | None
    promised: int
    kept: int


def start_estimates(played: Played) -> StartEstimates:
    """The error of the estimates, and the promises kept, of a played history."""
    states = played.state.jobs.values()
    errors = [
        state.first_start - state.estimated_start
        for state in states
        if state.first_start is not None and state.estimated_start is not None
    ]
    due = [
        (state.first_start, state.promised_start)
        for state in states
        if state.promised_start is not None
        and (state.first_start is not None or state.promised_start < played.state.now)
    ]
    return StartEstimates(
        estimated=len(errors),
        error_mean=mean(errors),
        error_absolute_mean=mean([abs(error) for error in errors]),
        error_absolute_p90=percentile([abs(error) for error in errors], 0.9),
        promised=len(due),
        kept=sum(start is not None and start <= latest + _ROUNDING for start, latest in due),
    )


@dataclass(frozen=True, slots=True)
class TimeToStart:
    """Interactive jobs of a played history.

    Attributes:
        jobs: how many were submitted.
        started: how many have started.
        in_time: how many started within their objective.
        mean_seconds: from submission to first start, over those that started; 0 where none did.
    """

    jobs: int
    started: int
    in_time: int
    mean_seconds: float


def time_to_start(played: Played) -> TimeToStart | None:
    """Measure the interactive jobs that have arrived; None without any."""
    waits, in_time, jobs = [], 0, 0
    for arrival in played.history.arrivals:
        state, wishes = played.state.jobs.get(arrival.job.name), arrival.job.interactive
        if state is None or wishes is None:
            continue
        jobs += 1
        if state.first_start is not None:
            waits.append(state.first_start - (arrival.job.submit_time or 0.0))
            in_time += waits[-1] <= wishes.start_within_seconds
    if not jobs:
        return None
    return TimeToStart(jobs, len(waits), in_time, sum(waits) / len(waits) if waits else 0.0)
