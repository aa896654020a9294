"""How completion times and fairness ratios are distributed, one line for each simulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangplan.planning.report.drawing import SOFT, figure, legend, logarithmic, svg, unit_of

_LEAST_SECONDS = 60.0
"""What is less is drawn here: the axis is logarithmic."""


def pictures(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Cumulative distributions of completion time, time to the first start, and rho.

    Args:
        runs: name and recording of each simulation.
    """
    for field, title in (
        ("completion", "Completion time: share of jobs that ended within"),
        ("queueing", "Time to the first start: share of jobs that started within"),
    ):
        values = [(name, _values(run, field)) for name, run in runs]
        largest = max((line[-1] for _, line in values if line), default=0.0)
        if largest > 0:
            seconds, unit = unit_of(largest)
            low = min((max(line[0], _LEAST_SECONDS) for _, line in values if line), default=_LEAST_SECONDS)
            shown = [(name, [max(v, low) / seconds for v in line]) for name, line in values]
            yield title, _cumulative(shown, f"{unit} (log)", log=low < largest)
    ratios = [(name, _values(run, "rho")) for name, run in runs]
    if any(line for _, line in ratios):
        yield (
            "Finish-time fairness: share of jobs with a ratio of at most",
            _cumulative(
                ratios, "rho (log); above 1 is worse than alone on the fair share", log=True, mark=1.0
            ),
        )


def _values(run: Mapping[str, Any], field: str) -> list[float]:
    return sorted(job[field] for job in run["jobs"] if job[field] is not None)


def _cumulative(
    lines: Sequence[tuple[str, Sequence[float]]], label: str, *, log: bool, mark: float | None = None
) -> str:
    drawn, axes = figure()
    for name, values in lines:
        if values:
            shares = [(k + 1) / len(values) for k in range(len(values))]
            axes.step([values[0], *values], [0.0, *shares], where="post", label=name, linewidth=1.6)
    if mark is not None:
        axes.axvline(mark, color=SOFT, linewidth=1.0, linestyle="--")
    if log:
        logarithmic(axes)
    axes.set_xlabel(label)
    axes.set_ylim(0.0, 1.02)
    axes.set_ylabel("share of jobs")
    if len(lines) > 1:
        legend(axes)
    return svg(drawn)
