"""Every job of a played history in figures."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gangplan.domain.job import Job
from gangplan.model.verifier.gates import counted_age
from gangplan.planning.metrics import fairness
from gangplan.planning.rounds.history import Arrival
from gangplan.planning.rounds.loop import Played
from gangplan.planning.rounds.state import JobState

_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class JobReport:
    """One job in figures.

    Attributes:
        name: its name.
        size: devices that it asks for.
        submitted, first_start, finished: seconds since the beginning; None: not yet.
        completion: from submission to end, seconds.
        queueing: from submission to its first start, seconds.
        waiting: all the time that it was there and held nothing, seconds.
        rho, rho_gavel, rho_shockwave, rho_shockwave_themis, rho_sia: see ``fairness``; None: not ended,
            or it has no share.
        deadline: seconds since the beginning; None: none.
        deadline_kind: in words; empty without a deadline.
        deadline_met: whether it ended by then; None without a deadline, and while that is open.
        held, busy, lost: device-seconds held, of these worked, of these thrown away.
        restarting: device-seconds of restarts after the first start.
        evictions, moves, resizes: by the policy's choice.
        forced: stops without a choice.
        service: device-seconds held for each device asked for and second that it was there.
    """

    name: str
    size: float
    submitted: float
    first_start: float | None
    finished: float | None
    completion: float | None
    queueing: float | None
    waiting: float
    rho: float | None
    rho_gavel: float | None
    rho_shockwave: float | None
    rho_shockwave_themis: float | None
    rho_sia: float | None
    deadline: float | None
    deadline_kind: str
    deadline_met: bool | None
    held: float
    busy: float
    lost: float
    restarting: float
    evictions: int
    moves: int
    resizes: int
    forced: int
    service: float


def job_reports(played: Played) -> tuple[JobReport, ...]:
    """Every job that arrived, in order of submission."""
    arrivals = sorted(played.history.arrivals, key=lambda a: (a.job.submit_time or 0.0, a.job.name))
    there = [arrival for arrival in arrivals if arrival.job.name in played.state.jobs]
    return tuple(_report(played, arrival) for arrival in there)


def _report(played: Played, arrival: Arrival) -> JobReport:
    job, state = arrival.job, played.state.jobs[arrival.job.name]
    start = played.history.template.now
    submitted = (job.submit_time or 0.0) - start
    completion = None if state.finished is None else state.finished - start - submitted
    size = played.paces.size(job.name)
    here = completion if completion is not None else played.state.now - start - submitted
    attended = state.attended
    return JobReport(
        name=job.name,
        size=size,
        submitted=submitted,
        first_start=None if state.first_start is None else state.first_start - start,
        finished=None if state.finished is None else state.finished - start,
        completion=completion,
        queueing=None if state.first_start is None else max(0.0, state.first_start - start - submitted),
        waiting=attended.waiting_seconds,
        rho=fairness.over(_counted(job, state), state.fair.finish_age),
        rho_gavel=fairness.over(completion, attended.proportional_seconds),
        rho_shockwave=fairness.rho_shockwave(played, arrival, completion, fairness.static_contention(played)),
        rho_shockwave_themis=fairness.rho_shockwave(
            played, arrival, completion, fairness.mean_contention(played, state, here)
        ),
        rho_sia=fairness.rho_sia(played, arrival, state, completion),
        deadline=None if job.deadline is None else job.deadline - start,
        deadline_kind=_kind(job),
        deadline_met=_met(job, state, played.state.now),
        held=attended.held,
        busy=attended.busy,
        lost=attended.lost,
        restarting=attended.restarting,
        evictions=attended.evictions,
        moves=attended.moves,
        resizes=attended.resizes,
        forced=attended.forced,
        service=attended.held / (size * here) if size * here > 0 else 0.0,
    )


def _counted(job: Job, state: JobState) -> float | None:
    """Completion time without that before ``not_before`` and behind the gate, which does not count."""
    seen = replace(job, gate=replace(job.gate, held_seconds=state.held_seconds))
    return None if state.finished is None else counted_age(seen, state.finished)


def _kind(job: Job) -> str:
    return "" if job.deadline is None else "deadline"


def _met(job: Job, state: JobState, now: float) -> bool | None:
    if job.deadline is None:
        return None
    if state.finished is not None:
        return state.finished <= job.deadline + _ROUNDING
    return None if now <= job.deadline else False
