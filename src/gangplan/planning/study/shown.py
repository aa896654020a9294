"""Which figures tables and pictures of a study have."""

from __future__ import annotations

from gangplan.planning.study.questions.compare import SHOWN
from gangplan.planning.study.schema import Study


def shown_figures(study: Study) -> list[str]:
    """Those of the question first, then those that the study shows; a usual few where it says none."""
    find = study.find
    names: list[str] = []
    if find is not None:
        names += [*find.where, *(name for name in (find.least, find.most) if name)]
    names += study.show or SHOWN
    return list(dict.fromkeys(names))
