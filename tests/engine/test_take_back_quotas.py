"""Taking back where a queue's limit ties exchanges together: in parts, and with room made in the queue."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from gangplan.domain.plan import ActionKind
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.take_back import _make_room_in_quotas
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.occupancy import Occupancy
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.testing.builders import at, job, node, round_of
from gangplan.testing.strategies import rounds

ROUND = 600.0


@pytest.mark.parametrize("limit", [None, 8])
def test_an_exchange_that_does_not_pay_costs_no_other_in_its_queue(limit: int | None) -> None:
    """short ends after one round, for which dear's restart is no price; lasting is worth cheap's place.
    Under the limit of 8 devices the two exchanges are one bundle, which does not pay.
    """
    cheap = job("cheap", gpus=4, weight=0.5, queue="q", running=at("a", range(4)), checkpoint_age=0.0)
    dear = job(
        "dear",
        gpus=4,
        weight=0.5,
        queue="q",
        running=at("b", range(4)),
        checkpoint_age=0.0,
        restart_seconds=6 * ROUND,
    )
    lasting = job("lasting", gpus=4, weight=4.0, queue="q")
    short = job("short", gpus=4, weight=4.0, queue="q", work_left=4 * ROUND)
    round_ = round_of(
        [node("a", "H100", 4), node("b", "H100", 4)],
        [cheap, dear, lasting, short],
        queues=(Queue("q", None, limit),),
    )
    result = plan_round(round_, PlanParameters(solver="highs", time_budget_seconds=600.0))
    assert {action.job: action.kind for action in result.plan.actions} == {
        "cheap": ActionKind.EVICT,
        "dear": ActionKind.KEEP,
        "lasting": ActionKind.PLACE,
    }
    assert result.statistics["taken_back_actions"] == 1


@settings(suppress_health_check=list(HealthCheck))
@given(rounds("small"))
def test_room_in_quotas_is_made_by_starts_alone_and_the_densest_last(round_: Round) -> None:
    """Everybody who runs stays, and a plan's starts beside them."""
    instance = build_instance(round_)
    search = PriceSearch.of(instance)
    search.improve(60)
    placed = {
        j: where
        for j, where in price_greedy(instance, search.prices()).placed.items()
        if j not in instance.placements
    }
    occupancy = Occupancy(instance, np.flatnonzero(instance.kept).tolist())
    empty = occupancy.free.copy()
    for j, where in placed.items():
        placed[j] = occupancy.take_placed(j, where)
    before = dict(placed)
    was_broken = bool(occupancy.broken_queues())
    _make_room_in_quotas(occupancy, placed)
    assert placed.items() <= before.items()
    assert was_broken or placed == before
    assert not occupancy.broken_queues()  # of those who run alone no limit is broken (property P25)
    for j, where in placed.items():
        occupancy.take_placed(j, where, -1)
    assert (occupancy.free == empty).all()
