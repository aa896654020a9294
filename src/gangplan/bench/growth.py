"""Growth: how the work of each phase grows between two sizes, as a power of how many columns there are.

For a counter c and the base n, the exponent is log(c2 / c1) / log(n2 / n1) with medians over the seeds of
each size; 1 is proportional. Every counter of every phase stands in the table, and gates unless it is an
outcome or too small to say; a phase that one size has and the other has not shuts the gate, too, since then
the two did not do the same, unless it hangs on luck (``growing.LUCK``). Seconds are fitted beside them and
gate nothing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gangplan.bench.growing import LUCK, OUTCOME, SIZE
from gangplan.bench.runs import ANSWERED, Row
from gangplan.bench.suites import Growth


@dataclass(frozen=True, slots=True)
class Exponent:
    """How one counter of one phase grows.

    Attributes:
        occupancy: percent of the devices that are held at the start.
        phase: of the round, or ``size``, or ``outcome``.
        counter: its name; ``seconds`` is the time that the phase took.
        small, large: medians at the two sizes; None: the size does not have it.
        exponent: of the base; infinite where it grew from nothing; None where nothing can be said.
        limit: most that it may be; None: it gates nothing.
    """

    occupancy: int
    phase: str
    counter: str
    small: float | None
    large: float | None
    exponent: float | None
    limit: float | None

    @property
    def refused(self) -> str:
        """Why the gate is shut, as a sentence; empty: it is not, on account of this."""
        name = f"{self.counter} of {self.phase} at {self.occupancy} %"
        if self.limit is None:
            return ""
        if self.small is None or self.large is None:
            return f"{name}: only one of the two sizes has it, so that they did not do the same"
        if self.exponent is not None and self.exponent > self.limit:
            return f"{name} grows with the power {self.exponent:.2f}, above {self.limit:g}"
        return ""


def exponents(rows: Iterable[Row], growth: Growth) -> list[Exponent]:
    """The exponents of all counters and phases, by occupancy.

    Raises:
        ValueError: a run failed, or a size has no row with the base counter, so that nothing can be said.
    """
    groups: dict[tuple[int, str], list[Row]] = {}
    for row in rows:
        if row["status"] not in ANSWERED:
            raise ValueError(f"{row['instance']}: {row.get('error') or row['status']}")
        size, _, occupancy, _ = row["instance"].split("/")
        groups.setdefault((int(occupancy), size), []).append(row)
    if not groups:
        raise ValueError("no row was answered")
    found: list[Exponent] = []
    for occupancy in sorted({occupancy for occupancy, _ in groups}):
        both = [groups.get((occupancy, size), []) for size in growth.between]
        small, large = (_median(rows, SIZE, growth.base) for rows in both)
        if not small or not large or small == large:
            sizes = " and ".join(growth.between)
            raise ValueError(f"{growth.base} of {sizes} at {occupancy} % is not known, or the same")
        named = {
            (phase, name)
            for rows in both
            for row in rows
            for phase, counters in row["work"].items()
            for name in counters
        }
        for phase, counter in sorted(named, key=_order):
            medians = [_median(rows, phase, counter) for rows in both]
            found.append(_fitted(occupancy, phase, counter, medians, large / small, growth))
        for phase in sorted({p for rows in both for row in rows for p in row["seconds_by_phase"]}):
            medians = [_median_seconds(rows, phase) for rows in both]
            found.append(_fitted(occupancy, phase, "seconds", medians, large / small, None))
    return found


def _order(named: tuple[str, str]) -> tuple[bool, bool, str, str]:
    phase, counter = named
    return phase == OUTCOME, phase != SIZE, phase, counter


def _fitted(
    occupancy: int,
    phase: str,
    counter: str,
    medians: Sequence[float | None],
    ratio: float,
    growth: Growth | None,
) -> Exponent:
    """One exponent; ``growth`` is None for what gates nothing."""
    small, large = medians
    limit = None
    if growth is not None and phase != OUTCOME:
        limit = growth.limits.get(f"{phase} {counter}", growth.limit)
        if max(small or 0.0, large or 0.0) < growth.least:
            limit = None
        if phase in LUCK and (small is None or large is None):
            limit = None
    exponent = None
    if small is not None and large:
        exponent = math.log(large / small) / math.log(ratio) if small > 0.0 else math.inf
    return Exponent(occupancy, phase, counter, small, large, exponent, limit)


def _median(rows: Sequence[Row], phase: str, counter: str) -> float | None:
    values = [row["work"][phase][counter] for row in rows if counter in row["work"].get(phase, {})]
    return statistics.median(values) if values else None


def _median_seconds(rows: Sequence[Row], phase: str) -> float | None:
    values = [row["seconds_by_phase"][phase] for row in rows if phase in row["seconds_by_phase"]]
    return statistics.median(values) if values else None


def markdown(found: Sequence[Exponent], growth: Growth) -> str:
    """The exponents as a table."""
    small, large = growth.between
    lines = [
        f"| occupied | phase | counter | {small} | {large} | power of {growth.base} | at most |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in found:
        power = "" if one.exponent is None else f"{one.exponent:.2f}"
        if one.refused:
            power = f"**{power or 'one size only'}**"
        limit = "" if one.limit is None else f"{one.limit:g}"
        figures = f"{_figure(one.small)} | {_figure(one.large)}"
        lines.append(f"| {one.occupancy} % | {one.phase} | {one.counter} | {figures} | {power} | {limit} |")
    return "\n".join(lines) + "\n"


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1_000 else f"{value:,.4g}"
