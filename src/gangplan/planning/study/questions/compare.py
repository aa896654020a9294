"""What a change costs: the values of an axis against its first one, seed by seed on the same draws."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gangplan.planning.study.figures import FIGURES
from gangplan.planning.study.questions import words
from gangplan.planning.study.reader import Given
from gangplan.planning.study.result import Found, label, shown
from gangplan.planning.study.task import Point

SHOWN = ("completion_mean", "queueing_p99", "deadlines_met", "rho_worst", "useful_gpu_hours", "unfinished")
"""Figures that are compared where the study shows none."""


def answer(
    given: Given, points: Callable[[Sequence[Point]], list[Found]]
) -> tuple[tuple[str, ...], tuple[Mapping[str, Any], ...]]:
    """See :mod:`gangplan.planning.study.questions`; for each combination of the other axes."""
    find = given.study.find
    assert find is not None
    assert find.compare is not None
    axis = find.compare
    names = given.study.show or SHOWN
    groups: dict[str, list[Found]] = {}
    for found in points(given.points()):
        rest = tuple(pair for pair in found.point if pair[0] != axis)
        groups.setdefault(label(rest), []).append(found)
    sentences, findings = [], []
    for others, (first, *later) in groups.items():
        for found in later:
            parts, finding = [], {}
            for name in names:
                differences = _differences(first, found, name)
                if not differences:
                    continue
                middle = statistics.median(differences)
                finding[name] = {
                    "before": first.median(name),
                    "after": found.median(name),
                    "difference": middle,
                    "low": min(differences),
                    "high": max(differences),
                }
                if middle:
                    parts.append(_said(name, middle, first, found))
            at = f" ({others})" if others else ""
            before, after = (shown(dict(one.point)[axis]) for one in (first, found))
            said = "; ".join(parts) or "nothing that is shown here changes"
            sentences.append(f"{axis} {after} instead of {before}{at}: {said}.")
            findings.append({"at": others, "axis": axis, "from": before, "to": after, "figures": finding})
    return tuple(sentences), tuple(findings)


def _differences(first: Found, second: Found, name: str) -> list[float]:
    pairs = zip(first.outcomes, second.outcomes, strict=True)
    values = ((one.figures.get(name), other.figures.get(name)) for one, other in pairs)
    return [after - before for before, after in values if before is not None and after is not None]


def _said(name: str, difference: float, first: Found, second: Found) -> str:
    before, after = words.figure(name, first.median(name)), words.figure(name, second.median(name))
    return f"{FIGURES[name].about} {words.difference(name, difference)} ({before} to {after})"
