"""The work counters."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.groups import KEY, grouped, spread
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """The work counters."""
    mine = [row for row in rows if row.get("statistics")]
    names = list(dict.fromkeys(n for row in mine for n in row["statistics"] if "seconds" not in n))
    lines = [
        (
            *key,
            *(
                spread([row["statistics"][name] for row in group if name in row["statistics"]], ",.0f")
                for name in names
            ),
        )
        for key, group in grouped(mine)
    ]
    if not lines:
        return None
    return Section("Counters", Table((*KEY, *names), tuple(lines)))
