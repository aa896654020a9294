"""The point at which a figure is least (or most) among all that keep to the bounds: by sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gangplan.planning.study.figures import FIGURES
from gangplan.planning.study.questions import words
from gangplan.planning.study.reader import Given
from gangplan.planning.study.result import Found
from gangplan.planning.study.task import Point
from gangplan.planning.study.verdict import Kept, Verdict


def answer(
    given: Given, points: Callable[[Sequence[Point]], list[Found]]
) -> tuple[tuple[str, ...], tuple[Mapping[str, Any], ...]]:
    """See :mod:`gangplan.planning.study.questions`; ties go to the first in the order of the axes."""
    find = given.study.find
    assert find is not None
    name = find.least or find.most
    assert name is not None
    found = points(given.points())
    kept: list[tuple[Found, Verdict | None]] = []
    for point in found:
        said = point.verdict(given.study)
        if not point.errors and (said is None or said.kept is Kept.YES):
            kept.append((point, said))
    sign = 1.0 if find.least else -1.0
    rated = [
        (sign * value, k) for k, (point, _) in enumerate(kept) if (value := point.median(name)) is not None
    ]
    bounds = f" with {words.bounds(find.where)}" if find.where else ""
    if not rated:
        return (f"None of {len(found)} points will do{bounds}.",), ({"point": None, "kept": 0},)
    best, said = kept[min(rated)[1]]
    which = "Least" if find.least else "Most"
    figures = "; ".join(
        f"{FIGURES[one].about} {words.figure(one, best.median(one))}"
        for one in dict.fromkeys([name, *find.where])
    )
    sure = "" if said is None else words.sure(said)
    sentence = (
        f"{which} {FIGURES[name].about}{bounds}: {best.label} "
        f"({figures}{'; ' + sure if sure else ''}). "
        f"{len(kept)} of {len(found)} points will do."
    )
    finding = {"point": dict(best.point), "figure": name, "value": best.median(name), "kept": len(kept)}
    return (sentence,), (finding,)
