"""What ``gangplan simulate`` shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gangplan.planning.times import spoken

if TYPE_CHECKING:
    from gangplan.planning.metrics import JobReport, Metrics, Ratio

MOST_JOBS = 40
"""Jobs that are listed; of more, those with the worst rho."""


def simulation(run: Mapping[str, Any], metrics: Metrics, jobs: Sequence[JobReport]) -> RenderableType:
    """What was played, the figures of the whole, of fairness, and of the jobs."""
    told = {
        "exact": "durations exact",
        "noisy": f"durations off by up to {100 * float(run['noise']):g} %",
        "predicted": "durations predicted",
        "unknown": "durations unknown",
    }[str(run["told"])]
    title = f"{run['history']}: {run['policy']}, {told}, {metrics.rounds} rounds"
    return Group(Text(title, style="bold"), "", _figures(metrics), "", _fairness(metrics), "", *_jobs(jobs))


def _figures(metrics: Metrics) -> Table:
    table = _table("measure", "figure")
    ended = metrics.jobs - metrics.unfinished
    table.add_row("jobs ended", f"{ended} of {metrics.jobs}")
    table.add_row(
        "completion mean, p50, p99", _times(metrics, "completion_mean", "completion_p50", "completion_p99")
    )
    table.add_row("makespan", spoken(metrics.makespan))
    queueing = _times(metrics, "queueing_mean", "queueing_p50", "queueing_p99")
    table.add_row("to first start mean, p50, p99", queueing)
    told = metrics.start_estimates
    if told.estimated:
        errors = (told.error_mean, told.error_absolute_mean, told.error_absolute_p90)
        table.add_row("started after estimate mean, off by mean, p90", ", ".join(map(spoken, errors)))
    if told.promised:
        table.add_row("promised starts kept", f"{told.kept} of {told.promised}")
    soon = metrics.time_to_start
    if soon is not None:
        table.add_row("interactive jobs started in time", f"{soon.in_time} of {soon.jobs}")
    largest = _times(metrics, "largest_queueing_mean", "largest_queueing_worst")
    table.add_row("largest gangs to first start mean, worst", largest)
    for kind, found in metrics.deadlines.items():
        table.add_row(f"{kind} met", f"{found.met} of {found.jobs}")
    shares = (metrics.allocated, metrics.busy, metrics.useful)
    table.add_row("devices allocated, busy, useful", ", ".join(f"{100 * share:.1f} %" for share in shares))
    moved = f"{metrics.evictions}, {metrics.moves}, {metrics.resizes}, {metrics.forced}"
    table.add_row("evictions, moves, resizes, forced stops", moved)
    table.add_row("GPU-hours lost", f"{metrics.lost_gpu_hours:.2f}")
    table.add_row("Jain's index of service", "" if metrics.jain is None else f"{metrics.jain:.3f}")
    return table


def _fairness(metrics: Metrics) -> Table:
    table = _table("rho", "mean", "p99", "worst", "unfair")
    names = {
        "rho": "gangplan's",
        "rho_gavel": "Gavel's",
        "rho_shockwave": "Shockwave's",
        "rho_shockwave_themis": "Shockwave's, mean contention",
        "rho_sia": "Sia's",
    }
    for field, name in names.items():
        ratio: Ratio | None = getattr(metrics, field)
        if ratio is not None:
            figures = (f"{value:.3f}" for value in (ratio.mean, ratio.p99, ratio.worst))
            table.add_row(name, *figures, f"{100 * ratio.share_unfair:.1f} %")
    return table


def _jobs(jobs: Sequence[JobReport]) -> list[RenderableType]:
    shown = list(jobs)
    if len(jobs) > MOST_JOBS:
        shown = sorted(jobs, key=lambda job: (-(job.rho or 0.0), job.name))[:MOST_JOBS]
    table = _table("job", "gpus", "submitted", "started", "ended", "rho", "stops", "deadline")
    for job in shown:
        stops = job.evictions + job.moves + job.resizes + job.forced
        met = {None: "", True: "met", False: "missed"}[job.deadline_met]
        table.add_row(
            job.name,
            f"{job.size:g}",
            spoken(job.submitted),
            spoken(job.first_start),
            spoken(job.finished),
            "" if job.rho is None else f"{job.rho:.2f}",
            str(stops),
            met,
        )
    left = len(jobs) - len(shown)
    return [table, Text(f"and {left} more, none with a worse rho", style="dim")] if left else [table]


def _times(metrics: Metrics, *fields: str) -> str:
    return ", ".join(spoken(getattr(metrics, field)) for field in fields)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name in {"measure", "rho", "job"} else "right")
    return table
