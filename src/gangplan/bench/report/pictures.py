"""Pictures of rows, as SVG text that stands in the page itself."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from gangplan.bench import curve
from gangplan.bench.report import groups, numbers
from gangplan.bench.runs import ANSWERED, SOLVED, Row
from gangplan.planning.report.drawing import figure, legend, svg

_LEAST_GAP = 1e-7
"""A gap of 0 is drawn here: the axis is logarithmic."""
_STEPS = 120


def pictures(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Title and SVG of each picture that the rows allow."""
    yield from _performance(rows)
    yield from _gaps_over_time(rows)
    yield from _under_load(rows)


def _performance(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Performance profiles: of backends on programmes, and of solvers and pipelines on rounds."""
    for kind, title in (("models", "Programmes by backend"), ("rounds", "Rounds")):
        mine = [row for row in rows if row["kind"] == kind]
        for what, reached in (("a proven optimum", _to_optimum), ("a gap of 1 %", _to_near)):
            times: dict[str, dict[str, float]] = {}
            for row in mine:
                times.setdefault(_who(row), {})[_instance(row)] = reached(row)
            if len(times) < 2:
                continue
            yield f"{title}: performance profile, time to {what}", _profile_picture(times)


def _to_optimum(row: Row) -> float:
    return float(row["wall_s"]) if row["status"] in SOLVED else math.inf


def _to_near(row: Row) -> float:
    reached = row.get("to_1_percent_s") if row["status"] in ANSWERED else None
    return math.inf if reached is None else max(float(reached), 1e-6)


def _who(row: Row) -> str:
    words = [str(row["who"])] if row["who"] != "gangplan" else []
    words += [str(row[name]) for name in ("solver", "pipeline") if row.get(name, "auto") != "auto"]
    return " ".join(words) or "gangplan"


def _instance(row: Row) -> str:
    return f"{row['suite']} {row['instance']} {groups.label(row)} {row['time_limit_s']:g}"


def _profile_picture(times: dict[str, dict[str, float]]) -> str:
    drawn, axes = figure()
    profiles = numbers.performance_profile(times)
    widest = max(2.0, 1.1 * max((steps[-1][0] for steps in profiles.values()), default=1.0))
    for name, steps in profiles.items():
        factors = [factor for factor, _ in steps] + [widest]
        shares = [share for _, share in steps] + [steps[-1][1]]
        axes.step(factors, shares, where="post", label=name)
    axes.set_xscale("log")
    axes.set_xlabel("times the fastest (log)")
    axes.set_ylabel("share of instances")
    axes.set_ylim(-0.02, 1.02)
    legend(axes)
    return svg(drawn)


def _gaps_over_time(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Relative gap over time by group: the median over seeds, and the span of all."""
    by_label: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if row["kind"] == "rounds" and row["status"] in ANSWERED and row.get("curve"):
            label = f"{groups.label(row)}, {row['time_limit_s']:g} s"
            by_label.setdefault(label, {}).setdefault(_who(row), []).append(row)
    for label, by_who in by_label.items():
        yield f"{label}: gap over time", _gap_picture(by_who)


def _gap_picture(by_who: dict[str, list[Row]]) -> str:
    drawn, axes = figure()
    for who, mine in by_who.items():
        ends = [max(float(row["time_limit_s"]), float(row["wall_s"])) for row in mine]
        moments = [0.005 * (max(ends) / 0.005) ** (k / _STEPS) for k in range(_STEPS + 1)]
        curves = [[_gap_at(row, moment) for moment in moments] for row in mine]
        middle = [statistics.median(column) for column in zip(*curves, strict=True)]
        low = [min(column) for column in zip(*curves, strict=True)]
        high = [max(column) for column in zip(*curves, strict=True)]
        (line,) = axes.step(moments, middle, where="post", label=f"{who} (n = {len(mine)})")
        axes.fill_between(moments, low, high, step="post", alpha=0.15, color=line.get_color())
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(_LEAST_GAP / 2, 1.5)
    axes.set_xlabel("seconds since the request was sent (log)")
    axes.set_ylabel("relative gap to the bound of the end (log)")
    legend(axes)
    return svg(drawn)


def _under_load(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """How long answers took at each load, by size and percentile; rejections in words beside."""
    mine = [row for row in rows if row["kind"] == "load" and row.get("p50_s") is not None]
    sizes = sorted({row["size"] for row in mine})
    if len({row["load"] for row in mine}) < 2:
        return
    drawn, axes = figure()
    for size, line in zip(sizes, ("-", "--", ":", "-."), strict=False):
        ordered = sorted((row for row in mine if row["size"] == size), key=lambda row: float(row["load"]))
        loads = [100.0 * row["load"] for row in ordered]
        for name, label in (("p50_s", "half"), ("p99_s", "99 %"), ("p999_s", "99.9 %")):
            axes.plot(loads, [row[name] for row in ordered], line, marker="o", label=f"{size}, {label}")
        for load, row in zip(loads, ordered, strict=True):
            share = row["rejected"] / max(1, row["asked"])
            axes.annotate(
                f"{share:.0%} rejected",
                (load, row["p50_s"]),
                fontsize=7,
                textcoords="offset points",
                xytext=(4, 4),
            )
    axes.set_xlabel("load, percent of the capacity")
    axes.set_ylabel("seconds until the answer")
    legend(axes)
    yield "Under load: how long answers take", svg(drawn)


def _gap_at(row: Row, moment: float) -> float:
    """The gap of a row's plan at a moment; 1 before the first."""
    point = curve.at(curve.from_lists(row["curve"]), moment)
    if point is None or point.objective is None:
        return 1.0
    bound = float(row["bound"])
    gap = max(0.0, bound - point.objective) / max(abs(bound), 1e-9)
    return min(1.0, max(gap, _LEAST_GAP))
