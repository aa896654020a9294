"""How soon interactive jobs start: the time from submission to start against its objective."""

from __future__ import annotations

from dataclasses import dataclass

from gangplan.planning.rounds.loop import Played


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


def time_to_start(played: Played) -> TimeToStart:
    """Measure the interactive jobs that have arrived."""
    waits, in_time, jobs = [], 0, 0
    for arrival in played.history.arrivals:
        state, wishes = played.state.jobs.get(arrival.job.name), arrival.job.interactive
        if state is None or wishes is None:
            continue
        jobs += 1
        if state.first_start is not None:
            waits.append(state.first_start - (arrival.job.submit_time or 0.0))
            in_time += waits[-1] <= wishes.start_within_seconds
    return TimeToStart(jobs, len(waits), in_time, sum(waits) / len(waits) if waits else 0.0)
