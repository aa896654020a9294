"""What ``gangplan bench profile`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from gangplan.bench.profiler import Profile

_TOTAL = "total"


def profile_tables(title: str, found: Profile) -> RenderableType:
    """Seconds by phase, sizes and counters, and the functions with the most time."""
    result = found.result
    gap = f"gap {100 * result.quality.relative_gap:.3g} %"
    return Group(
        Text(f"{title}: {result.reason.value}, {gap}, limit {result.limit.value}", style="bold"),
        "",
        _phases(found),
        "",
        _counters(found),
        "",
        _functions(found),
    )


def _phases(found: Profile) -> Table:
    table = _table("phase", "seconds", "share")
    total = found.plain.get(_TOTAL) or sum(found.plain.values())
    known = {name: spent for name, spent in found.plain.items() if name != _TOTAL}
    for name, spent in sorted(known.items(), key=lambda one: -one[1]):
        table.add_row(name, f"{spent:.4f}", f"{100 * spent / total:.1f} %")
    rest = total - sum(known.values())
    table.add_row("between", f"{rest:.4f}", f"{100 * rest / total:.1f} %")
    table.add_row(Text(_TOTAL, style="bold"), f"{total:.4f}", "")
    return table


def _counters(found: Profile) -> Table:
    table = _table("counter", "figure")
    for name, figure in sorted(found.result.statistics.items()):
        table.add_row(name, f"{figure:,.4g}" if "seconds" in name else f"{figure:,.0f}")
    return table


def _functions(found: Profile) -> Table:
    table = _table("own s", "all s", "calls")
    table.add_column("function, under the profiler", overflow="fold")
    for one in found.functions:
        table.add_row(f"{one.own_s:.4f}", f"{one.all_s:.4f}", f"{one.calls:,}", one.name)
    return table


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name in {"phase", "counter"} else "right")
    return table
