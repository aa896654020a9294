"""Why jobs wait: alike reasons together, counted."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gangplan.cli.render.figures import count, counted, value
from gangplan.domain.plan import Verdict

GROUPS = 15
"""Reasons shown, those of most jobs first."""
_NAMES = 3


def waiting_table(verdicts: Iterable[Verdict]) -> RenderableType | None:
    """Jobs without a placement by reason; None when there is none.

    Jobs with the same kind, code and message share a line. Where that makes too many lines, those with the
    same kind and code do, with the message of the first as an example.
    """
    verdicts = tuple(verdicts)
    if not verdicts:
        return None
    groups: dict[tuple[str, ...], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.kind.value, verdict.code, verdict.message), []).append(verdict)
    alike = len(groups) <= GROUPS
    if not alike:
        groups = {}
        for verdict in verdicts:
            groups.setdefault((verdict.kind.value, verdict.code), []).append(verdict)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("jobs", justify="right")
    table.add_column("verdict", overflow="fold")
    table.add_column("reason", overflow="fold", ratio=2)
    table.add_column("which", overflow="fold", ratio=1)
    ordered = sorted(groups.values(), key=lambda group: -len(group))
    for group in ordered[:GROUPS]:
        first = group[0]
        table.add_row(
            count(len(group)),
            Text.assemble((first.kind.value, "bold"), "\n", (first.code, "dim"))
            if first.code
            else first.kind.value,
            _reason(group, alike=alike),
            _names([verdict.job for verdict in group]),
        )
    rest = ordered[GROUPS:]
    if not rest:
        return table
    jobs = sum(len(group) for group in rest)
    return Group(table, Text(f"and {counted(len(rest), 'more reason')}: {counted(jobs, 'job')}", style="dim"))


def _reason(group: list[Verdict], *, alike: bool) -> str:
    first = group[0]
    message = first.message if alike or len(group) == 1 else f"e.g. {first.job}: {first.message}"
    regrets = [verdict.regret for verdict in group if verdict.regret is not None]
    if regrets:
        least, most = value(min(regrets)), value(max(regrets))
        message += f" (worse by {least}{'' if least == most else f' to {most}'})"
    return message


def _names(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES])
    return shown if len(names) <= _NAMES else f"{shown}, ..."
