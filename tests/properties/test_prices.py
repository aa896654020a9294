"""Prices: every evaluation is a bound, the search's arithmetic is what it says, branching loses no plan."""

from __future__ import annotations

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.round import Round
from gangplan.model.instance.instance import build_instance
from gangplan.model.prices import market
from gangplan.model.prices.branching import Branching
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.program import FloatArray
from gangplan.testing.enumerate import best_plan
from gangplan.testing.strategies import rounds

TOLERANCE = 1e-7


def any_prices(search: PriceSearch, seed: int) -> tuple[FloatArray, FloatArray]:
    """Prices and rents, some of them 0."""
    rng = np.random.default_rng(seed)
    price = rng.exponential(rng.choice([0.1, 1.0, 10.0]), search.market.goods)
    price *= rng.random(search.market.goods) < rng.choice([0.3, 1.0])
    rent = rng.exponential(1.0, len(search.market.limited)) * (rng.random(len(search.market.limited)) < 0.5)
    return price, rent


def close_below(lower: float, upper: float, scale: float = 1.0) -> bool:
    """``scale``: the largest value on the way, each of which is rounded outward."""
    return lower <= upper + TOLERANCE * max(1.0, abs(lower), abs(upper), abs(scale))


@given(rounds("tiny"), st.integers(0, 2**31))
def test_no_plan_is_worth_more_than_any_prices_say(round_: Round, seed: int) -> None:
    """Against the enumerator, which knows nothing of prices: at any, at good ones, and after branching."""
    best = best_plan(round_).objective
    search = PriceSearch.of(build_instance(round_))
    for number in range(4):
        assert close_below(best, search.value(*any_prices(search, seed + number)))
    search.improve(60)
    assert close_below(best, search.bound)
    branching = Branching(search)
    for _ in range(3):
        branching.expand(-np.inf, lambda: False)
    assert close_below(best, branching.bound)
    assert close_below(branching.bound, search.bound)


@given(rounds("small"), st.integers(0, 2**31))
def test_large_cells_only_promise_more(round_: Round, seed: int) -> None:
    """Where a domain is too large to be decided as one, its nodes decide alone."""
    instance = build_instance(round_)
    whole = PriceSearch.of(instance)
    with mock.patch.object(market, "LARGEST_CELL", 1):
        parts = PriceSearch.of(instance)
    price, rent = any_prices(whole, seed)
    assert close_below(whole.value(price, rent), parts.value(price, rent))
    other, other_rent = any_prices(whole, seed + 1)
    slope = parts.choice.supply - parts.choice.demand
    value = parts.value(price, rent)
    tangent = value + slope @ (other - price)
    tangent += (parts.market.limited - parts.choice.held) @ (other_rent - rent)
    assert close_below(tangent, parts.value(other, other_rent), value)


@pytest.mark.parametrize("size", ["tiny", "small"])
@given(data=st.data())
def test_what_is_offered_less_what_is_taken_is_a_subgradient(size: str, data: st.DataObject) -> None:
    """The dual is convex: it lies above its tangent, so supply and demand are counted right."""
    search = PriceSearch.of(build_instance(data.draw(rounds(size))))
    seed = data.draw(st.integers(0, 2**31))
    price, rent = any_prices(search, seed)
    value = search.value(price, rent)
    slope = search.choice.supply - search.choice.demand
    rent_slope = search.market.limited - search.choice.held
    for number in range(5):
        other, other_rent = any_prices(search, seed + 1 + number)
        tangent = value + slope @ (other - price) + rent_slope @ (other_rent - rent)
        assert close_below(tangent, search.value(other, other_rent), value)


@given(rounds("small"), st.integers(0, 2**31))
def test_nodes_and_cells_choose_as_well_as_trying_everything(round_: Round, seed: int) -> None:
    """The two knapsacks against all sets of running jobs, cell by cell and node by node."""
    search = PriceSearch.of(build_instance(round_))
    here = search.market
    price, rent = any_prices(search, seed)
    value = search.value(price, rent)
    profits = sum(
        search.choice.best_profit[c] * search.wishes.members[c]
        for c in range(len(search.wishes.members))
        if not here.fixed[c]
    )
    fixed = search.choice.margin[here.fixed].sum()
    loose = np.maximum(0.0, search.choice.margin[here.loose]).sum()
    places = _by_trying(search, price)
    expected = search.instance.offset + profits + fixed + loose + rent @ here.limited + places
    assert value == pytest.approx(expected, rel=1e-7, abs=1e-6)


def _by_trying(search: PriceSearch, price: FloatArray) -> float:
    here, margin = search.market, search.choice.margin
    total = 0.0

    def idle(node: int, free: int) -> float:
        t = here.node_type[node]
        goods = range(here.size_start[t], here.size_start[t + 1])
        return float(sum(price[here.size_good[i]] * (free // here.size_of[i]) for i in goods))

    def rent_of(t: int, amounts: FloatArray) -> float:
        goods = here.host_good[t]
        return float(sum(price[goods[r]] * amounts[r] for r in range(2) if goods[r] >= 0))

    def sets(node: int) -> list[tuple[int, float]]:
        """Devices in use and worth of every set of running jobs that fits."""
        items = range(here.item_start[node], here.item_start[node + 1])
        found = []
        for mask in itertools.product((False, True), repeat=len(items)):
            chosen = [i for i, yes in zip(items, mask, strict=True) if yes]
            used = int(sum(here.item_devices[i] for i in chosen))
            if used <= here.node_free[node]:
                gain = sum(
                    margin[here.item_class[i]] * here.item_share[i]
                    - rent_of(here.node_type[node], here.item_host[i])
                    for i in chosen
                )
                found.append((used, gain + idle(node, here.node_free[node] - used)))
        return found

    for node in range(len(here.node_type)):
        total += rent_of(here.node_type[node], here.node_host[node])
        if here.node_cell[node] < 0:
            total += max(worth for _, worth in sets(node))
    for k, kind in enumerate(here.cell_kind):
        assert not here.cell_large[k]
        choices = []
        for node in here.cell_node[here.cell_start[k] : here.cell_start[k + 1]]:
            here = sets(node)
            busy = [worth for used, worth in here if used > 0]
            empty = max(worth for used, worth in here if used == 0)
            choices.append([(1, empty), *([(0, max(busy))] if busy else [])])
        for g in range(here.gang_start[k], here.gang_start[k + 1]):
            its = here.gang_node[here.gang_node_start[g] : here.gang_node_start[g + 1]]
            empty = sum(idle(node, here.node_free[node]) for node in its)
            stays = margin[here.gang_class[g]] - rent_of(here.kind_type[kind], here.gang_host[g])
            choices.append([(len(its), empty), (0, stays)])
        groups = range(here.group_start[kind], here.group_start[kind + 1])
        reach = {0: 0.0}
        for choice in choices:  # every number of idle nodes, and the best way to it
            after: dict[int, float] = {}
            for before, worth in reach.items():
                for nodes, more in choice:
                    after[before + nodes] = max(after.get(before + nodes, -np.inf), worth + more)
            reach = after
        total += max(
            worth + sum(price[here.group_good[i]] * (nodes // here.group_of[i]) for i in groups)
            for nodes, worth in reach.items()
        )
    return total
