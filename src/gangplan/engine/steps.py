"""What is done at which size, and with which solver: the whole choice in one place (formulation, section 2).

A request overrides it by ``pipeline`` (``greedy`` asks no solver), ``solver``, ``relative_gap``,
``node_limit``, and field by field by :class:`Steps`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from gangplan.engine.budget import Budget
from gangplan.errors import FieldViolation, InvalidInputError

MOST_FRUITLESS = 1_000
"""Largest ``fruitless`` of a request."""
MOST_PROGRAMMES = 16
"""Most programmes of a request."""


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
class Torn:
    """The programme of what is torn between the prices and the first plan, beside branching.

    Attributes:
        torn: a choice made less often than this on the way to the prices, or more often than one less this,
            is settled where the plan has it, too.
        share: how much of the time that is left it may take.
    """

    torn: float
    share: float


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
        patience: where less than so many times the time spent so far is left, no programme would come to
            an end, and branching goes on instead.
        early: evaluations of prices after which the greedy plans for the first time, before anything else is
            judged; 0: after all of them, when there is a plan already.
        stretch: how bold the first steps of prices are without prices of a round before.
        torn: the programme of what is torn, beside branching; None: there is none.
        brief: where branching is all there is and a plan does not pay, running jobs that are done within this
            share of the round's horizon are held.
    """

    options: float
    fruitless: int
    branching_share: float
    sift: float
    enough: float
    steps: tuple[Step, ...]
    patience: float = 0.0
    early: int = 0
    stretch: float = 1.0
    torn: Torn | None = None
    brief: float = 0.0

    @property
    def held_share(self) -> float:
        """:attr:`brief` where branching is all there is, else 0."""
        return self.brief if self.branching_share >= 1.0 else 0.0

    def hastened(self, budget: Budget, asked: Steps) -> Ladder:
        """With nothing but branching, where time is too short for anything else and nobody asked for it."""
        if asked != UNCHANGED or budget.remaining >= self.patience * budget.elapsed:
            return self
        return replace(self, fruitless=MOST_FRUITLESS, branching_share=1.0, torn=None)


LADDERS = (
    # The whole programme at once. S (340 columns, five seeds at 50 and 85 %): OPTIMAL in .07 s with either
    # solver (2026-11-29-generated.md); openb-shaped (1,032 columns): OPTIMAL, of it .5 s in solvers. After 60
    # of 280 evaluations the greedy's plan is .2 (50 %) and 1.1 % (85 %) from the bound, M's .8 to 1, L's .4 %
    # (2026-11-30-first-plans.md).
    Ladder(
        800,
        fruitless=0,
        branching_share=0.0,
        sift=math.inf,
        enough=-1.0,
        steps=(Step(math.inf, 1.0),),
        early=60,
    ),
    # M (2,900 columns, 1 s, 2026-11-29-targets.md): at 85 % four of five OPTIMAL, whole .47 s in the median;
    # at 50 % two of five, .03 % off. With the whole programme at once .61 and .88 s (generated.md). Within
    # .3 s one programme of 20 found a better plan; branching in that time did in 8 (first-plans.md). What is
    # torn: .32 for .41 % at the end of 1 s, nothing within .3 s (2026-11-30-torn.md). Who is done soon
    # within .3 s: 2026-12-01-bundles.md.
    Ladder(
        6_000,
        fruitless=2,
        branching_share=0.25,
        sift=2e-4,
        enough=1e-6,
        steps=(Step(100, 0.4), Step(math.inf, 1.0)),
        patience=5.0,
        early=60,
        torn=Torn(0.005, 1.0),
        brief=0.5,
    ),
    # L (10,500 columns, 1.2 s, 2026-11-30-targets.md): in 19 rounds every better plan came of branching,
    # which had a quarter of the time, and no programme's was worth .002 % more. With two thirds of it:
    # 2026-11-30-first-plans.md. What is torn, beside it: .12 for .20 % at the end (2026-11-30-torn.md).
    Ladder(
        20_000,
        fruitless=3,
        branching_share=0.65,
        sift=2e-4,
        enough=1e-6,
        steps=(Step(50, 0.4), Step(500, 0.5), Step(math.inf, 1.0)),
        early=60,
        torn=Torn(0.005, 1.0),
    ),
    # XL: prices bound it in .15 s; the relaxation took 3.3 s for as good a bound. Branching brought .20 % to
    # .02 % in six searches (85 %); in 4 s no programme improved on that with any of four backends. With half
    # as bold first steps the greedy's plan is .01 to .2 % from the bound after 62 evaluations; it was .002 to
    # .38 % after 80 (2026-11-30-first-plans.md). They are there before what verifications share.
    Ladder(
        150_000,
        fruitless=6,
        branching_share=0.6,
        sift=5e-3,
        enough=1e-6,
        steps=(Step(100, 0.5, Integrality.LARGE), Step(2_000, 0.6), Step(math.inf, 1.0)),
        patience=2.0,
        early=60,
        stretch=0.45,
    ),
    # XXL (350,000 columns): with half as bold first steps the greedy's plan is .002 to .01 % from the bound
    # after 46 evaluations; it was .03 to .98 % then and .001 to .15 % after 80 (2026-11-30-first-plans.md).
    Ladder(
        math.inf,
        fruitless=6,
        branching_share=0.6,
        sift=5e-3,
        enough=1e-6,
        steps=(Step(100, 0.5, Integrality.LARGE), Step(2_000, 0.6), Step(math.inf, 1.0)),
        patience=2.0,
        early=45,
        stretch=0.5,
    ),
)
"""By size, with what was measured on two cores (files in ``benchmarks/results``)."""


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


