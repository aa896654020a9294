"""A played history in figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gangplan.planning.metrics.fairness import UNFAIR, UNFAIR_SHOCKWAVE, Ratio, jain, ratio_of
from gangplan.planning.metrics.fragmentation import cost_micros, fragmentation
from gangplan.planning.metrics.jobs import JobReport, job_reports
from gangplan.planning.metrics.spread import mean, percentile
from gangplan.planning.metrics.starts import StartEstimates, TimeToStart, start_estimates, time_to_start
from gangplan.planning.rounds.loop import Played

LARGEST_SHARE = 0.1
"""Share of the jobs, those that ask for most devices, that are called the largest gangs."""
_A_GANG = 2


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
class Metrics:
    """A played history in figures; None: no job that it could be told of.

    Attributes:
        jobs, unfinished: that arrived, and those of them that have not ended.
        rounds: that were played, those without anybody included.
        completion_mean, completion_p50, completion_p99: from submission to end, seconds.
        makespan: from the first submission to the last end, seconds.
        queueing_mean, queueing_p50, queueing_p99: from submission to first start, seconds.
        start_estimates: how far starts were from what was told of them.
        time_to_start: how soon interactive jobs started; None: there was none.
        waiting_mean: holding nothing, seconds.
        largest_queueing_mean, largest_queueing_worst: from submission to first start of the largest gangs,
            the tenth of the jobs that ask for most devices and all that ask for as many, if for more than
            one; who never started has waited until the end.
        rho, rho_gavel, rho_shockwave, rho_shockwave_themis, rho_sia: see ``fairness``.
        deadlines: by kind; one that is still open counts as missed.
        allocated, busy, useful: shares of the device-seconds of all rounds: held, worked, and worked on what
            was not thrown away later.
        evictions, moves, resizes: by the policy's choice; an eviction is what others call a preemption.
        forced: stops without a choice.
        lost_gpu_hours: device-hours of work thrown away and of restarts after the first start.
        jain: Jain's index (Jain, Chiu and Hawe, 1984) of the service that each job got: device-seconds held
            for each device asked for and second that it was there. 1: all alike.
        fragmentation: share of device-seconds that were free and of no use to a typical job; see
            :func:`gangplan.planning.metrics.fragmentation.fragmentation`.
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
    time_to_start: TimeToStart | None
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
        completion_mean=mean(completions),
        completion_p50=percentile(completions, 0.5),
        completion_p99=percentile(completions, 0.99),
        makespan=max(finishes) - min(r.submitted for r in reports) if finishes else None,
        queueing_mean=mean(queueing),
        queueing_p50=percentile(queueing, 0.5),
        queueing_p99=percentile(queueing, 0.99),
        start_estimates=start_estimates(played),
        time_to_start=time_to_start(played),
        waiting_mean=mean([r.waiting for r in reports]),
        largest_queueing_mean=mean(largest),
        largest_queueing_worst=max(largest, default=None),
        rho=ratio_of([r.rho for r in ended if r.rho is not None], UNFAIR),
        rho_gavel=ratio_of([r.rho_gavel for r in ended if r.rho_gavel is not None], UNFAIR),
        rho_shockwave=ratio_of(
            [r.rho_shockwave for r in ended if r.rho_shockwave is not None], UNFAIR_SHOCKWAVE
        ),
        rho_shockwave_themis=ratio_of(
            [r.rho_shockwave_themis for r in ended if r.rho_shockwave_themis is not None], UNFAIR_SHOCKWAVE
        ),
        rho_sia=ratio_of([r.rho_sia for r in ended if r.rho_sia is not None], UNFAIR),
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


def _largest(reports: Sequence[JobReport]) -> list[JobReport]:
    """The tenth of the jobs that ask for most devices, and all that ask for as many, if for more than one."""
    if not reports:
        return []
    ordered = sorted((report.size for report in reports), reverse=True)
    least = ordered[max(0, math.ceil(LARGEST_SHARE * len(ordered)) - 1)]
    return [report for report in reports if report.size >= max(least, _A_GANG)]
