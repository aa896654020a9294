"""Policies over many rounds, side by side."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row, group_of

_COLUMNS = (
    "histories|told|policy|n|rho mean|worst, mean|worst|unfair %|completion h|largest gangs wait min|"
    "deadlines met|moves|evictions|lost GPU-h|useful %|unfinished|CPU ms a round"
)


def section(rows: Sequence[Row]) -> Section | None:
    """Policies over many rounds, side by side; every line says what the policy was told (decision 15)."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row["kind"] == "histories" and row.get("rho_mean") is not None:
            told = str(row["told"])
            if told == "noisy":
                told = f"±{100 * row['noise']:g} %"
            who = f"{row['who']}, {row['preset']}" if row.get("preset") else str(row["who"])
            groups.setdefault((group_of(row["instance"]), told, who), []).append(row)
    lines = []
    for key, mine in groups.items():
        count = sum(row["histories"] for row in mine)
        asked = sum(kind["jobs"] for row in mine for kind in row["deadlines"].values())
        met = sum(kind["met"] for row in mine for kind in row["deadlines"].values())
        lines.append(
            (
                *key,
                str(count),
                _mean(mine, "rho_mean", ".3f"),
                _mean(mine, "rho_worst_mean", ".3f"),
                f"{max(row['rho_worst'] for row in mine):.2f}",
                _mean(mine, "rho_share_unfair", ".1f", 100.0),
                _mean(mine, "completion_mean", ".3f", 1 / 3600),
                _mean(mine, "largest_queueing_mean", ".1f", 1 / 60),
                f"{met} of {asked}",
                f"{sum(row['moves'] for row in mine) / count:.1f}",
                f"{sum(row['evictions'] for row in mine) / count:.1f}",
                _mean(mine, "lost_gpu_hours", ".2f"),
                _mean(mine, "useful", ".1f", 100.0),
                str(sum(row["unfinished"] for row in mine)),
                _mean(mine, "cpu_per_round_s", ".1f", 1000.0),
            )
        )
    if not lines:
        return None
    return Section(
        "Policies over many rounds",
        Table(tuple(_COLUMNS.split("|")), tuple(lines)),
        "Means over n histories; `worst, mean` is the mean of each history's worst rho, `worst` the worst of "
        "all; moves and evictions for one history. rho is decision 11's; the rows have the peers' too.",
    )


def _mean(rows: Sequence[Row], name: str, form: str, unit: float = 1.0) -> str:
    values = [(row[name], row["histories"]) for row in rows if row.get(name) is not None]
    if not values:
        return ""
    return format(unit * statistics.fmean([v for v, _ in values], [float(n) for _, n in values]), form)


def yardstick(rows: Sequence[Row]) -> Section | None:
    """Policies beside the exact window, in its own measures."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["kind"] == "histories" and row.get("weighted_rounds") is not None:
            groups.setdefault((group_of(row["instance"]), str(row["who"])), []).append(row)
    lines = [
        (
            *key,
            str(sum(row["histories"] for row in mine)),
            _mean(mine, "weighted_rounds", ".1f"),
            _mean(mine, "static_rho_worst", ".3f"),
            _mean(mine, "window_bound", ".3f"),
            str(sum(row["window_proved"] for row in mine)) if "window_proved" in mine[0] else "",
        )
        for key, mine in groups.items()
    ]
    if not lines:
        return None
    return Section(
        "Beside the exact window",
        Table(("histories", "who", "n", "weighted rounds", "worst rho", "bound", "proved"), tuple(lines)),
        "Means over n histories, ends counted in whole rounds, and rho by a denominator that no policy "
        "changes: the share that a job has when all jobs of the history contend. `bound`: no policy, "
        "whatever it knows, has a lower mean of weighted rounds (window-completion) or of worst rho "
        "(window-rho).",
    )
