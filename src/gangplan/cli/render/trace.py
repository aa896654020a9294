"""What ``gangplan trace describe`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gangplan.cli.render.figures import amount, count, share

if TYPE_CHECKING:
    from gangplan.planning.trace.describe import Description

MOST_SIZES = 12
"""Sizes that are listed; of more, the most frequent."""


def trace(found: Description) -> RenderableType:
    """The trace in figures, and how many jobs ask for how many GPUs."""
    return Group(Text(found.header.name, style="bold"), "", _figures(found), "", _sizes(found))


def _figures(found: Description) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    rows = {
        "from": found.header.source,
        "licence": found.header.licence,
        "jobs": count(found.jobs),
        "measurements": count(found.measurements),
        "arrive over": f"{found.span_days:.2f} days",
        "GPU-hours": count(found.gpu_hours),
        "duration p50, p90, p99": ", ".join(f"{seconds:,.0f} s" for seconds in found.durations.values()),
        "without a duration": count(found.without_duration),
        "deadlines": ", ".join(f"{kind} {count(jobs)}" for kind, jobs in found.deadlines.items()),
        "ended": ", ".join(f"{status} {count(jobs)}" for status, jobs in found.statuses.items()),
        "of several roles": count(found.roles),
        "users, queues, models, types": ", ".join(
            map(count, (found.users, found.queues, found.models, found.gpu_types))
        ),
    }
    for name, text in rows.items():
        if text and text != "0":
            table.add_row(name, text)
    for reason, left in found.left_out.items():
        table.add_row("left out", f"{reason} ({count(left)})")
    return table


def _sizes(found: Description) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("gpus", "jobs", "share"):
        table.add_column(name, justify="right")
    most = sorted(found.gpus, key=lambda size: (-found.gpus[size], size))[:MOST_SIZES]
    for size in sorted(most):
        table.add_row(amount(size), count(found.gpus[size]), share(found.gpus[size] / found.jobs))
    rest = sum(found.gpus.values()) - sum(found.gpus[size] for size in most)
    if rest:
        table.add_row("others", count(rest), share(rest / found.jobs))
    return table
