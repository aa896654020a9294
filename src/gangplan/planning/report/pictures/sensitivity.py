"""How the figures of a study change along its axes."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangplan.planning.report.drawing import INK, SOFT, figure, legend, series, svg, unit_of
from gangplan.planning.study.figures import FIGURES

_MOST_LINES = 8
_ASIDE = 0.08
"""Between two lines at a value that is no number, of the way to the next: none hides another."""
_Point = Mapping[str, Any]


def pictures(
    points: Sequence[_Point], axis: str, names: Sequence[str], bounds: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[str, str]]:
    """Each figure along one axis: a line for each combination of the others, medians with the span of draws.

    A figure that is the same everywhere has no picture: the table says so.

    Args:
        points: of a study's document.
        axis: along which.
        names: of the figures.
        bounds: what figures have to keep to, drawn as lines.
    """
    for name in names:
        lines: dict[str, list[tuple[Any, list[float]]]] = {}
        for point in points:
            values = [value for value in point["figures"].get(name, ()) if value is not None]
            if values:
                rest = ", ".join(f"{k} {_text(v)}" for k, v in point["values"].items() if k != axis)
                lines.setdefault(rest, []).append((point["values"][axis], values))
        seen = {value for line in lines.values() for _, values in line for value in values}
        if len(seen) > 1 and any(len(line) > 1 for line in lines.values()):
            about = FIGURES[name].about
            yield (
                f"{about[0].upper()}{about[1:]}, by {axis}",
                _picture(lines, axis, name, bounds.get(name, {})),
            )


def _picture(
    lines: Mapping[str, list[tuple[Any, list[float]]]], axis: str, name: str, bound: Mapping[str, float]
) -> str:
    drawn, axes = figure()
    scale, label = _scale(name, [value for line in lines.values() for _, values in line for value in values])
    numbers = all(_is_number(value) for line in lines.values() for value, _ in line)
    places = list(dict.fromkeys(_text(value) for line in lines.values() for value, _ in line))
    for k, (rest, line) in enumerate(list(lines.items())[:_MOST_LINES]):
        ordered = sorted(line, key=lambda pair: pair[0]) if numbers else line
        aside = 0.0 if numbers else _ASIDE * (k - (min(len(lines), _MOST_LINES) - 1) / 2)
        at = [value if numbers else places.index(_text(value)) + aside for value, _ in ordered]
        middle = [statistics.median(values) / scale for _, values in ordered]
        style = "-" if numbers else ""
        axes.plot(at, middle, f"o{style}", color=series(k), label=rest or None, markersize=4, linewidth=1.5)
        if any(len(values) > 1 for _, values in ordered):
            low = [min(values) / scale for _, values in ordered]
            high = [max(values) / scale for _, values in ordered]
            if numbers:
                axes.fill_between(at, low, high, color=series(k), alpha=0.18, linewidth=0)
            else:
                axes.vlines(at, low, high, color=series(k), alpha=0.5, linewidth=3)
    for limit in bound.values():
        axes.axhline(limit / scale, color=SOFT, linestyle="--", linewidth=1.0)
    if not numbers:
        axes.set_xticks(range(len(places)), places)
        axes.set_xlim(-0.5, len(places) - 0.5)
    elif all(float(value).is_integer() for line in lines.values() for value, _ in line):
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.tick_params(labelcolor=INK)
    axes.set_xlabel(axis)
    axes.set_ylabel(label)
    if len(lines) > 1:
        legend(axes)
    return svg(drawn)


def _scale(name: str, values: Sequence[float]) -> tuple[float, str]:
    unit = FIGURES[name].unit
    if unit == "s":
        return unit_of(max(map(abs, values), default=1.0))
    if unit == "share":
        return 0.01, "%"
    return 1.0, {"h": "device-hours", "money": "in the catalogue's currency"}.get(
        unit, name.replace("_", " ")
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: Any) -> str:
    from gangplan.planning.study.result import shown

    return shown(value)
