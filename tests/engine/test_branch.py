"""Branching in a round: the bound only falls and stays a bound, plans only get better, time is kept."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gangplan.domain.round import Round
from gangplan.engine.branch import branch
from gangplan.engine.budget import Budget
from gangplan.engine.hold import Holding
from gangplan.engine.judge import Judge
from gangplan.engine.steps import Ladder
from gangplan.errors import TooManyPlansError
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.fill import keep_and_fill, keep_only
from gangplan.model.prices.branching import Branching
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.verifier.facts import round_facts
from gangplan.testing.builders import at, group, job, node, round_of
from gangplan.testing.enumerate import best_plan
from gangplan.testing.strategies import rounds

MOST_PLANS = 2_000


def ladder_of(fruitless: int, share: float = 1.0) -> Ladder:
    return Ladder(math.inf, fruitless=fruitless, branching_share=share, sift=math.inf, enough=1e-6, steps=())


def begun(round_: Round, budget: Budget | None = None) -> tuple[Judge, PriceSearch]:
    """A round whose prices are found and in which nobody has moved yet."""
    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), budget or Budget())
    if judge.consider("keep_and_fill", keep_and_fill(instance)) is None:
        judge.consider("keep", keep_only(instance))
    search = PriceSearch.of(instance)
    search.improve()
    judge.bound = search.bound
    return judge, search


TORN = round_of(
    [node("a", "H", 4)],
    [
        job("x", group(count=3, counts=[1, 3])),
        job("y", group(count=3, counts=[1, 3]), weight=0.9),
        job("stays", group(count=1), weight=0.1, running=at("a", [0]), checkpoint_age=0.0),
    ],
)
"""Whichever of x and y gets three devices leaves one for the other."""


@st.composite
def torn_rounds(draw: st.DrawFn) -> Round:
    """A few gangs on one node that has not the devices for all: prices decide few of them."""
    weights = st.sampled_from([0.5, 0.8, 1.0, 1.1, 1.5])
    counts = st.sampled_from([(1,), (2,), (3,), (4,), (1, 3), (2, 4), (2, 3)])
    jobs = []
    for number in range(draw(st.integers(2, 4))):
        allowed = draw(counts)
        jobs.append(job(f"j{number}", group(count=allowed[-1], counts=allowed), weight=draw(weights)))
    held = draw(st.integers(0, 3))
    if held:
        running = at("a", range(held))
        jobs.append(job("r", group(count=held), weight=draw(weights), running=running, checkpoint_age=0.0))
    return round_of([node("a", "H", draw(st.integers(4, 7)))], jobs)


@given(torn_rounds())
def test_every_way_of_deciding_gangs_is_open_or_closed_by_a_plan(round_: Round) -> None:
    """Against the enumerator: while nothing is closed, some open search bounds the best plan."""
    best = best_plan(round_).objective
    _, search = begun(round_)
    branching = Branching(search)
    for _ in range(5):
        before = branching.bound
        found = branching.expand(-np.inf, lambda: False)
        assert branching.bound <= before
        assert best <= branching.bound + 1e-9 * max(1.0, abs(best))
        if not found:
            break


@settings(suppress_health_check=list(HealthCheck))
@given(rounds("tiny") | torn_rounds())
def test_the_bound_falls_and_stays_above_the_best_plan(round_: Round) -> None:
    """Against the enumerator, with the prices that are left to the steps after it unchanged."""
    judge, search = begun(round_)
    assert judge.best is not None
    value, bound, price = judge.best.value, judge.bound, search.price.copy()
    branch(judge, search, ladder_of(fruitless=3), Holding(judge, judge.best))
    assert judge.best.value >= value
    assert judge.bound <= bound
    assert judge.bound >= judge.best.value - 1e-6 * max(1.0, abs(judge.best.value))
    assert (search.price == price).all()
    assert search.bound == bound
    assert not judge.rejected[1:]
    try:
        best = best_plan(round_, max_plans=MOST_PLANS).objective
    except TooManyPlansError:
        assume(False)
    assert judge.bound >= best - 1e-6 * max(1.0, abs(best))


@settings(suppress_health_check=list(HealthCheck), max_examples=30)
@given(rounds("tiny") | torn_rounds())
def test_bounds_of_plans_in_which_some_are_held_are_none_of_the_round(round_: Round) -> None:
    judge, search = begun(round_)
    assert judge.best is not None
    value, bound = judge.best.value, judge.bound
    holding = Holding(judge, judge.best, brief=0.5)
    holding.classes = set(np.flatnonzero(judge.instance.kept)[:2].tolist())
    lowers = not holding.classes
    branch(judge, search, replace(ladder_of(fruitless=3), brief=0.5), holding)
    assert judge.best.value >= value
    assert judge.bound == bound or lowers
    jobs = {judge.instance.classes[c].jobs[0] for c in holding.classes}
    assert holding.best is holding.floor or jobs <= holding.best.assignment.kept


def test_deciding_one_gang_finds_the_best_plan() -> None:
    judge, search = begun(TORN)
    assert judge.best is not None
    before = judge.best.value
    assert branch(judge, search, ladder_of(fruitless=6), Holding(judge, judge.best)) > 0
    assert judge.best.name == "branch"
    assert judge.best.value > before + 0.5
    assert abs(judge.best.value - best_plan(TORN).objective) < 1e-9


def test_nothing_is_searched_where_the_row_or_the_clock_says_so() -> None:
    for fruitless, share, seconds in ((0, 1.0, None), (6, 0.0, 60.0), (6, 1.0, 0.0)):
        judge, search = begun(TORN, Budget(seconds))
        assert judge.best is not None
        bound, stages = judge.bound, len(judge.stages)
        assert branch(judge, search, ladder_of(fruitless, share), Holding(judge, judge.best)) == 0
        assert (judge.bound, len(judge.stages)) == (bound, stages)


def test_nothing_is_searched_where_the_optimum_is_proved() -> None:
    judge, search = begun(TORN)
    assert judge.best is not None
    judge.bound = judge.best.value
    assert branch(judge, search, ladder_of(fruitless=6), Holding(judge, judge.best)) == 0
