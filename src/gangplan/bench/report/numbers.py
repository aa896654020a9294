"""The figures of a table: medians and their intervals, the shifted geometric mean, performance profiles."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from gangplan.bench.runs import SOLVED, Row

SHIFT_SECONDS = 1.0
"""The shift of the geometric mean: differences below it hardly count."""


def shifted_geometric_mean(values: Sequence[float], shift: float = SHIFT_SECONDS) -> float:
    """``exp(mean(log(v + shift))) - shift`` (Achterberg, Constraint Integer Programming, 2007, appendix A).

    Raises:
        ValueError: there are no values, or one is not above ``-shift``.
    """
    if not values:
        raise ValueError("no values")
    return math.exp(statistics.fmean(math.log(value + shift) for value in values)) - shift


def median_interval(values: Sequence[float], level: float = 0.95) -> tuple[float, float, float]:
    """An interval of order statistics around the median, and the chance that it holds it.

    The narrowest symmetric pair whose coverage reaches ``level`` (David and Nagaraja, Order Statistics, 2003,
    section 7.1); the smallest and the largest where none does: for five values they cover 93.75 %.

    Returns:
        The lower end, the upper end, and the coverage.
    """
    ordered = sorted(values)
    n = len(ordered)
    for depth in range(n // 2, -1, -1):
        outside = sum(math.comb(n, k) for k in range(depth + 1)) / 2**n
        coverage = 1.0 - 2.0 * outside
        if coverage >= level or depth == 0:
            return ordered[depth], ordered[n - 1 - depth], max(0.0, coverage)
    raise ValueError("no values")


def solve_seconds(row: Row) -> float:
    """Time to the proven optimum; an unsolved run counts at its limit, whatever it did."""
    limit = float(row["time_limit_s"])
    return min(float(row["wall_s"]), limit) if row["status"] in SOLVED else limit


def near_seconds(row: Row) -> float:
    """Time to a relative gap of 1 %; at the limit where it was never reached."""
    limit = float(row["time_limit_s"])
    reached = row.get("to_1_percent_s")
    return limit if reached is None else min(float(reached), limit)


def performance_profile(times: Mapping[str, Mapping[str, float]]) -> dict[str, list[tuple[float, float]]]:
    """The share of instances that each solver solves within a factor of the fastest.

    Dolan and More, Benchmarking optimization software with performance profiles, 2002. (Each instance's ratio
    is a point of a distribution; none is averaged.)

    Args:
        times: seconds by solver and instance; ``inf`` for unsolved.

    Returns:
        By solver: steps of ``(factor, share)``, the first at factor 1.
    """
    instances = sorted({name for by_instance in times.values() for name in by_instance})
    best = {
        name: min(by_instance.get(name, math.inf) for by_instance in times.values()) for name in instances
    }
    found = {}
    for solver, by_instance in times.items():
        ratios = sorted(
            by_instance[name] / best[name]
            for name in instances
            if math.isfinite(by_instance.get(name, math.inf)) and best[name] > 0
        )
        steps = [(1.0, 0.0)]
        steps += [(ratio, (k + 1) / len(instances)) for k, ratio in enumerate(ratios)]
        found[solver] = steps
    return found
