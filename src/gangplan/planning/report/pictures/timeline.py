"""Use of the cluster and length of the queue over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangplan.planning.report.drawing import figure, legend, series, svg, unit_of


def pictures(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Devices held by type (of each simulation), and jobs that wait (of all in one).

    Args:
        runs: name and recording of each simulation; those without ``series`` are passed over.
    """
    known = [(name, run["series"]) for name, run in runs if run.get("series")]
    for name, found in known:
        title = "Devices held over time, by type"
        yield title if len(known) == 1 else f"{title}: {name}", _use(found)
    if known:
        yield "Jobs that wait, over time", _queue(known)


def _use(found: Mapping[str, Any]) -> str:
    drawn, axes = figure()
    seconds, unit = unit_of(found["edges_s"][-1])
    times = [edge / seconds for edge in found["edges_s"]]
    for k, (kind, devices) in enumerate(found["devices"].items()):
        shares = [100 * value / devices for value in found["held"][kind]]
        axes.stairs(shares, times, label=f"{kind} ({devices})", color=series(k), linewidth=1.4)
    axes.set_ylim(0, 104)
    axes.set_xlim(0, times[-1])
    axes.set_xlabel(unit)
    axes.set_ylabel("devices held, %")
    legend(axes)
    return svg(drawn)


def _queue(known: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    from matplotlib.ticker import MaxNLocator

    drawn, axes = figure()
    last = max(found["edges_s"][-1] for _, found in known)
    seconds, unit = unit_of(last)
    for k, (name, found) in enumerate(known):
        times = [edge / seconds for edge in found["edges_s"]]
        axes.stairs(found["waiting"], times, label=name, color=series(k), linewidth=1.4)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlim(0, last / seconds)
    axes.set_xlabel(unit)
    axes.set_ylabel("jobs that hold nothing")
    if len(known) > 1:
        legend(axes)
    return svg(drawn)
