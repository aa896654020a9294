"""How full a cluster gets."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from gangplan.bench.report.groups import spread
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row, group_of


def section(rows: Sequence[Row]) -> Section | None:
    """How full a cluster gets."""
    by_policy: dict[tuple[str, str, int, str], list[Row]] = {}
    for row in rows:
        if row["kind"] == "fill" and row.get("allocated_percent") is not None:
            rounds = 0 if row["mode"] == "offline" else row["pods_per_round"]
            who = f"{row['policy']}, {row['preset']}" if row.get("preset") else str(row["policy"])
            key = (group_of(row["instance"]), who, rounds, row["mode"])
            by_policy.setdefault(key, []).append(row)
    lines = []
    for (instance, policy, rounds, mode), group in sorted(by_policy.items()):
        percents = [float(row["allocated_percent"]) for row in group]
        mean = f"{statistics.fmean(percents):.2f}"
        lines.append(
            (instance, policy, f"{rounds or 'all'}", mode, mean, spread(percents, ".2f"), str(len(group)))
        )
    if not lines:
        return None
    columns = "instance|policy|pods a round|mode|mean %|median %|seeds"
    return Section(
        "Filling",
        Table(tuple(columns.split("|")), tuple(lines)),
        "Allocated device thousandths over all, when the last pod has come. Nothing leaves or moves.",
    )
