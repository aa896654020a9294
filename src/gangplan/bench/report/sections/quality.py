"""Whole rounds: how many are solved, how fast, how near."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report import numbers, targets
from gangplan.bench.report.groups import KEY, field, grouped, percent, rounds, seconds, spread, statuses
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import ANSWERED, Row


def section(rows: Sequence[Row]) -> Section | None:
    """Whole rounds: how many are solved, how fast, how near."""
    lines = []
    for key, mine in grouped(rounds(rows)):
        answered = [row for row in mine if row["status"] in ANSWERED]
        at = [
            percent([gap for row in answered if (gap := targets.at(row, moment, name)) is not None])
            for moment in ("0.1", "0.5", "1", "5")
            for name in ("relative", "relative_then", "of_gain")
        ]
        lines.append(
            (
                *key,
                str(len(mine)),
                str(targets.solved(mine)),
                statuses(mine),
                f"{numbers.shifted_geometric_mean([numbers.solve_seconds(row) for row in mine]):.3f}",
                f"{numbers.shifted_geometric_mean([numbers.near_seconds(row) for row in mine]):.3f}",
                seconds(field(answered, "first_s")),
                percent(field(answered, "first_gap")),
                percent(field(answered, "first_gap_of_gain")),
                seconds(field(answered, "to_1_percent_s")),
                *at,
                percent(field(answered, "gap")),
                percent(field(answered, "gap_of_gain")),
                seconds(field(answered, "wall_s")),
                spread(field(answered, "primal_integral_s"), ".4f"),
            )
        )
    if not lines:
        return None
    moments = tuple(
        f"{name} {moment} s" for moment in ("0.1", "0.5", "1", "5") for name in ("gap", "then", "of gain")
    )
    columns = (
        *(*KEY, "n", "solved", "status"),
        *("to optimum, SGM s", "to 1 %, SGM s", "first s", "first gap", "of gain", "to 1 % s"),
        *moments,
        *("gap, end", "of gain", "whole s", "primal integral s"),
    )
    return Section("Whole rounds", Table(columns, tuple(lines)), "Gaps in percent.")
