"""What ``gangplan whatif`` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from gangplan.planning.study.result import Found, Result

MOST_POINTS = 60
"""Points that are listed."""


def study(result: Result) -> RenderableType:
    """The answer first, then every point that was played."""
    from gangplan.planning.study.questions import words
    from gangplan.planning.study.result import shown
    from gangplan.planning.study.shown import shown_figures

    given = result.given
    names = shown_figures(given.study)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for axis in given.study.axes:
        table.add_column(axis, justify="right", overflow="fold", no_wrap=False)
    for name in names:
        table.add_column(name, justify="right")
    bounded = given.study.find is not None and bool(given.study.find.where)
    if bounded:
        table.add_column("will do", justify="right")
    for point in result.points[:MOST_POINTS]:
        cells = [shown(value) for _, value in point.point]
        if point.errors:
            cells += ["failed", *[""] * (len(names) - 1)]
        else:
            cells += [words.figure(name, point.median(name)) for name in names]
        said = point.verdict(given.study)
        if said is not None:
            cells.append(
                said.kept.value if said.draws == 1 else f"{said.kept.value} {said.times}/{said.draws}"
            )
        table.add_row(*cells)
    parts: list[RenderableType] = [Text(given.name, style="bold"), *map(Text, result.answer), "", table]
    left = len(result.points) - MOST_POINTS
    if left > 0:
        parts.append(Text(f"and {left} more", style="dim"))
    parts += [Text(f"failed: {error}") for error in _errors(result.points)]
    seeds = given.study.seeds
    draws = f", {seeds} draws of each point, medians shown" if seeds > 1 else ""
    ran = f"{result.played} simulations in {result.where}, {result.reused} from before{draws}"
    return Group(*parts, "", Text(ran, style="dim"))


def _errors(points: tuple[Found, ...]) -> list[str]:
    return list(dict.fromkeys(error for point in points for error in point.errors))[:5]
