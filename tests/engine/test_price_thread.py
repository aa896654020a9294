"""The search for prices in a thread of its own: the same prices, and an end to it when time is short."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from gangplan.engine import price_thread
from gangplan.engine.budget import Budget
from gangplan.engine.price_thread import Searching, search_prices
from gangplan.engine.warm_start import improve, read_warm_start, write_warm_start
from gangplan.model.instance.instance import build_instance
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.planning.generate import generate_named


def test_finds_what_a_search_in_this_thread_finds() -> None:
    instance = build_instance(generate_named("S/steady/85/seed1"))
    here = PriceSearch.of(instance)
    improve(here, {}, stop=lambda: False)
    with search_prices(instance, {}, Budget()) as searching:
        there = searching.result(lambda: False)
    assert there.bound == here.bound
    assert there.price.tolist() == here.price.tolist()
    assert there.evaluations == here.evaluations


def test_ends_with_what_it_has_when_hurried() -> None:
    instance = build_instance(generate_named("S/steady/85/seed1"))
    whole = PriceSearch.of(instance)
    improve(whole, {}, stop=lambda: False)
    with search_prices(instance, {}, Budget(0.0)) as searching:
        cut = searching.result(lambda: True)
    assert whole.bound <= cut.bound < float("inf")
    assert cut.evaluations < whole.evaluations


def test_no_thread_outlives_it() -> None:
    instance = build_instance(generate_named("S/steady/85/seed1"))
    with pytest.raises(KeyboardInterrupt), search_prices(instance, {}, Budget()):
        raise KeyboardInterrupt
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gangplan-prices")]


def test_a_failed_search_is_raised_where_its_result_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise TimeoutError("by chance of the kind that waiting raises")

    monkeypatch.setattr(price_thread, "improve", fail)
    instance = build_instance(generate_named("S/steady/85/seed1"))
    with search_prices(instance, {}, Budget()) as searching, pytest.raises(TimeoutError, match="by chance"):
        searching.result(lambda: False)


def test_a_search_that_ends_just_after_the_look_is_no_failure() -> None:
    """Waiting gives up, and before anybody asks whether the search is done, it is."""
    instance = build_instance(generate_named("S/steady/85/seed1"))
    found = PriceSearch.of(instance)

    class JustAfter(Future[PriceSearch]):
        def result(self, timeout: float | None = None) -> PriceSearch:
            if not self.done():
                self.set_result(found)
                raise TimeoutError
            return super().result(timeout)

    assert Searching(JustAfter(), threading.Event()).result(lambda: False) is found


def test_prices_are_told_on_the_way_and_the_walk_is_the_same() -> None:
    instance = build_instance(generate_named("S/steady/85/seed1"))
    here = PriceSearch.of(instance)
    improve(here, {}, stop=lambda: False)
    with search_prices(instance, {}, Budget(), early=20) as searching:
        early = searching.early(lambda: False)
        there = searching.result(lambda: False)
    assert early is not None
    assert there.evaluations == here.evaluations + 1  # that of the prices told
    assert early.bound > there.bound
    assert there.bound == here.bound
    assert there.price.tolist() == here.price.tolist()
    assert there.chosen.tolist() == here.chosen.tolist()


@pytest.mark.parametrize(("evaluations", "patience"), [(0, 1), (10**9, 0)])
def test_prices_that_nobody_asks_or_waits_for_are_not_told(evaluations: int, patience: int) -> None:
    instance = build_instance(generate_named("S/steady/85/seed1"))
    with search_prices(instance, {}, Budget(), early=evaluations) as searching:
        assert searching.early(lambda: not patience) is None


def test_a_search_that_ends_before_tells_the_best_that_it_found() -> None:
    """From the prices of a round before it takes 40 steps, fewer than after which they would be told."""
    instance = build_instance(generate_named("S/steady/85/seed1"))
    before = PriceSearch.of(instance)
    improve(before, {}, stop=lambda: False)
    warm = read_warm_start(write_warm_start(before))
    with search_prices(instance, warm, Budget(), early=60) as searching:
        early = searching.early(lambda: False)
        found = searching.result(lambda: False)
    assert found.evaluations < 60
    assert early is not None
    assert early.bound == found.bound
    assert early.option_cost.tolist() == found.prices().option_cost.tolist()


def test_a_search_that_is_ended_tells_none() -> None:
    instance = build_instance(generate_named("S/steady/85/seed1"))
    with search_prices(instance, {}, Budget(0.0), early=10**9) as searching:
        searching.result(lambda: True)
        assert searching.early(lambda: False) is None
