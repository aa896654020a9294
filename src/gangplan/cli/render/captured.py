"""Captured rounds as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gangplan.cli.render.figures import count, seconds, share, value


def rounds_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """One line for each captured round."""
    if not rows:
        return Text("no captured rounds")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("round", overflow="fold")
    table.add_column("kept for")
    for name in ("nodes", "jobs", "waiting", "worth", "gap", "took", "of"):
        table.add_column(name, justify="right")
    table.add_column("limit")
    for row in rows:
        table.add_row(
            row["id"],
            ", ".join(row["reasons"]),
            count(row["nodes"]),
            count(row["jobs"]),
            "" if row["waiting"] is None else count(row["waiting"]),
            "" if row["objective"] is None else value(row["objective"]),
            "" if row["relative_gap"] is None else share(row["relative_gap"]),
            seconds(row["elapsed_s"]),
            seconds(row["allowed_s"]),
            row["limit"] or "no answer",
        )
    return table


def headline(row: Mapping[str, Any], versions: Mapping[str, str]) -> RenderableType:
    """What is known of a captured round beside its answer."""
    text = Text(f"captured {row['captured_at']}, kept for {', '.join(row['reasons'])}")
    text.append(f"; took {seconds(row['elapsed_s'])} of {seconds(row['allowed_s'])}")
    if row["on_session"]:
        text.append("; on a session")
    text.append("\n" + ", ".join(f"{name} {version}" for name, version in sorted(versions.items())), "dim")
    return text
