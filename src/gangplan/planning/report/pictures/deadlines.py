"""How early or late jobs with a deadline ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangplan.planning.report.drawing import SOFT, figure, legend, svg, unit_of


def pictures(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """The distribution of end less deadline; who has not ended is late without end."""
    lines = []
    for name, run in runs:
        dated = [job for job in run["jobs"] if job["deadline"] is not None]
        ended = sorted(job["finished"] - job["deadline"] for job in dated if job["finished"] is not None)
        if ended:
            lines.append((name, ended, len(dated)))
    if not lines:
        return
    seconds, unit = unit_of(max(max(abs(ended[0]), abs(ended[-1])) for _, ended, _ in lines))
    drawn, axes = figure()
    for name, ended, count in lines:
        shares = [(k + 1) / count for k in range(len(ended))]
        values = [late / seconds for late in ended]
        axes.step([values[0], *values], [0.0, *shares], where="post", label=name, linewidth=1.6)
    axes.axvline(0.0, color=SOFT, linewidth=1.0, linestyle="--")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(f"{unit} after the deadline; left of 0 is in time")
    axes.set_ylabel("share of jobs with a deadline")
    if len(lines) > 1:
        legend(axes)
    yield "Deadlines: how early or late jobs ended", svg(drawn)
