"""Columns: one field of many things as an array."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

import numpy as np

from gangplan.model.program import FloatArray


def column(things: Iterable[object], name: str) -> FloatArray:
    """The numbers that ``things`` have under a name (dots lead to a part's), NaN where they have None."""
    return np.array(list(map(attrgetter(name), things)), dtype=np.float64)
