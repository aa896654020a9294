"""The whole answer to a round, as a person reads it."""

from __future__ import annotations

from collections import Counter

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from gangplan.cli.render.actions import actions_table
from gangplan.cli.render.cluster_map import cluster_map, drawn_nodes
from gangplan.cli.render.figures import count, counted
from gangplan.cli.render.labels import label_jobs
from gangplan.cli.render.occupancy import NodeOccupancy, occupancy, placements_after, placements_before
from gangplan.cli.render.quality import quality_table, stages_table, timing_line
from gangplan.cli.render.waiting import waiting_table
from gangplan.domain.plan import ActionKind, Notice, RoundResult, TerminationLimit
from gangplan.domain.round import Round

NOTICES = 12
"""Notices shown one by one."""

_CHANGES = (ActionKind.PLACE, ActionKind.MIGRATE, ActionKind.RESIZE)
_PAST = {
    ActionKind.PLACE: "placed",
    ActionKind.KEEP: "kept",
    ActionKind.MIGRATE: "moved",
    ActionKind.RESIZE: "resized",
    ActionKind.EVICT: "evicted",
    ActionKind.RESERVE: "promised",
}


def answer(round_: Round, result: RoundResult, *, title: str = "") -> RenderableType:
    """Map, actions, waiting jobs, quality and time of a plan.

    Args:
        round_: the round that was planned.
        result: its answer.
        title: what the round is called.
    """
    nodes = occupancy(round_, placements_after(round_, result.plan))
    before = occupancy(round_, placements_before(round_))
    changed = frozenset(action.job for action in result.plan.actions if action.kind in _CHANGES)
    labels = label_jobs((name for here in drawn_nodes(nodes) for name in here.jobs), changed)
    parts: list[RenderableType] = [_headline(result, title), _summary(round_, result, before, nodes)]
    parts += _section("cluster", cluster_map(round_.cluster.topology, nodes, labels))
    parts += _section("actions", actions_table(round_, result.plan, labels))
    parts += _section(f"waiting: {counted(len(result.verdicts), 'job')}", waiting_table(result.verdicts))
    parts += _section("worth", quality_table(result))
    parts += _section("steps", stages_table(result))
    parts += _section(f"notices: {len(result.notices)}", _notices(result.notices))
    timing = timing_line(result.seconds_by_phase)
    if timing is not None:
        parts += [Text(), timing]
    parts.append(_origin(result))
    return Group(*parts)


def _section(title: str, body: RenderableType | None) -> list[RenderableType]:
    if body is None:
        return []
    return [Text(), Rule(Text(title, style="bold"), align="left", style="dim", characters="-"), body]


def _headline(result: RoundResult, title: str) -> Text:
    text = Text(f"{title}: " if title else "", style="bold")
    text.append(
        result.reason.value, style="bold green" if result.reason.value == "OPTIMAL" else "bold yellow"
    )
    if result.limit is not TerminationLimit.NONE:
        text.append(f", stopped by {result.limit.value}", style="yellow")
    text.append(
        ", verified" if result.verified else ", NOT VERIFIED",
        style="green" if result.verified else "bold red",
    )
    if result.detail:
        text.append(f" ({result.detail})", style="yellow")
    return text


def _summary(
    round_: Round, result: RoundResult, before: tuple[NodeOccupancy, ...], after: tuple[NodeOccupancy, ...]
) -> Text:
    kinds = Counter(action.kind for action in result.plan.actions)
    parts = [f"{count(kinds[kind])} {word}" for kind, word in _PAST.items() if kinds[kind]]
    if result.verdicts:
        parts.append(f"{count(len(result.verdicts))} waiting")
    line = f"{counted(len(round_.jobs), 'job')}: {', '.join(parts) or 'none'}"
    devices = sum(len(here.devices) for here in after)
    if devices:
        usable = sum(here.node.usable_device_count for here in after)
        busy, was = (usable - sum(here.free_devices for here in nodes) for nodes in (after, before))
        line += f"\n{counted(devices, 'device')} on {counted(len(after), 'node')}: "
        line += f"{count(busy)} of {count(usable)}"
        line += f" usable ones busy ({busy / usable:.1%})" if usable else " usable ones busy"
        line += f", {count(was)} before"
    return Text(line)


def _notices(notices: tuple[Notice, ...]) -> RenderableType | None:
    if not notices:
        return None
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="yellow")
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for notice in notices[:NOTICES]:
        table.add_row(notice.code, notice.field, notice.message)
    if len(notices) > NOTICES:
        table.add_row("", f"and {count(len(notices) - NOTICES)} more", "")
    return table


def _origin(result: RoundResult) -> Text:
    parts = [f"pipeline {result.pipeline}"]
    if result.solver:
        parts.append(f"solver {result.solver}")
    parts.append(f"seed {result.seed}")
    sizes = result.statistics
    if sizes.get("columns"):
        parts.append(f"{count(sizes['columns'])} columns, {count(sizes.get('rows', 0))} rows")
    return Text(" · ".join(parts), style="dim")
