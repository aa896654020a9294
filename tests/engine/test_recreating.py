"""A plan taken apart and put together anew: valid, never worse, the same each time, and within the time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.hold import Holding
from gangplan.engine.judge import Judge
from gangplan.engine.recreating import recreating
from gangplan.engine.steps import UNCHANGED, Steps, ladder
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.packing.assignment import Assignment, worth
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.price_greedy import by_profit, price_greedy
from gangplan.model.packing.recreate import Recreation
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.prices.prices import Prices
from gangplan.model.verifier.facts import round_facts
from gangplan.planning.generate import generate_named
from gangplan.testing.builders import at, group, job, node, round_of
from gangplan.testing.strategies import rounds

EVERYTHING = 1e9
"""A regret that no way exceeds."""
STARTS = ("keep and fill", "greedy")
TORN = "M/steady/85/seed12"
"""A round of which the greedy's plan lacks half of the gain, and ten plans of branching a third."""


def priced(round_: Round) -> tuple[Judge, Prices]:
    instance = build_instance(round_)
    search = PriceSearch.of(instance)
    search.improve(60)
    return Judge(instance, round_facts(round_), Budget()), search.prices()


def begun(
    instance: Instance, prices: Prices, start: Assignment, held: list[int], seed: int = 0
) -> Recreation | None:
    return Recreation.of(instance, prices, start, held=held, regret=EVERYTHING, height=0.1, seed=seed)


def exchanged(limit: int | None = None) -> Round:
    """Two nodes of four devices: a task of four waits, since one and three lie apart that fit together."""
    return round_of(
        [node("a", "H", 4), node("b", "H", 4)],
        [
            job("large", group(gpus=4), weight=3.0),
            job("one", group(count=1), running=at("a", [0]), checkpoint_age=0.0),
            job("three", group(count=3), running=at("b", [0, 1, 2]), checkpoint_age=0.0),
        ],
        policy=Policy(disruption_limit=limit),
    )


@st.composite
def crowded(draw: st.DrawFn) -> Round:
    """Three times as many tasks as two nodes of four devices take, one of them running on each."""
    weights, sizes = st.sampled_from([0.5, 0.9, 1.0, 1.1, 2.0]), st.integers(1, 4)
    jobs = [
        job(f"j{number}", group(gpus=draw(sizes)), weight=draw(weights))
        for number in range(draw(st.integers(4, 9)))
    ]
    for name in ("a", "b"):
        held = draw(sizes)
        running = at(name, range(held))
        jobs.append(
            job(f"r{name}", group(gpus=held), weight=draw(weights), running=running, checkpoint_age=0.0)
        )
    return round_of([node("a", "H", 4), node("b", "H", 4)], jobs)


@settings(deadline=None, max_examples=40)
@given(rounds() | crowded(), st.integers(0, 99), st.integers(1, 300), st.sampled_from(STARTS), st.data())
def test_what_is_put_together_is_a_plan_and_no_worse(
    round_: Round, seed: int, steps: int, plan: str, data: st.DataObject
) -> None:
    judge, prices = priced(round_)
    instance = judge.instance
    start = keep_and_fill(instance) if plan == STARTS[0] else price_greedy(instance, prices)
    if judge.consider("start", start) is None:
        return
    stays = sorted({int(instance.class_of_job[j]) for j in start.kept})
    held = data.draw(st.lists(st.sampled_from(stays), unique=True)) if stays else []
    recreation = begun(instance, prices, start, held, seed)
    if recreation is None:
        return
    recreation.improve(steps)
    assert recreation.value >= 0.0
    found = recreation.found()
    more = worth(instance, found) - worth(instance, start)
    assert more == pytest.approx(recreation.value, abs=1e-6)
    candidate = judge.consider("found", recreation.assignment(by_profit(instance, prices)))
    assert candidate is not None, judge.rejected
    assert {int(instance.class_of_job[j]) for j in candidate.assignment.kept} >= set(held)
    assert candidate.value <= prices.bound + 1e-6 * max(1.0, abs(prices.bound))


