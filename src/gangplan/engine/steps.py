"""Which programmes are solved, by size: the table of the exact step (formulation, section 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum


class Integrality(Enum):
    """Which columns must be whole numbers."""

    ALL = "all"
    LARGE = "large"
    """Gangs, groups of nodes and options of eight devices or more: what rounding cannot mend."""


@dataclass(frozen=True, slots=True)
class Step:
    """One programme.

    Attributes:
        options: about so many beside the start, those that cost least against the bound; ``inf``: all that
            could be part of a better plan.
        share: how much of the time that is left it may take.
        integrality: which columns must be whole numbers.
    """

    options: float
    share: float
    integrality: Integrality = Integrality.ALL


@dataclass(frozen=True, slots=True)
class Ladder:
    """The steps for programmes of up to ``columns`` columns, one after the other.

    A step that proves the optimum is the last.

    Attributes:
        columns: largest size.
        sift: relative gap above which the linear relaxation is solved first.
        steps: the programmes.
    """

    columns: float
    sift: float
    steps: tuple[Step, ...]


LADDERS = (
    Ladder(1_200, sift=math.inf, steps=(Step(math.inf, 1.0),)),
    Ladder(6_000, sift=2e-4, steps=(Step(300, 0.4), Step(math.inf, 1.0))),
    Ladder(20_000, sift=2e-4, steps=(Step(300, 0.4), Step(1_500, 0.5), Step(math.inf, 1.0))),
    Ladder(
        math.inf,
        sift=5e-3,
        steps=(Step(500, 0.4, Integrality.LARGE), Step(2_000, 0.6), Step(math.inf, 1.0)),
    ),
)


def ladder(columns: int) -> Ladder:
    """The steps for a programme of that many columns."""
    return next(each for each in LADDERS if columns <= each.columns)
