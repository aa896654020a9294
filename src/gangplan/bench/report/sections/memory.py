"""Peak memory, of the largest process and summed."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.groups import KEY, field, grouped, spread
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """Peaks, of the largest process and summed."""
    lines = [
        (
            *key,
            spread([value / 1e6 for value in field(group, "peak_rss_bytes")], ".0f"),
            spread([value / 1e6 for value in field(group, "sum_rss_bytes")], ".0f"),
        )
        for key, group in grouped(rows)
        if field(group, "sum_rss_bytes")
    ]
    if not lines:
        return None
    columns = (*KEY, "largest process MB", "sum MB")
    return Section("Peak memory", Table(columns, tuple(lines)))
