"""What one job does within a round, on what it really holds.

A start pays ``restart_seconds`` before any work is done, the first one too (design, section 10: a started,
moved or resized job pays its restart time), and goes on in the next round if need be. A stop throws away the
work since the last checkpoint. A job ends at the exact second; its devices stay idle until the next round,
which is when somebody can be placed on them.
"""

from __future__ import annotations

import math
from dataclasses import replace

from gangplan.domain.job import Running, TaskPlacement
from gangplan.model.verifier.outcome import Status
from gangplan.planning.rounds.history import Arrival
from gangplan.planning.rounds.state import JobState, Span

_HOUR = 3600.0
_ALMOST = 1e-9
"""A checkpoint that is due within so many of its intervals is taken."""


def begun(arrival: Arrival, now: float) -> JobState:
    """The job when it arrives, or as the history finds it at its beginning."""
    job = arrival.job
    state = JobState(
        done=job.work_done,
        safe=job.work_done,
        run=job.work_done,
        held_seconds=job.gate.held_seconds,
        disrupted_at=job.disrupted_at,
    )
    if job.running is None:
        return state
    began = now if job.running.started_at is None else job.running.started_at
    age = job.running.checkpoint_age_seconds
    running = replace(
        job.running, started_at=began, checkpoint_age_seconds=now - began if age is None else age
    )
    return replace(state, running=running, first_start=began)


def stopped(state: JobState, devices: float, at: float) -> JobState:
    """The job after a stop: what it did since its last checkpoint is lost, and its span is closed.

    Args:
        state: of a running job.
        devices: that it holds.
        at: when, seconds since the epoch.
    """
    assert state.running is not None
    thrown = (state.running.checkpoint_age_seconds or 0.0) * devices
    return replace(
        _closed(state, at),
        done=state.safe,
        lost=state.lost + (state.done - state.safe),
        attended=replace(state.attended, lost=state.attended.lost + thrown),
    )


def started(
    state: JobState, placements: tuple[TaskPlacement, ...], throughput: float, restart: float, at: float
) -> JobState:
    """The job after a start at ``placements``, where it works once ``restart`` seconds are over."""
    return replace(
        state,
        running=Running(placements, started_at=at, checkpoint_age_seconds=0.0),
        throughput=throughput,
        delay_left=restart,
        first_start=at if state.first_start is None else state.first_start,
    )


def counted(state: JobState, status: Status, now: float, *, forced: bool) -> JobState:
    """The job with what was done to it counted."""
    attended = state.attended
    if not forced and status in (Status.EVICTED, Status.MOVED, Status.RESIZED):
        lately = tuple(time for time in state.disrupted_at if now - time < _HOUR)
        state = replace(state, disrupted_at=(*lately, now))
    if forced and status in (Status.EVICTED, Status.MOVED, Status.RESIZED):
        attended = replace(attended, forced=attended.forced + 1)
    elif status is Status.EVICTED:
        attended = replace(attended, evictions=attended.evictions + 1)
    elif status is Status.MOVED:
        attended = replace(attended, moves=attended.moves + 1)
    elif status is Status.RESIZED:
        attended = replace(attended, resizes=attended.resizes + 1)
    return replace(state, attended=attended)


def advanced(state: JobState, arrival: Arrival, devices: float, now: float, seconds: float) -> JobState:
    """The job after so many seconds on what it holds; it may end within them.

    Args:
        state: of a running job.
        arrival: its work and its checkpoints.
        devices: that it holds.
        now: when the seconds begin.
        seconds: how many, not negative.
    """
    assert state.running is not None
    delay = min(seconds, state.delay_left)
    left, rate = arrival.work - state.done, state.throughput
    ends = rate > 0 and left <= rate * (seconds - delay)
    working = left / rate if ends else seconds - delay
    done = arrival.work if ends else state.done + rate * working
    attended, first = state.attended, not state.spans and state.first_start == state.running.started_at
    attended = replace(
        attended,
        held=attended.held + devices * (delay + working),
        busy=attended.busy + devices * working,
        starting=attended.starting + devices * delay * first,
        restarting=attended.restarting + devices * delay * (not first),
    )
    age, safe = _checkpointed(state, arrival, working, done)
    state = replace(
        state,
        done=done,
        safe=safe,
        run=state.run + (done - state.done),
        delay_left=state.delay_left - delay,
        running=replace(state.running, checkpoint_age_seconds=age),
        attended=attended,
    )
    if not ends:
        return state
    end = now + delay + working
    return replace(_closed(state, end), safe=done, finished=end)


def _checkpointed(state: JobState, arrival: Arrival, working: float, done: float) -> tuple[float, float]:
    """Seconds of useful running since the last checkpoint, and the work that is in it."""
    assert state.running is not None
    every = arrival.checkpoint_seconds
    if every == 0:
        return 0.0, done
    age = (state.running.checkpoint_age_seconds or 0.0) + working
    if every is None:
        return age, state.safe
    taken = math.floor(age / every + _ALMOST)
    if not taken:
        return age, state.safe
    age = max(0.0, age - taken * every)
    return age, min(done, max(state.safe, done - state.throughput * age))


def _closed(state: JobState, at: float) -> JobState:
    assert state.running is not None
    assert state.running.started_at is not None
    span = Span(state.running.started_at, at, state.running.placements, state.throughput)
    return replace(state, running=None, throughput=0.0, delay_left=0.0, spans=(*state.spans, span))
