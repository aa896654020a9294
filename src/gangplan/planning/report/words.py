"""What was played, and its measures, in words: the same on every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gangplan.planning.report.frame import Section, table
from gangplan.planning.study.figures import FIGURES
from gangplan.planning.study.questions.words import figure
from gangplan.planning.times import spoken

_TOLD = {
    "exact": "was told exactly how long jobs run",
    "predicted": "was told what a predictor made of how long jobs run",
    "unknown": "was told nothing of how long jobs run",
}
_MEASURES = (
    ("completion mean", "completion_mean"),
    ("completion p50", "completion_p50"),
    ("completion p99", "completion_p99"),
    ("makespan", "makespan"),
    ("to first start mean", "queueing_mean"),
    ("to first start p99", "queueing_p99"),
    ("largest gangs to first start", "largest_queueing_mean"),
)
_RATIOS = (
    ("rho", "rho"),
    ("Gavel's rho", "rho_gavel"),
    ("Shockwave's rho", "rho_shockwave"),
    ("Sia's rho", "rho_sia"),
)
_SHARES = (("held", "allocated"), ("at work", "busy"), ("at work and kept", "useful"))
_COUNTS = ("evictions", "moves", "resizes", "forced")


def told(run: Mapping[str, Any]) -> str:
    """What the policy was told, as a sentence."""
    if run["told"] == "noisy":
        return (
            f"The policy was told how long jobs run, off by up to {100 * float(run['noise']):g} % either way."
        )
    return f"The policy {_TOLD[str(run['told'])]}."


def name(run: Mapping[str, Any]) -> str:
    """A simulation in a few words."""
    preset = f" {run['preset']}" if run.get("preset") else ""
    exact = "" if run["told"] == "exact" else f", {run['told']}"
    return f"{run['policy']}{preset}{exact}"


def measures(runs: list[tuple[str, Mapping[str, Any]]]) -> Section:
    """All measures, a line each, a column for each simulation."""
    lines: list[list[str]] = [["jobs ended", *(_ended(one["metrics"]) for _, one in runs)]]
    for label, field in _MEASURES:
        lines.append([label, *(spoken(one["metrics"][field]) for _, one in runs)])
    for label, field in _RATIOS:
        lines.append([f"{label} mean, worst, unfair", *(_ratio(one["metrics"][field]) for _, one in runs)])
    kinds = dict.fromkeys(kind for _, one in runs for kind in one["metrics"]["deadlines"])
    for kind in kinds:
        met = (one["metrics"]["deadlines"].get(kind) for _, one in runs)
        lines.append(
            [f"{kind} met", *("" if one is None else f"{one['met']} of {one['jobs']}" for one in met)]
        )
    for label, field in _SHARES:
        lines.append([f"devices {label}", *(f"{100 * one['metrics'][field]:.1f} %" for _, one in runs)])
    counts = (", ".join(str(one["metrics"][field]) for field in _COUNTS) for _, one in runs)
    lines.append(["evictions, moves, resizes, forced stops", *counts])
    lines.append(["device-hours lost", *(f"{one['metrics']['lost_gpu_hours']:,.2f}" for _, one in runs)])
    jain = (one["metrics"]["jain"] for _, one in runs)
    lines.append(["Jain's index of service", *("" if value is None else f"{value:.3f}" for value in jain)])
    for field in ("price_per_hour", "cost", "held_cost"):
        values = [(one.get("series") or {}).get("figures", {}).get(field) for _, one in runs]
        if any(value is not None for value in values):  # nothing has a price, or no series were kept
            shown = ("" if value is None else figure(field, value) for value in values)
            lines.append([FIGURES[field].about, *shown])
    return Section("Measures", table(("measure", *(label for label, _ in runs)), lines))


def _ended(metrics: Mapping[str, Any]) -> str:
    ended, jobs = metrics["jobs"] - metrics["unfinished"], metrics["jobs"]
    return f"{ended:,} of {jobs:,}" if ended == jobs else f"**{ended:,} of {jobs:,}**"


def _ratio(ratio: Mapping[str, float] | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio['mean']:.2f}, {ratio['worst']:.2f}, {100 * ratio['share_unfair']:.0f} %"
