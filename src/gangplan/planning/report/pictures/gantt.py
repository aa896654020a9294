"""Who held which device when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gangplan.planning.report.drawing import INK, figure, series, svg, unit_of

_LABELS = 24
"""Rows that are named; of more, every so-many-th."""


def pictures(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Bars by device where there are few, nodes shaded by how much of them is held where there are many."""
    found = run.get("series")
    if not found or not found["gantt"]["rows"]:
        return
    gantt = found["gantt"]
    seconds, unit = unit_of(found["edges_s"][-1])
    rows = gantt["rows"]
    drawn, axes = figure(height=max(2.4, min(6.0, 0.9 + 0.12 * len(rows))))
    if "bars" in gantt:
        title = "Who held which device (a colour is a job; colours repeat)"
        jobs = {name: k for k, name in enumerate(dict.fromkeys(bar[3] for bar in gantt["bars"]))}
        by_job: dict[str, list[list[Any]]] = {}
        for bar in gantt["bars"]:
            by_job.setdefault(bar[3], []).append(bar)
        for name, bars in by_job.items():
            axes.barh(
                [bar[0] for bar in bars],
                [(bar[2] - bar[1]) / seconds for bar in bars],
                left=[bar[1] / seconds for bar in bars],
                height=0.82,
                color=series(jobs[name]),
                alpha=0.85,
                linewidth=0,
            )
        axes.set_ylim(len(rows) - 0.5, -0.5)
    else:
        title = "How much of each node was held (darker is more)"
        times = [edge / seconds for edge in found["edges_s"]]
        for k, shares in enumerate(gantt["cells"]):
            for low, high, share in _runs(times, shares):
                if share > 0:
                    axes.barh(k, high - low, left=low, height=1.0, color=series(0), alpha=share, linewidth=0)
        axes.set_ylim(len(rows) - 0.5, -0.5)
    step = max(1, -(-len(rows) // _LABELS))
    axes.set_yticks(range(0, len(rows), step), [rows[k] for k in range(0, len(rows), step)])
    axes.tick_params(axis="y", labelsize=7, labelcolor=INK, length=0)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, found["edges_s"][-1] / seconds)
    axes.set_xlabel(unit)
    yield title, svg(drawn)


def _runs(times: list[float], shares: list[float]) -> Iterator[tuple[float, float, float]]:
    """Neighbouring bins that look alike, in tenths, as one."""
    begin = 0
    for k in range(1, len(shares) + 1):
        if k == len(shares) or round(10 * shares[k]) != round(10 * shares[begin]):
            yield times[begin], times[k], min(1.0, round(10 * shares[begin]) / 10)
            begin = k
