"""The incumbent over time: gaps at given moments, the time to a gap, the primal integral."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gangplan.domain.plan import gaps

MOMENTS = (0.1, 0.5, 1.0, 5.0)
"""Seconds after which gaps are taken."""
NEAR = 0.01
"""The relative gap whose time is reported."""


@dataclass(frozen=True, slots=True)
class Point:
    """The best verified plan and the best bound known from a moment on.

    Attributes:
        seconds: since the bytes were sent.
        objective: of the best verified plan so far; None: there is none yet.
        bound: least bound so far; None: none yet.
    """

    seconds: float
    objective: float | None
    bound: float | None


def incumbents(points: Sequence[Point]) -> list[Point]:
    """Points in order of time, each with the best of all up to it."""
    best: float | None = None
    least: float | None = None
    found = []
    for point in sorted(points, key=lambda each: each.seconds):
        if point.objective is not None:
            best = point.objective if best is None else max(best, point.objective)
        if point.bound is not None:
            least = point.bound if least is None else min(least, point.bound)
        found.append(Point(point.seconds, best, least))
    return found


def at(curve: Sequence[Point], seconds: float) -> Point | None:
    """What was known after so many seconds; None: nothing."""
    known = [point for point in curve if point.seconds <= seconds]
    return known[-1] if known else None


def gaps_at(
    curve: Sequence[Point], bound: float, keep_and_fill: float, moments: Sequence[float] = MOMENTS
) -> dict[str, dict[str, float | None]]:
    """The three gaps (decision 22) at each moment, as fractions of the bound known at the end and then.

    Args:
        curve: of :func:`incumbents`.
        bound: the best one known at the end.
        keep_and_fill: value of the plan that keeps everything and fills.
        moments: seconds.

    Returns:
        By moment: ``absolute``, ``relative`` and ``of_gain`` against the bound of the end, and the same with
        ``_then`` against the one known at the moment. None where there was no plan (or no bound) yet.
    """
    found = {}
    for moment in moments:
        point = at(curve, moment)
        objective = None if point is None else point.objective
        then = None if point is None else point.bound
        found[f"{moment:g}"] = {
            **_named(objective, bound, keep_and_fill, ""),
            **_named(objective, then, keep_and_fill, "_then"),
        }
    return found


def _named(
    objective: float | None, bound: float | None, keep_and_fill: float, suffix: str
) -> dict[str, float | None]:
    names = (f"absolute{suffix}", f"relative{suffix}", f"of_gain{suffix}")
    if objective is None or bound is None:
        return dict.fromkeys(names)
    return dict(zip(names, gaps(objective, max(bound, objective), keep_and_fill), strict=True))


def time_to(curve: Sequence[Point], bound: float, relative_gap: float = NEAR) -> float | None:
    """Seconds until the relative gap to ``bound`` was at most ``relative_gap``; None: never."""
    for point in curve:
        if point.objective is not None and gaps(point.objective, bound, 0.0)[1] <= relative_gap:
            return point.seconds
    return None


def primal_integral(curve: Sequence[Point], bound: float, until: float) -> float:
    """Seconds times relative gap, from 0 to ``until``: the area under the gap's curve.

    The gap is 1 before the first plan and at most 1 at any time (Berthold, Measuring the impact of primal
    heuristics, 2013, section 2); the last plan stays until the end.
    """
    area, since, gap = 0.0, 0.0, 1.0
    for point in curve:
        moment = min(max(point.seconds, 0.0), until)
        area += gap * (moment - since)
        since = moment
        if point.objective is not None:
            gap = min(1.0, gaps(point.objective, bound, 0.0)[1])
    return area + gap * max(0.0, until - since)


def as_lists(curve: Sequence[Point]) -> list[list[float | None]]:
    """For a row: ``[seconds, objective, bound]`` by point."""
    return [[point.seconds, point.objective, point.bound] for point in curve]


def from_lists(lists: Sequence[Sequence[float | None]]) -> list[Point]:
    """What :func:`as_lists` was made of."""
    return [Point(float(seconds or 0.0), objective, bound) for seconds, objective, bound in lists]


def summary(curve: Sequence[Point], bound: float, keep_and_fill: float, until: float) -> Mapping[str, object]:
    """The columns of a row that a curve gives."""
    return {
        "to_1_percent_s": time_to(curve, bound),
        "gaps_at": gaps_at(curve, bound, keep_and_fill),
        "primal_integral_s": primal_integral(curve, bound, until),
        "curve": as_lists(curve),
    }
