"""Rows that differ by their seed only, and how their figures are written in one cell."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from gangplan.bench.runs import Row, group_of

GroupKey = tuple[str, ...]
KEY = ("instance", "who", "solver", "pipeline", "limit s")
"""Heads of the columns that :func:`group_key` fills."""


def grouped(rows: Iterable[Row]) -> list[tuple[GroupKey, list[Row]]]:
    """Rows that differ by their seed only, in order of appearance."""
    found: dict[GroupKey, list[Row]] = {}
    for row in rows:
        found.setdefault(group_key(row), []).append(row)
    return list(found.items())


def group_key(row: Row) -> GroupKey:
    """Instance without its seed, who, solver, pipeline, time limit: what :data:`KEY` heads."""
    limit = f"{row['time_limit_s']:g}"
    return (label(row), str(row["who"]), str(row["solver"]), str(row.get("pipeline", "")), limit)


def label(row: Row) -> str:
    """The instance without its seed; the prototype's own are marked."""
    theirs = (row.get("options") or {}).get("instance_of") == "prototype"
    return group_of(str(row["instance"])) + (" (prototype's)" if theirs else "")


def spread(values: Sequence[float], form: str) -> str:
    """``median (smallest to largest)``; the value alone where it is the same in all."""
    if not values:
        return ""
    low, middle, high = (format(v, form) for v in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def values(rows: Sequence[Row], read: Callable[[Row], float | None]) -> list[float]:
    """What is read of each row, without those that lack it."""
    return [float(value) for row in rows if (value := read(row)) is not None]


def field(rows: Sequence[Row], name: str) -> list[float]:
    """The values of a column."""
    return values(rows, lambda row: row.get(name))


def seconds(values: Sequence[float]) -> str:
    """Seconds as text, small ones to the millisecond."""
    return spread(values, ".3f" if values and max(values) < 0.1 else ".2f")


def percent(values: Sequence[float]) -> str:
    """Fractions as text, in percent."""
    shown = [0.0 if abs(value) < 1e-6 else 100 * value for value in values]
    return spread(shown, ".3f" if shown and max(shown) < 0.1 else ".2f")


def statuses(rows: Sequence[Row]) -> str:
    """How many of each status, as text."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def load_averages(row: Row) -> list[float]:
    """Of the machine while the row was measured; of a service under load, ``load`` is what was asked."""
    found = row.get("load_average", row.get("load"))
    return [found] if isinstance(found, float) else list(found or ())


def rounds(rows: Sequence[Row]) -> list[Row]:
    """Those of whole rounds."""
    return [row for row in rows if row["kind"] == "rounds"]
