"""What a played history was worth to its jobs and to its cluster; each measure is defined once, here.

Times are seconds, devices count alike whatever their type, jobs count alike whatever their weight. What a
job that has not ended would yet suffer is not known: it counts in ``unfinished`` and in nothing that needs
its end, so that figures of runs with different numbers of unfinished jobs must not be compared.

Four ideas of finish-time fairness are in use, and they are not one metric:

* ``rho``: ours, decision 11: completion time over the age at which the fair self, with a share by weight of
  every type in every round, was done (Mahajan et al., *Themis*, NSDI 2020, section 3.1).
* ``rho_gavel``: completion time over the time in which the job's proportional share of every type, round by
  round, does the same work (Narayanan et al., *Gavel*, OSDI 2020, section 4.2, and its public code).
* ``rho_shockwave``: completion time over the time alone on what it asks for, times the static contention
  max(1, jobs of the whole history / devices) (Zheng et al., *Shockwave*, NSDI 2023, and its public code);
  ``rho_shockwave_themis`` with the mean contention while it was there instead.
* ``rho_sia``: the mean over types, by their devices, of completion time over the time on as many devices of
  the type as there are for each job, on average while it was there (Jayaram Subramanya et al., *Sia*, SOSP
  2023, equation 3).

Above 1 is worse than alone, in ours and Sia's; Shockwave counts above 1.05.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gangplan.domain.job import Job
from gangplan.model.verifier.gates import counted_age
from gangplan.planning.fragmentation import cost_micros, fragmentation
from gangplan.planning.rounds.history import Arrival
from gangplan.planning.rounds.loop import Played
from gangplan.planning.rounds.state import JobState

LARGEST_SHARE = 0.1
"""Share of the jobs, those that ask for most devices, that are called the largest gangs."""
UNFAIR, UNFAIR_SHOCKWAVE = 1.0, 1.05
"""Above these a ratio counts as unfair."""
_A_GANG = 2
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
        rho, rho_gavel, rho_shockwave, rho_shockwave_themis, rho_sia: see the module's text; None: not ended,
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


@dataclass(frozen=True, slots=True)
class Ratio:
    """A measure of fairness over all jobs that have ended.

    Attributes:
        mean, p99, worst: over the jobs.
        share_unfair: share of the jobs above what counts as unfair.
    """

    mean: float
    p99: float
    worst: float
    share_unfair: float


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Deadlines of one kind.

    Attributes:
        jobs: that have one.
        met: that ended by then.
    """

    jobs: int
    met: int


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


@dataclass(frozen=True, slots=True)
class Metrics:
    """A played history in figures; None: no job that it could be told of.

    Attributes:
        jobs, unfinished: that arrived, and those of them that have not ended.
        rounds: that were played, those without anybody included.
        completion_mean, completion_p50, completion_p99: from submission to end, seconds.
        makespan: from the first submission to the last end, seconds.
        queueing_mean, queueing_p50, queueing_p99: from submission to first start, seconds.
        start_estimates: how far starts were from what was told of them.
        waiting_mean: holding nothing, seconds.
        largest_queueing_mean, largest_queueing_worst: from submission to first start of the largest gangs,
            the tenth of the jobs that ask for most devices and all that ask for as many, if for more than
            one; who never started has waited until the end.
        rho, rho_gavel, rho_shockwave, rho_shockwave_themis, rho_sia: see the module's text.
        deadlines: by kind; one that is still open counts as missed.
        allocated, busy, useful: shares of the device-seconds of all rounds: held, worked, and worked on what
            was not thrown away later.
        evictions, moves, resizes: by the policy's choice; an eviction is what others call a preemption.
        forced: stops without a choice.
        lost_gpu_hours: device-hours of work thrown away and of restarts after the first start.
        jain: Jain's index (Jain, Chiu and Hawe, 1984) of the service that each job got: device-seconds held
            for each device asked for and second that it was there. 1: all alike.
        fragmentation: share of device-seconds that were free and of no use to a typical job; see
            :func:`gangplan.planning.fragmentation.fragmentation`.
        cost_micros: what the devices held have cost, millionths of the currency; None where no type has a
            price.
    """

    jobs: int
    unfinished: int
    rounds: int
    completion_mean: float | None
    completion_p50: float | None
    completion_p99: float | None
    makespan: float | None
    queueing_mean: float | None
    queueing_p50: float | None
    queueing_p99: float | None
    start_estimates: StartEstimates
    waiting_mean: float | None
    largest_queueing_mean: float | None
    largest_queueing_worst: float | None
    rho: Ratio | None
    rho_gavel: Ratio | None
    rho_shockwave: Ratio | None
    rho_shockwave_themis: Ratio | None
    rho_sia: Ratio | None
    deadlines: dict[str, Deadlines]
    allocated: float
    busy: float
    useful: float
    evictions: int
    moves: int
    resizes: int
    forced: int
    lost_gpu_hours: float
    jain: float | None
    fragmentation: float
    cost_micros: float | None

    def document(self) -> dict[str, Any]:
        """As JSON can say it."""
        return asdict(self)


def job_reports(played: Played) -> tuple[JobReport, ...]:
    """Every job that arrived, in order of submission."""
    arrivals = sorted(played.history.arrivals, key=lambda a: (a.job.submit_time or 0.0, a.job.name))
    there = [arrival for arrival in arrivals if arrival.job.name in played.state.jobs]
    return tuple(_report(played, arrival) for arrival in there)


