"""Figures and bounds in words."""

from __future__ import annotations

from collections.abc import Mapping

from gangplan.planning.study.figures import FIGURES
from gangplan.planning.study.schema import Bound
from gangplan.planning.study.verdict import Kept, Verdict
from gangplan.planning.times import spoken


def figure(name: str, value: float | None) -> str:
    """A figure with its unit: ``1h05m``, ``95 %``, ``12.5``."""
    if value is None:
        return "-"
    unit = FIGURES[name].unit
    if unit == "s":
        return spoken(value)
    if unit == "share":
        return f"{100 * value:.3g} %"
    if unit == "h":
        return f"{value:,.1f} h"
    if unit == "money":
        return f"{value:,.2f}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3f}"


def difference(name: str, value: float | None) -> str:
    """A difference of a figure with its sign, shares in points; without one where nothing is left of it."""
    if value is None:
        return "-"
    amount = figure(name, abs(value)).replace(" %", " points")
    seen = any(digit in amount for digit in "123456789")
    return f"{'+' if value > 0 else '-'}{amount}" if seen else amount


def bounds(where: Mapping[str, Bound]) -> str:
    """Bounds in words: ``deadlines met at least 95 %``."""
    parts = []
    for name, bound in where.items():
        said = []
        if bound.at_least is not None:
            said.append(f"at least {figure(name, bound.at_least)}")
        if bound.at_most is not None:
            said.append(f"at most {figure(name, bound.at_most)}")
        parts.append(f"{FIGURES[name].about} {' and '.join(said)}")
    return ", ".join(parts)


def sure(verdict: Verdict) -> str:
    """How sure a verdict is: ``in 5 of 5 draws, confidence 97 %``; empty with a single draw."""
    if verdict.draws == 1:
        return ""
    likely = verdict.times if verdict.kept is not Kept.NO else verdict.draws - verdict.times
    return f"in {likely} of {verdict.draws} draws, confidence {100 * verdict.confidence:.0f} %"
