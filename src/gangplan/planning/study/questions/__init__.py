"""What a study can ask, one question a file.

Each has ``answer(given, points)``: it asks for points, as many batches as it needs, and gives sentences and
findings. ``points`` takes a batch and gives what became of it, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gangplan.planning.study.questions import compare, extreme, table, threshold
from gangplan.planning.study.reader import Given
from gangplan.planning.study.result import Found
from gangplan.planning.study.schema import Study
from gangplan.planning.study.task import Point

Ask = Callable[[Sequence[Point]], list[Found]]
Answer = tuple[tuple[str, ...], tuple[Mapping[str, Any], ...]]


def question(study: Study) -> Callable[[Given, Ask], Answer]:
    """What answers a study's question."""
    find = study.find
    if find is None:
        return table.answer
    if find.compare is not None:
        return compare.answer
    return threshold.answer if find.smallest or find.largest else extreme.answer
