"""How good the plan is, where its worth comes from, and how long each step took."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gangplan.cli.render.figures import seconds, share, value
from gangplan.domain.plan import Quality, RoundResult, TerminationReason

_BAR = 24
_TOTAL = "total"
_NOTHING = 5e-4  # would be printed as 0.000
_ROUNDING = 1e-6  # a relative gap that counts as none (decision 23)


def quality_table(result: RoundResult) -> RenderableType:
    """Objective by term, bound, and the three gaps (decision 22)."""
    quality = result.quality
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("note", overflow="fold")
    largest = max((abs(part) for part in quality.objective_by_term.values()), default=0.0)
    idle = [term for term, part in quality.objective_by_term.items() if abs(part) < _NOTHING]
    for term, part in quality.objective_by_term.items():
        if term not in idle:
            table.add_row(f"  {term}", value(part), _bar(part, largest))
    if idle:
        table.add_row("  others", value(0.0), Text(", ".join(idle), style="dim"))
    table.add_row(
        Text("objective", style="bold"),
        Text(value(quality.objective), style="bold"),
        "GPU-equivalents, the sum of its terms",
    )
    if quality.guarantees is not None:
        owed = quality.guarantees
        note = f"devices that queues have of what they are guaranteed; at most {value(owed.bound)} can be"
        table.add_row("guarantees met", value(owed.value), note)
    table.add_row("keep and fill", value(quality.keep_and_fill), "the plan that keeps everything and fills")
    table.add_row("bound", value(quality.bound), _proof(result))
    table.add_row("gap", value(quality.absolute_gap), _gaps(quality))
    return table


def stages_table(result: RoundResult) -> RenderableType | None:
    """Candidate plans in the order they were found; None when there is none."""
    if not result.stages:
        return None
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("step")
    table.add_column("after", justify="right")
    table.add_column("objective", justify="right")
    table.add_column("bound", justify="right")
    for stage in result.stages:
        table.add_row(
            stage.name,
            seconds(stage.seconds),
            Text("refused", style="red") if stage.objective is None else value(stage.objective),
            "" if stage.bound is None else value(stage.bound),
        )
    return table


def timing_line(seconds_by_phase: Mapping[str, float]) -> Text | None:
    """Seconds by phase on one line, the longest first; None when nothing was timed."""
    if not seconds_by_phase:
        return None
    phases = sorted(seconds_by_phase.items(), key=lambda item: -item[1])
    parts = [f"{phase} {seconds(spent)}" for phase, spent in phases if phase != _TOTAL]
    if _TOTAL in seconds_by_phase:
        parts.insert(0, f"{_TOTAL} {seconds(seconds_by_phase[_TOTAL])}")
    return Text(" · ".join(parts), style="dim")


def _proof(result: RoundResult) -> str:
    if result.reason is TerminationReason.OPTIMAL:
        return "no plan is worth more: proved best"
    return "no plan is worth more; not proved best"


def _gaps(quality: Quality) -> str:
    relative = f"{share(quality.relative_gap)} relative"
    if 0.0 < quality.relative_gap < _ROUNDING:  # a share of a gain that may itself be rounding says nothing
        return f"{relative}, which is rounding"
    return f"{relative}, {share(quality.gap_of_gain)} of the gain over keep and fill"


def _bar(part: float, largest: float) -> Text:
    length = round(_BAR * abs(part) / largest) if largest > 0 else 0
    return Text(("+" if part >= 0 else "-") * length, style="green" if part >= 0 else "red")