def measure(played: Played, reports: Sequence[JobReport] | None = None) -> Metrics:
    """The figures of a played history.

    Args:
        played: the history.
        reports: ``job_reports(played)``, when they are at hand.
    """
    reports = job_reports(played) if reports is None else reports
    ended = [report for report in reports if report.finished is not None]
    end = played.state.now - played.history.template.now
    completions = [r.completion for r in ended if r.completion is not None]
    queueing = [end - r.submitted if r.queueing is None else r.queueing for r in reports]
    largest = [end - r.submitted if r.queueing is None else r.queueing for r in _largest(reports)]
    finishes = [r.finished for r in ended if r.finished is not None]
    totals = played.state.totals
    capacity = totals.capacity or 1.0
    kinds = sorted({r.deadline_kind for r in reports if r.deadline is not None})
    return Metrics(
        jobs=len(reports),
        unfinished=len(reports) - len(ended),
        rounds=totals.rounds,
        completion_mean=_mean(completions),
        completion_p50=percentile(completions, 0.5),
        completion_p99=percentile(completions, 0.99),
        makespan=max(finishes) - min(r.submitted for r in reports) if finishes else None,
        queueing_mean=_mean(queueing),
        queueing_p50=percentile(queueing, 0.5),
        queueing_p99=percentile(queueing, 0.99),
        start_estimates=start_estimates(played),
        waiting_mean=_mean([r.waiting for r in reports]),
        largest_queueing_mean=_mean(largest),
        largest_queueing_worst=max(largest, default=None),
        rho=_ratio(ended, lambda r: r.rho, UNFAIR),
        rho_gavel=_ratio(ended, lambda r: r.rho_gavel, UNFAIR),
        rho_shockwave=_ratio(ended, lambda r: r.rho_shockwave, UNFAIR_SHOCKWAVE),
        rho_shockwave_themis=_ratio(ended, lambda r: r.rho_shockwave_themis, UNFAIR_SHOCKWAVE),
        rho_sia=_ratio(ended, lambda r: r.rho_sia, UNFAIR),
        deadlines={
            kind: Deadlines(
                sum(r.deadline_kind == kind for r in reports),
                sum(r.deadline_kind == kind and r.deadline_met is True for r in reports),
            )
            for kind in kinds
        },
        allocated=math.fsum(r.held for r in reports) / capacity,
        busy=math.fsum(r.busy for r in reports) / capacity,
        useful=math.fsum(r.busy - r.lost for r in reports) / capacity,
        evictions=sum(r.evictions for r in reports),
        moves=sum(r.moves for r in reports),
        resizes=sum(r.resizes for r in reports),
        forced=sum(r.forced for r in reports),
        lost_gpu_hours=math.fsum(r.lost + r.restarting for r in reports) / 3600.0,
        jain=jain([r.service for r in ended]),
        fragmentation=fragmentation(played),
        cost_micros=cost_micros(played),
    )


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
        error_mean=_mean(errors),
        error_absolute_mean=_mean([abs(error) for error in errors]),
        error_absolute_p90=percentile([abs(error) for error in errors], 0.9),
        promised=len(due),
        kept=sum(start is not None and start <= latest + _ROUNDING for start, latest in due),
    )


def percentile(values: Iterable[float], share: float) -> float | None:
    """The least value that at least ``share`` of all do not exceed (nearest rank); None without any."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def jain(values: Sequence[float]) -> float | None:
    """Jain's index: (sum x)^2 / (n sum x^2), from 1/n to 1; None where all are 0 or there is none."""
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares > 0 else None


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
        rho=_over(_counted(job, state), state.fair.finish_age),
        rho_gavel=_over(completion, attended.proportional_seconds),
        rho_shockwave=_shockwave(played, arrival, completion, _static_contention(played)),
        rho_shockwave_themis=_shockwave(played, arrival, completion, _mean_contention(played, state, here)),
        rho_sia=_sia(played, arrival, state, completion),
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


def _over(completion: float | None, alone: float | None) -> float | None:
    return completion / alone if completion is not None and alone else None


def _static_contention(played: Played) -> float:
    return max(1.0, len(played.history.arrivals) / max(1, played.history.devices))


def _mean_contention(played: Played, state: JobState, here: float) -> float:
    mean = state.attended.contention_seconds / here if here > 0 else 1.0
    return max(1.0, mean / max(1, played.history.devices))


def _shockwave(played: Played, arrival: Arrival, completion: float | None, contention: float) -> float | None:
    reference = played.paces.reference(arrival.job.name)
    return _over(completion, arrival.work / reference * contention) if reference > 0 else None


def _sia(played: Played, arrival: Arrival, state: JobState, completion: float | None) -> float | None:
    """Types on which the job cannot run are left out of the mean."""
    if completion is None or completion <= 0:
        return None
    jobs = max(1.0, state.attended.contention_seconds / completion)
    found = weight = 0.0
    for kind, devices in played.paces.capacity.items():
        rate = played.paces.on_share(arrival.job.name, kind, devices / jobs)
        if rate > 0:
            found += devices * completion * rate / arrival.work
            weight += devices
    return found / weight if weight else None


def _largest(reports: Sequence[JobReport]) -> list[JobReport]:
    """The tenth of the jobs that ask for most devices, and all that ask for as many, if for more than one."""
    if not reports:
        return []
    ordered = sorted((report.size for report in reports), reverse=True)
    least = ordered[max(0, math.ceil(LARGEST_SHARE * len(ordered)) - 1)]
    return [report for report in reports if report.size >= max(least, _A_GANG)]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _ratio(
    reports: Sequence[JobReport], read: Callable[[JobReport], float | None], unfair: float
) -> Ratio | None:
    values = [value for report in reports if (value := read(report)) is not None]
    if not values:
        return None
    p99, mean = percentile(values, 0.99), _mean(values)
    assert p99 is not None
    assert mean is not None
    above = sum(value > unfair + _ROUNDING for value in values)
    return Ratio(mean, p99, max(values), above / len(values))
