"""One line for each run."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.groups import label, load_averages, percent
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """One line for each run."""
    lines = [
        (
            str(row["instance"]) + (" (prototype's)" if "(prototype's)" in label(row) else ""),
            str(row["who"]),
            str(row["solver"]),
            str(row.get("pipeline", "")),
            f"{row['time_limit_s']:g}",
            str(row["status"]),
            str(row.get("limit", "")),
            "" if row.get("objective") is None else f"{row['objective']:.6f}",
            "" if row.get("bound") is None else f"{row['bound']:.6f}",
            "" if row.get("gap") is None else percent([row["gap"]]),
            "" if row.get("wall_s") is None else f"{row['wall_s']:.3f}",
            {"True": "yes", "False": "NO"}.get(str(row.get("permuted_same")), ""),
            f"{loads[0]:.1f}" if (loads := load_averages(row)) else "",
            str(row.get("error") or row.get("detail") or "").replace("|", "/").replace("\n", " ")[:160],
        )
        for row in rows
    ]
    if not lines:
        return None
    columns = (
        "instance|who|solver|pipeline|limit s|status|stopped by|value|bound|gap|whole s|same permuted|load|"
        "remark"
    )
    return Section("Every run", Table(tuple(columns.split("|")), tuple(lines)))
