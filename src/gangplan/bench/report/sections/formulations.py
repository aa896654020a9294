"""Formulations side by side."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.groups import field, grouped, percent, seconds, spread, statuses, values
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """Formulations side by side; gaps against the best bound that any of the instance's rows proved."""
    mine = [row for row in rows if row["kind"] == "formulations"]
    if not mine:
        return None
    best: dict[str, float] = {}
    for row in mine:
        if row.get("bound_holds") and row.get("bound") is not None:
            name = str(row["instance"])
            best[name] = min(best.get(name, float("inf")), float(row["bound"]))

    def gap(row: Row) -> float | None:
        bound, value = best.get(str(row["instance"])), row.get("objective")
        if bound is None or value is None:
            return None
        return max(0.0, bound - float(value)) / max(abs(bound), 1e-9)

    lines = [
        (
            key[0],
            key[1],
            key[2],
            ", ".join(sorted({row["profiles"] for row in group if row.get("profiles")})),
            str(len(group)),
            statuses(group),
            spread(field(group, "objective"), ".6g"),
            percent(values(group, gap)),
            *(spread(field(group, name), ",.0f") for name in ("unbound_gangs", "unbound_devices")),
            *(seconds(field(group, name)) for name in ("build_s", "solve_s", "round_s", "bind_s", "wall_s")),
            *(spread(field(group, name), ",.0f") for name in ("columns", "rows", "nonzeros")),
        )
        for key, group in grouped(mine)
    ]
    columns = (
        "instance|formulation|solver|profiles|n|status|value|gap to the best bound|unbound gangs|"
        "unbound devices|build s|solve s|round s|bind s|whole s|columns|rows|nonzeros"
    )
    return Section("Formulations", Table(tuple(columns.split("|")), tuple(lines)))