@settings(deadline=None, max_examples=40)
@given(rounds() | crowded(), st.integers(0, 99), st.integers(1, 200), st.integers(0, 200))
def test_more_steps_are_never_worse_and_the_same_steps_the_same(
    round_: Round, seed: int, steps: int, more: int
) -> None:
    judge, prices = priced(round_)
    start = price_greedy(judge.instance, prices)
    once, again = (begun(judge.instance, prices, start, [], seed) for _ in range(2))
    if once is None or again is None:
        return
    once.improve(steps)
    value = once.value
    once.improve(more)
    assert once.value >= value
    again.improve(steps + more)
    assert again.found() == once.found()


@pytest.mark.parametrize(("limit", "placed"), [(None, {"one", "large"}), (1, {"one", "large"}), (0, set())])
def test_jobs_change_places_for_a_large_task_within_the_limit(limit: int | None, placed: set[str]) -> None:
    judge, prices = priced(exchanged(limit))
    start = keep_and_fill(judge.instance)
    recreation = begun(judge.instance, prices, start, [])
    assert recreation is not None
    recreation.improve(200)
    names = {judge.instance.jobs[j].name for j in recreation.found().placed}
    assert names == placed
    assert (recreation.value > 0.0) is bool(placed)


@settings(deadline=None, max_examples=30)
@given(rounds())
def test_every_round_has_arrays_for_which_the_loop_is_compiled_already(round_: Round) -> None:
    """A strided or read-only array would have it compiled anew, in the middle of a round."""
    judge, prices = priced(round_)
    recreation = begun(judge.instance, prices, price_greedy(judge.instance, prices), [])
    if recreation is None:
        return
    for array in (*recreation._field, *recreation._state):
        if isinstance(array, np.ndarray):
            assert array.flags.c_contiguous
            assert array.flags.writeable


def test_who_is_held_stays_whatever_is_gained() -> None:
    judge, prices = priced(exchanged())
    start = keep_and_fill(judge.instance)
    recreation = begun(judge.instance, prices, start, np.flatnonzero(judge.instance.kept).tolist())
    assert recreation is not None
    recreation.improve(200)
    assert recreation.value == 0.0


def holding_of(name: str, budget: Budget | None = None) -> tuple[Holding, Prices]:
    round_ = generate_named(name)
    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), budget or Budget())
    floor = judge.consider("keep_and_fill", keep_and_fill(instance))
    assert floor is not None
    search = PriceSearch.of(instance)
    search.improve()
    prices = search.prices()
    judge.lower(prices.bound)
    holding = Holding(judge, floor)
    holding.consider("greedy", price_greedy(instance, prices))
    return holding, prices


def test_a_round_that_branching_leaves_torn_is_put_together() -> None:
    holding, prices = holding_of(TORN)
    before = holding.best.value
    with recreating(holding, prices, holding.best, 3_000) as anew:
        assert anew is not None
        while holding.judge.work.get("recreate_steps", 0) < 3_000:
            pass
    assert holding.best.name in {"recreate", "take_back"}
    gain = prices.bound - holding.floor.value
    assert (holding.best.value - before) / gain > 0.1


def test_nothing_is_done_without_steps_or_time() -> None:
    for steps, seconds in ((0, None), (1_000, 0.0)):
        holding, prices = holding_of("S/steady/50/seed2", Budget(seconds))
        stages = len(holding.judge.stages)
        with recreating(holding, prices, holding.best, steps) as anew:
            assert anew is None
        assert len(holding.judge.stages) == stages


def test_it_is_for_rounds_of_m_that_will_be_short_of_time() -> None:
    how = ladder(2_900)
    assert how.recreates(Budget(0.0), UNCHANGED) == how.recreated > 0
    assert how.recreates(Budget(), UNCHANGED) == 0
    assert how.recreates(Budget(0.0), replace(UNCHANGED, sift=0.5)) == 0
    assert all(ladder(options).recreates(Budget(0.0), Steps()) == 0 for options in (300, 11_000, 90_000))
