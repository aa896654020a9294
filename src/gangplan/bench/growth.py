"""Growth: how a counter grows between two sizes, as a power of how many columns there are.

For a counter c and the base n, the exponent is log(c2 / c1) / log(n2 / n1) with medians over the seeds of
each size; 1 is proportional. Seconds are fitted, too, and gate nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gangplan.bench.runs import ANSWERED, Row
from gangplan.bench.suites import Growth

_NO_WORK = ("seconds", "unbound", "taken_back")


@dataclass(frozen=True, slots=True)
class Exponent:
    """How one figure grows.

    Attributes:
        occupancy: percent of the devices that are held at the start.
        name: of the counter, or ``seconds in <phase>``.
        small, large: medians at the two sizes.
        exponent: of the base; None where a median is 0.
        limit: most that it may be; None: it gates nothing.
    """

    occupancy: int
    name: str
    small: float
    large: float
    exponent: float | None
    limit: float | None

    @property
    def too_steep(self) -> bool:
        """Whether it grows faster than allowed."""
        return self.limit is not None and self.exponent is not None and self.exponent > self.limit


def exponents(rows: Iterable[Row], growth: Growth) -> list[Exponent]:
    """The exponents of all counters and phases, by occupancy.

    Raises:
        ValueError: a size has no answered row with the base counter, so that nothing can be said.
    """
    answered = [row for row in rows if row["status"] in ANSWERED and row["who"] == "gangplan"]
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in answered:
        size, _, occupancy, _ = row["instance"].split("/")
        groups.setdefault((int(occupancy), size), []).append(row)
    found: list[Exponent] = []
    occupancies = sorted({occupancy for occupancy, _ in groups})
    if not occupancies:
        raise ValueError("no row was answered")
    for occupancy in occupancies:
        both = [groups.get((occupancy, size), []) for size in growth.between]
        bases = [_median(rows, growth.base) for rows in both]
        if None in bases or not all(bases):
            sizes = " and ".join(growth.between)
            raise ValueError(f"{growth.base} of {sizes} at {occupancy} % is not known")
        small, large = (float(base or 0.0) for base in bases)
        names = sorted({name for rows in both for row in rows for name in row["statistics"]})
        counted = [name for name in names if not name.startswith(_NO_WORK) and _NO_WORK[0] not in name]
        for name in counted:
            limit = growth.limits.get(name, growth.limit)
            found += _one(occupancy, name, [_median(rows, name) for rows in both], large / small, limit)
        for phase in sorted({p for rows in both for row in rows for p in row["seconds_by_phase"]}):
            medians = [_median_seconds(rows, phase) for rows in both]
            found += _one(occupancy, f"seconds in {phase}", medians, large / small, None)
    return found


def _one(
    occupancy: int, name: str, medians: Sequence[float | None], ratio: float, limit: float | None
) -> list[Exponent]:
    small, large = medians
    if small is None or large is None:
        return []
    exponent = math.log(large / small) / math.log(ratio) if small > 0 and large > 0 and ratio != 1 else None
    return [Exponent(occupancy, name, small, large, exponent, limit)]


def _median(rows: Sequence[Row], name: str) -> float | None:
    values = [row["statistics"][name] for row in rows if name in row["statistics"]]
    return statistics.median(values) if values else None


def _median_seconds(rows: Sequence[Row], phase: str) -> float | None:
    values = [row["seconds_by_phase"][phase] for row in rows if phase in row["seconds_by_phase"]]
    return statistics.median(values) if values else None


def markdown(found: Sequence[Exponent], growth: Growth) -> str:
    """The exponents as a table."""
    small, large = growth.between
    lines = [
        f"| occupied | counter | {small} | {large} | power of {growth.base} | at most |",
        "|---|---|---|---|---|---|",
    ]
    for one in found:
        power = "" if one.exponent is None else f"{one.exponent:.2f}"
        if one.too_steep:
            power = f"**{power}**"
        limit = "" if one.limit is None else f"{one.limit:g}"
        lines.append(
            f"| {one.occupancy} % | {one.name} | {one.small:,.4g} | {one.large:,.4g} | {power} | {limit} |"
        )
    return "\n".join(lines) + "\n"
