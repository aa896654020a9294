"""Who is on the Pareto front of each published workload, and which preset is on it everywhere."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from gangplan.bench.report.sections.policies import MEASURES, OURS, by_workload, figure
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row
from gangplan.planning.tune.front import dominates

FIGURES = ("mean completion", "makespan", "worst rho", "deadlines missed")
"""What the front is of, each a measure that some peer is made for: AlloX' and Sia's, Shockwave's, Gavel's and
Themis', ElasticFlow's."""


def section(rows: Sequence[Row]) -> Section | None:
    """By workload: who is on the front, and of every preset that is not, who is better in all."""
    lines, played, on = [], dict[str, int](), dict[str, int]()
    for (workload, told), here in by_workload(rows).items():
        fewest = min(_unfinished(mine) for mine in here.values())
        ended = {who: mine for who, mine in here.items() if _unfinished(mine) == fewest}
        beaten = {who: _better(who, ended) for who in ended}
        for who in filter(_ours, here):
            played[who] = played.get(who, 0) + 1
            on[who] = on.get(who, 0) + (beaten.get(who) == [])
        behind = [f"{who} behind {', '.join(some)}" for who, some in beaten.items() if some and _ours(who)]
        behind += [f"{who}: unfinished jobs" for who in here if who not in ended and _ours(who)]
        front = ", ".join(who for who, some in beaten.items() if not some)
        lines.append((workload, told, front, "; ".join(behind)))
    if not lines:
        return None
    counts = ", ".join(f"{who} on {on[who]} of {count}" for who, count in sorted(played.items()))
    return Section(
        "Who is on the front",
        Table(("workload", "told", "on the front", "presets that are not"), tuple(lines)),
        f"On the front: nobody else is at least as good in {', '.join(FIGURES)}, and better in one; means "
        "over the seeds that both have, of policies that left fewest jobs unfinished. Presets on the front, "
        f"of the lines that they were played in: {counts or 'none'}.",
    )


def _ours(who: str) -> bool:
    return who.startswith(OURS)


def _unfinished(rows: Sequence[Row]) -> int:
    return sum(row["unfinished"] for row in rows)


def _better(who: str, there: Mapping[str, Sequence[Row]]) -> list[str]:
    """Who dominates a policy on the seeds that both have, in the figures that both have."""
    return [other for other in there if other != who and _dominated(there[who], there[other])]


def _dominated(mine: Sequence[Row], others: Sequence[Row]) -> bool:
    seeds = {row["seed"] for row in mine} & {row["seed"] for row in others}
    columns = [MEASURES[name][0] for name in FIGURES]
    scores = [
        [[figure(row, column) for row in rows if row["seed"] in seeds] for column in columns]
        for rows in (others, mine)
    ]
    known = [
        (statistics.fmean(a), statistics.fmean(b))
        for a, b in zip(*scores, strict=True)
        if a and None not in a and b and None not in b
    ]
    return bool(known) and dominates(tuple(a for a, _ in known), tuple(b for _, b in known))