@dataclass(frozen=True, slots=True)
class Steps:
    """What a request says of the steps; what is None, or empty, is as the table has it.

    Attributes:
        fruitless, branching_share, sift, enough: as in :class:`Ladder`.
        programmes: the programmes instead of the row's ``steps`` and of the one of what is torn.
    """

    fruitless: int | None = None
    branching_share: float | None = None
    sift: float | None = None
    enough: float | None = None
    programmes: tuple[Step, ...] = ()


UNCHANGED = Steps()
"""All as the table has it."""


def ladder(options: int, steps: Steps = UNCHANGED) -> Ladder:
    """What is done for a round of that many options, but for what ``steps`` says."""
    row = next(each for each in LADDERS if options <= each.options)
    return Ladder(
        options=row.options,
        fruitless=row.fruitless if steps.fruitless is None else steps.fruitless,
        branching_share=row.branching_share if steps.branching_share is None else steps.branching_share,
        sift=row.sift if steps.sift is None else steps.sift,
        enough=row.enough if steps.enough is None else steps.enough,
        steps=steps.programmes or row.steps,
        patience=row.patience,
        early=row.early,
        stretch=row.stretch,
        torn=None if steps.programmes else row.torn,
        brief=row.brief,
    )


def read_steps(settings: Sequence[str]) -> Steps:
    """Steps as people write them, ``NAME=VALUE`` each.

    The names are those of :class:`Steps`. Programmes are ``OPTIONS:SHARE`` with commas between, ``all`` for
    all options, and ``:large`` at the end where only large columns must be whole:
    ``programmes=100:0.5:large,all:1``.

    Raises:
        InvalidInputError: a name or a value is none; every violation at once.
    """
    values: dict[str, Any] = {}
    wrong = []
    for setting in settings:
        name, _, value = setting.partition("=")
        try:
            if name not in _READERS:
                raise ValueError(f"there are: {', '.join(_READERS)}")
            values[name] = _READERS[name](value)
        except ValueError as error:
            wrong.append(FieldViolation("step", f"{setting!r} is no NAME=VALUE of a step: {error}"))
    if wrong:
        raise InvalidInputError(wrong)
    return Steps(**values)


def _fruitless(value: str) -> int:
    number = int(value)
    if not 0 <= number <= MOST_FRUITLESS:
        raise ValueError(f"it must be from 0 to {MOST_FRUITLESS}")
    return number


def _fraction(value: str) -> float:
    number = float(value)
    if not 0.0 <= number <= 1.0:
        raise ValueError("it must be from 0 to 1")
    return number


def _programmes(value: str) -> tuple[Step, ...]:
    found = []
    for each in value.split(","):
        options, share, *rest = each.split(":")
        if rest not in ([], ["large"]):
            raise ValueError("a programme is OPTIONS:SHARE or OPTIONS:SHARE:large")
        number = math.inf if options == "all" else float(int(options))
        if number < 0.0 or not 0.0 < float(share) <= 1.0:
            raise ValueError("options are 0 or more, a share is above 0 and up to 1")
        found.append(Step(number, float(share), Integrality.LARGE if rest else Integrality.ALL))
    if len(found) > MOST_PROGRAMMES:
        raise ValueError(f"at most {MOST_PROGRAMMES} programmes")
    return tuple(found)


_READERS: dict[str, Callable[[str], Any]] = {
    "fruitless": _fruitless,
    "branching_share": _fraction,
    "sift": _fraction,
    "enough": _fraction,
    "programmes": _programmes,
}
