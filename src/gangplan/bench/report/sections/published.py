"""Figures that papers publish, beside ours."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """Published figures, in the order of the rows."""
    lines = []
    for row in rows:
        if row["kind"] != "published" or row.get("ours") is None:
            continue
        known = row.get("published") is not None
        lines.append(
            (
                str(row["paper"]),
                str(row["setting"]),
                str(row["policy"]),
                str(row["measure"]),
                f"{row['published']:.4g}" if known else "",
                f"{row['ours']:.4g}",
                f"{row['ratio']:.3f}" if known else "",
            )
        )
    if not lines:
        return None
    columns = "paper|setting|policy|measure|published|ours|ratio"
    return Section(
        "Published figures",
        Table(tuple(columns.split("|")), tuple(lines)),
        "The same jobs, cluster and policy, played here. What differs from the paper's setting is said in "
        "the modules of gangplan.bench.published.",
    )
