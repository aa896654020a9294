"""What ``gangplan tune`` shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


def tuned(document: Mapping[str, Any]) -> RenderableType:
    """The choice, the front, and the price of each rule."""
    from gangplan.planning.study.questions.words import difference, figure

    names = document["tune"]["figures"]
    front = _table("on the front", *names, "sets")
    for k in document["front"]:
        one = document["tried"][k]
        sets = ", ".join(f"{name} {value}" for name, value in one["weights"].items())
        mark = "chosen: " if k == document["chosen"] else ""
        front.add_row(mark + one["name"], *(figure(name, one["figures"].get(name)) for name in names), sets)
    rules = _table("a rule's price", "delay_gpu_hours", "lost_gpu_hours", "completion_mean")
    for rule in document["rules"]:
        cells = (
            difference(name, rule["price"].get(name)) for name in rule["price"] if name != "deadlines_met"
        )
        rules.add_row(rule["name"], *cells)
    return Group(*map(Text, document["answer"]), "", front, "", rules)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, overflow="fold")
    return table
