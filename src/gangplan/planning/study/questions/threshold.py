"""The smallest (or largest) value of an axis that keeps to the bounds: by bisection.

What keeps to them is taken to do so with more (with less) as well. Whether that was so is told by what was
played: every answer has a value beside it that was played and does not keep to the bounds, and points that
contradict each other are named. Where the seeds do not agree well enough, a value counts as not keeping.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gangplan.planning.study.questions import words
from gangplan.planning.study.reader import Given
from gangplan.planning.study.result import Found, label, shown
from gangplan.planning.study.task import Point
from gangplan.planning.study.verdict import Kept, Verdict


def answer(
    given: Given, points: Callable[[Sequence[Point]], list[Found]]
) -> tuple[tuple[str, ...], tuple[Mapping[str, Any], ...]]:
    """See :mod:`gangplan.planning.study.questions`; one search for each combination of the other axes."""
    find = given.study.find
    assert find is not None
    axis = find.smallest or find.largest
    assert axis is not None
    values = given.study.values(axis)
    if find.largest:
        values = values[::-1]  # from what keeps least likely to what does most likely, as for the smallest
    others = {name: given.study.values(name) for name in given.study.axes if name != axis}
    searches = [
        _Search(tuple(zip(others, combination, strict=True)), values)
        for combination in itertools.product(*others.values())
    ]
    while wanted := [(search, place) for search in searches if (place := search.next()) is not None]:
        asked = [_point(given, search.others, axis, values[place]) for search, place in wanted]
        for (search, place), found in zip(wanted, points(asked), strict=True):
            said = found.verdict(given.study)
            assert said is not None
            search.seen[place] = (found, said)
    sentences, findings = [], []
    for search in searches:
        sentences.append(_sentence(given, search, axis))
        findings.append(_finding(search, axis))
    return tuple(sentences), tuple(findings)


@dataclass(slots=True)
class _Search:
    """One bisection: values from ``low`` down do not keep to the bounds, from ``high`` up they do."""

    others: Point
    values: Sequence[Any]
    seen: dict[int, tuple[Found, Verdict]] = field(default_factory=dict)

    def next(self) -> int | None:
        """The place to play next; None: all is known."""
        last = len(self.values) - 1
        if last not in self.seen:
            return last
        low, high = self.bracket()
        if high is None or high - low <= 1:
            return None
        return (low + high) // 2

    def bracket(self) -> tuple[int, int | None]:
        """The largest place below the answer that does not keep, -1: none was met; and the answer."""
        kept = [place for place, (_, said) in self.seen.items() if said.kept is Kept.YES]
        if not kept or len(self.values) - 1 not in kept:
            return len(self.values) - 1, None
        high = len(self.values) - 1
        low = -1
        while True:  # along the path that was taken
            middle = (low + high) // 2
            if high - low <= 1 or middle not in self.seen:
                return low, high
            if self.seen[middle][1].kept is Kept.YES:
                high = middle
            else:
                low = middle


def _point(given: Given, others: Point, axis: str, value: Any) -> Point:
    values = {**dict(others), axis: value}
    return tuple((name, values[name]) for name in given.study.axes)


def _sentence(given: Given, search: _Search, axis: str) -> str:
    find = given.study.find
    assert find is not None
    low, high = search.bracket()
    place = f" ({label(search.others)})" if search.others else ""
    bounds = words.bounds(find.where)
    if high is None:
        found, said = search.seen[len(search.values) - 1]
        best = shown(search.values[-1])
        why = "not sure" if said.kept is Kept.OPEN else "not met"
        figures = ", ".join(words.figure(name, found.median(name)) for name in find.where)
        return f"No {axis} up to {best} will do{place}: {bounds} is {why} there ({figures})."
    found, said = search.seen[high]
    figures = ", ".join(words.figure(name, found.median(name)) for name in find.where)
    which = "Smallest" if find.smallest else "Largest"
    sure = words.sure(said)
    text = f"{which} {axis}{place}: {shown(search.values[high])} ({figures}{'; ' + sure if sure else ''})"
    if low < 0:
        return (
            f"{text}, the {'least' if find.smallest else 'most'} that was asked about. Asked for: {bounds}."
        )
    below, doubt = search.seen[low]
    figures = ", ".join(words.figure(name, below.median(name)) for name in find.where)
    sure = words.sure(doubt)
    how = "is not sure to do" if doubt.kept is Kept.OPEN else "does not do"
    return (
        f"{text}; {shown(search.values[low])} {how} ({figures}{'; ' + sure if sure else ''}). "
        f"Asked for: {bounds}."
    )


def _finding(search: _Search, axis: str) -> dict[str, Any]:
    low, high = search.bracket()
    verdicts = [said for _, said in search.seen.values()]
    doubt = sum(1.0 - said.confidence for said in verdicts if said.kept is not Kept.OPEN)
    order = sorted(search.seen)
    against = [
        [search.values[first], search.values[later]]
        for first, later in itertools.combinations(order, 2)
        if search.seen[first][1].kept is Kept.YES and search.seen[later][1].kept is Kept.NO
    ]
    return {
        "at": dict(search.others),
        "axis": axis,
        "value": None if high is None else search.values[high],
        "not": None if low < 0 else search.values[low],
        "confidence": max(0.0, 1.0 - doubt),
        "decisions": len(verdicts),
        "open": [search.values[place] for place in order if search.seen[place][1].kept is Kept.OPEN],
        "not_monotone": against,
    }
