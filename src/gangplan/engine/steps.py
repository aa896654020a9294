"""What is done at which size, and with which solver: the whole choice in one place (formulation, section 2).

A request overrides it by ``pipeline`` (``greedy`` asks no solver), ``solver``, ``relative_gap`` and
``node_limit``.
"""

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
    """What is done for rounds of up to ``options`` options, after the price greedy, one after the other.

    Whatever proves the optimum is the last.

    Attributes:
        options: largest size.
        fruitless: branching on large gangs ends after so many expansions in a row without progress.
        branching_share: how much of the time that is left branching may take.
        sift: relative gap above which the linear relaxation is solved before any programme.
        enough: relative gap of the plan at hand up to which no programme is even formulated.
        steps: the programmes.
    """

    options: float
    fruitless: int
    branching_share: float
    sift: float
    enough: float
    steps: tuple[Step, ...]


LADDERS = (
    Ladder(800, fruitless=0, branching_share=0.0, sift=math.inf, enough=-1.0, steps=(Step(math.inf, 1.0),)),
    Ladder(
        6_000,
        fruitless=2,
        branching_share=0.25,
        sift=2e-4,
        enough=1e-6,
        steps=(Step(100, 0.4), Step(math.inf, 1.0)),
    ),
    Ladder(
        20_000,
        fruitless=3,
        branching_share=0.25,
        sift=2e-4,
        enough=1e-6,
        steps=(Step(50, 0.4), Step(500, 0.5), Step(math.inf, 1.0)),
    ),
    Ladder(
        math.inf,
        fruitless=6,
        branching_share=0.6,
        sift=5e-3,
        enough=1e-6,
        steps=(Step(100, 0.5, Integrality.LARGE), Step(2_000, 0.6), Step(math.inf, 1.0)),
    ),
)


BACKENDS: tuple[tuple[float, tuple[str, ...]], ...] = (
    (12_000, ("cpsat", "highs")),
    (math.inf, ("highs", "cpsat")),
)
"""Backends by the largest number of columns that they are first choice for, best first.

Measured once each on whole placement programmes (three of size M, two of size L, the openb cluster), one
thread, warm start, a machine busy with other work. At 3,000 columns CP-SAT, led by its linear relaxation,
proved the optimum in 1.2 to 2.4 s and HiGHS in 2.2 to 7.2 s. At 10,500 columns and a limit of 10 s CP-SAT
came within 0.3 % or to the optimum, where HiGHS was still at its start, 3 % off; and HiGHS came back 0.9 to
5.3 s after limits of 1 to 10 s, while CP-SAT kept them. On openb (1,908 columns, large counts) HiGHS took
0.2 s and CP-SAT 0.7 s. At 8,300 columns (XL reduced) neither improved a plan within 0.01 % of its own bound
in 4 s.
"""


def ladder(options: int) -> Ladder:
    """What is done for a round of that many options."""
    return next(each for each in LADDERS if options <= each.options)
