"""Policies on published workloads, side by side, and gangplan against the best of the others."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row

OURS = "gangplan-"
_COLUMNS = (
    "workload|told|policy|seeds|mean completion h|p99 h|makespan h|rho mean|rho worst|above 1 %|"
    "deadlines met|restarts a job|useful %|unfinished|decision ms"
)
MEASURES: dict[str, tuple[str, str, float]] = {
    "mean completion": ("mean_jct_s", "h", 1 / 3600),
    "p99 completion": ("p99_jct_s", "h", 1 / 3600),
    "makespan": ("makespan_s", "h", 1 / 3600),
    "worst rho": ("rho_worst", "", 1.0),
    "worst rho, Gavel's": ("rho_gavel_worst", "", 1.0),
    "worst rho, Sia's": ("rho_sia_worst", "", 1.0),
    "deadlines missed": ("deadlines_missed", "", 1.0),
}
"""Measures in which less is better: column, unit, factor."""
_STUDENT_95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Two-sided 95 % points of Student's t by degrees of freedom."""


def section(rows: Sequence[Row]) -> Section | None:
    """Every policy on every workload; each line says what the policy was told (decision 15)."""
    lines = []
    for (workload, told, policy), mine in _by_policy(rows).items():
        lines.append(
            (
                workload,
                told,
                policy,
                str(len(mine)),
                _mean(mine, "mean_jct_s", ".3f", 1 / 3600),
                _mean(mine, "p99_jct_s", ".2f", 1 / 3600),
                _mean(mine, "makespan_s", ".2f", 1 / 3600),
                _mean(mine, "rho_mean", ".3f"),
                _mean(mine, "rho_worst", ".2f"),
                _mean(mine, "rho_above_1", ".1f", 100.0),
                _deadlines(mine),
                f"{statistics.fmean(row['restarts'] / max(1, row['jobs']) for row in mine):.2f}",
                _mean(mine, "useful", ".1f", 100.0),
                str(sum(row["unfinished"] for row in mine)),
                _mean(mine, "decision_s", ".1f", 1000.0),
            )
        )
    if not lines:
        return None
    return Section(
        "Policies on published workloads",
        Table(tuple(_COLUMNS.split("|")), tuple(lines)),
        "Means over seeds, each of which leaves out some of the jobs. rho is decision 11's. Decisions are in "
        "process time. Figures of runs with different numbers of unfinished jobs must not be compared. "
        "Deadlines in reach are those that their jobs would meet alone on the whole cluster.",
    )


def against_best(rows: Sequence[Row]) -> Section | None:
    """Gangplan's best preset against the best of the others, workload by workload and measure by measure."""
    lines = []
    for (workload, told), here in by_workload(rows).items():
        for name, (column, unit, factor) in MEASURES.items():
            ours = _best(here, column, lambda who: who.startswith(OURS))
            theirs = _best(here, column, lambda who: not who.startswith(OURS))
            if ours is None or theirs is None:
                continue
            pairs = paired(here[ours], here[theirs], column)
            if not pairs:
                continue
            difference, half = interval(pairs)
            lines.append(
                (
                    workload,
                    told,
                    name,
                    f"{theirs} {_mean(here[theirs], column, '.3g', factor)} {unit}".strip(),
                    f"{ours} {_mean(here[ours], column, '.3g', factor)} {unit}".strip(),
                    f"{factor * difference:+.3g}" + ("" if half is None else f" ± {factor * half:.2g}"),
                    str(len(pairs)),
                    _verdict(difference, half),
                )
            )
    if not lines:
        return None
    columns = "workload|told|measure|best other|best preset|preset less other|pairs|gangplan is"
    return Section(
        "gangplan beside the best other policy",
        Table(tuple(columns.split("|")), tuple(lines)),
        "Less is better in every measure. The difference is the mean over seeds that both have, paired, with "
        "the half-width of Student's interval at 95 %. Both are the best of several on these rows.",
    )


def paired(ours: Sequence[Row], theirs: Sequence[Row], column: str) -> list[float]:
    """Ours less theirs by seed, where both have a figure."""
    other = {row["seed"]: figure(row, column) for row in theirs}
    found = []
    for row in ours:
        mine, beside = figure(row, column), other.get(row["seed"])
        if mine is not None and beside is not None:
            found.append(mine - beside)
    return found


def interval(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean, and the half-width of its interval at 95 % by Student's t; None for fewer than two values."""
    mean, freedom = statistics.fmean(values), len(values) - 1
    if not freedom:
        return mean, None
    return mean, _STUDENT_95.get(freedom, 2.0) * statistics.stdev(values) / math.sqrt(len(values))


def _verdict(difference: float, half: float | None) -> str:
    if half is None:
        return "better, one pair" if difference < 0 else "equal" if difference == 0 else "worse, one pair"
    if abs(difference) <= half:
        return "not told apart"
    return "better" if difference < 0 else "worse"


def by_workload(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, list[Row]]]:
    """Rows of this kind by workload and what was told, then by policy."""
    found: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for (workload, told, policy), mine in _by_policy(rows).items():
        found.setdefault((workload, told), {})[policy] = mine
    return found


def _by_policy(rows: Sequence[Row]) -> dict[tuple[str, str, str], list[Row]]:
    """Rows of this kind by workload, what was told, and policy."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row["kind"] == "policies" and row.get("mean_jct_s") is not None:
            groups.setdefault((row["workload"], row["told"], row["policy"]), []).append(row)
    return groups


def _best(here: dict[str, list[Row]], column: str, mine: Callable[[str], bool]) -> str | None:
    """Who is best on the mean; of those with fewest unfinished jobs. None where nobody has the figure."""
    found = []
    for who, rows in here.items():
        values = [value for row in rows if (value := figure(row, column)) is not None]
        if mine(who) and values:
            found.append((sum(row["unfinished"] for row in rows), statistics.fmean(values), who))
    return min(found)[2] if found else None


def figure(row: Row, column: str) -> float | None:
    """A figure of a row; None where it has none."""
    if column == "deadlines_missed":
        return row["deadlines"] - row["deadlines_met"] if row["deadlines"] else None
    value = row.get(column)
    return None if value is None else float(value)


def _deadlines(rows: Sequence[Row]) -> str:
    """Deadlines met of all, and how many are in reach at all where every row says it."""
    asked = sum(row["deadlines"] for row in rows)
    if not asked:
        return ""
    met = f"{sum(row['deadlines_met'] for row in rows)} of {asked}"
    reach = [row.get("deadlines_in_reach") for row in rows]
    return met if None in reach else f"{met}, {sum(filter(None, reach))} in reach"


def _mean(rows: Sequence[Row], column: str, form: str, unit: float = 1.0) -> str:
    values = [value for row in rows if (value := figure(row, column)) is not None]
    return format(unit * statistics.fmean(values), form) if values else ""
