"""Voluntary actions in many rounds with noise."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """Voluntary actions in many rounds with noise."""
    lines = [
        (
            str(row["instance"]),
            f"{row['noise']:g}",
            str(row["rounds"]),
            f"{row['running_job_rounds']:,}",
            f"{row['voluntary']:,}",
            f"{row['without_lasting_gain']:,}",
            f"{row['per_1000']:.3f}",
            f"{row['within_hysteresis']:,}" if "within_hysteresis" in row else "",
        )
        for row in rows
        if row["kind"] == "churn" and row.get("per_1000") is not None
    ]
    if not lines:
        return None
    columns = (
        "instance|noise|rounds|running job-rounds|voluntary|without lasting gain|per 1,000|within hysteresis"
    )
    return Section(
        "Churn",
        Table(tuple(columns.split("|")), tuple(lines)),
        "Evictions, moves and resizes by choice; without lasting gain: it does not pay without the noise, by "
        "more than the hysteresis. Within hysteresis: of those, such as pay when no throughput is doubted.",
    )
