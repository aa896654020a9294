"""No question: every point."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gangplan.planning.study.reader import Given
from gangplan.planning.study.result import Found
from gangplan.planning.study.task import Point


def answer(
    given: Given, points: Callable[[Sequence[Point]], list[Found]]
) -> tuple[tuple[str, ...], tuple[Mapping[str, Any], ...]]:
    """See :mod:`gangplan.planning.study.questions`."""
    found = points(given.points())
    failed = sum(bool(point.errors) for point in found)
    return (f"{len(found)} points were played{f', {failed} failed' if failed else ''}.",), ()
