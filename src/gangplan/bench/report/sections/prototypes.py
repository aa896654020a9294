"""Ours beside the prototype's whole model: value, sizes, seconds."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.groups import label
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import ANSWERED, Row


def section(rows: Sequence[Row]) -> Section | None:
    """Ours beside the prototype's whole model: value, sizes, seconds. Optima agree where nothing runs."""
    theirs = [row for row in rows if row["who"] in {"prototype-same", "prototype-own"}]
    ours = {
        (row["instance"], row["solver"]): row
        for row in rows
        if row["who"] == "gangplan" and "(prototype's)" in label(row) and row["status"] in ANSWERED
    }
    lines = []
    for row in theirs:
        mine = ours.get((row["instance"], row["solver"]))
        if mine is None or row["status"] not in ANSWERED:
            continue
        value, other = float(mine["objective_in_their_unit"]), float(row["objective"])
        phases = row["seconds_by_phase"]
        lines.append(
            (
                str(row["instance"]),
                str(row["solver"]),
                str(row["who"]),
                f"{value:.6f}" + ("" if mine["proved"] else " (not proved)"),
                f"{other:.6f}" + ("" if row["proved"] else " (not proved)"),
                f"{(value - other) / max(1.0, abs(other)):.1e}",
                f"{mine['statistics'].get('columns', 0):,.0f}",
                f"{row['columns']:,.0f}",
                f"{mine['build_s']:.3f}",
                f"{phases['columns'] + phases['build']:.3f}",
                f"{mine['solve_s'] or 0.0:.3f}",
                f"{phases['hand_over'] + phases['solve']:.3f}",
            )
        )
    if not lines:
        return None
    columns = (
        "instance|solver|against|ours|theirs|relative difference|columns, ours|theirs|build s, ours|theirs|"
        "solve s, ours|theirs"
    )
    return Section(
        "Beside the prototype's whole model",
        Table(tuple(columns.split("|")), tuple(lines)),
        "In the prototype's unit. Where something runs, what a move costs differs a little "
        "(`bench/prototypes/instances.py`); where nothing runs, the optima must agree.",
    )
