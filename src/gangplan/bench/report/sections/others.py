"""Figures of others for the peers' programmes that were measured."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.groups import label
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """Figures of others for the peers' programmes that were measured, with their sources."""
    lines: dict[tuple[str, ...], None] = {}
    for row in rows:
        for one in row.get("others", ()):
            seconds = "" if one["seconds"] is None else f"{one['seconds']:.3f}"
            lines[label(row), one["what"], seconds, one["note"], one["source"]] = None
    if not lines:
        return None
    return Section(
        "Figures of others for the same programmes",
        Table(("instance", "what", "s", "note", "source"), tuple(lines)),
        "Their instances were drawn alike but are not the same, and so were machines: compare magnitudes.",
    )
