"""Seconds by phase, and what lies outside the planner."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.groups import KEY, field, grouped, rounds, seconds, spread
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """Seconds by phase, and what lies outside the planner."""
    mine = [row for row in rounds(rows) if row.get("seconds_by_phase")]
    names = list(dict.fromkeys(name for row in mine for name in row["seconds_by_phase"] if name != "total"))
    lines = [
        (
            *key,
            *(
                spread(
                    [row["seconds_by_phase"][name] for row in group if name in row["seconds_by_phase"]], ".3f"
                )
                for name in names
            ),
            seconds(field(group, "outside_s")),
            seconds(field(group, "encode_s")),
            spread([value / 1e6 for value in field(group, "request_bytes")], ".2f"),
        )
        for key, group in grouped(mine)
    ]
    if not lines:
        return None
    columns = (*KEY, *names, "outside the planner", "encode", "request MB")
    return Section("Seconds by phase", Table(columns, tuple(lines)))
