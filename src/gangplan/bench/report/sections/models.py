"""Programmes by backend."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report import numbers, targets
from gangplan.bench.report.groups import field, grouped, percent, seconds, spread, statuses
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import ANSWERED, Row


def section(rows: Sequence[Row]) -> Section | None:
    """Programmes by backend."""
    mine = [row for row in rows if row["kind"] == "models"]
    lines = []
    for key, group in grouped(mine):
        answered = [row for row in group if row["status"] in ANSWERED]
        late = field(group, "late_s")
        lines.append(
            (
                key[0],
                key[2],
                key[4],
                str(len(group)),
                str(targets.solved(group)),
                statuses(group),
                f"{numbers.shifted_geometric_mean([numbers.solve_seconds(row) for row in group]):.3f}",
                seconds(field(answered, "wall_s")),
                percent(field(answered, "gap")),
                spread(field(answered, "objective_in_their_unit"), ".6g"),
                *(spread(field(answered, name), ",.0f") for name in ("columns", "rows", "nonzeros")),
                f"{max(late):.2f}" if late else "",
            )
        )
    if not lines:
        return None
    columns = (
        "instance|solver|limit s|n|solved|status|to optimum, SGM s|solve s|gap|value|columns|rows|nonzeros|"
        "latest s"
    )
    return Section(
        "Programmes by backend",
        Table(tuple(columns.split("|")), tuple(lines)),
        "`latest`: most by which a call ended after its time limit.",
    )
