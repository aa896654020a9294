"""How late answers came."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """How late answers came: the distribution over all runs of a size, backend and limit."""
    found: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        if row.get("late_s") is not None:
            size = str(row["instance"]).partition("/")[0]
            fault = str(row.get("fault", ""))
            key = (row["kind"], size, row["who"], row["solver"], fault, f"{row['time_limit_s']:g}")
            found.setdefault(key, []).append(float(row["late_s"]))
    if not any(value > 0 for values in found.values() for value in values):
        return None
    lines = [
        (
            *key,
            str(len(values)),
            str(sum(value > 0 for value in values)),
            *(f"{ordered[round(share * (len(ordered) - 1))]:.3f}" for share in (0.5, 0.75, 0.9, 1.0)),
        )
        for key, values in found.items()
        if (ordered := sorted(values))
    ]
    columns = "kind|size|who|solver|fault|limit s|n|late|median s|three quarters s|nine tenths s|latest s"
    return Section(
        "Lateness",
        Table(tuple(columns.split("|")), tuple(lines)),
        "Seconds after the time limit at which the answer was there; order statistics over all runs.",
    )
