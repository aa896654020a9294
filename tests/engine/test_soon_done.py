"""Guessing whom to hold: those who are done before what they make room for has paid."""

from __future__ import annotations

from hypothesis import given
from tests.engine.test_hold import crowded_by_one_that_ends

from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.bundles import poor
from gangplan.engine.judge import Judge
from gangplan.engine.soon_done import greedy_plan, soon_done
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.prices.prices import Prices
from gangplan.model.verifier.facts import round_facts
from gangplan.planning.generate import generate_named
from gangplan.testing.strategies import rounds


def best_prices(instance: Instance) -> Prices:
    search = PriceSearch.of(instance)
    search.improve()
    return search.prices()


def guessed(round_: Round) -> tuple[Judge, Instance, Assignment, Assignment, list[int]]:
    """What keeps and fills, what the greedy plans at the best prices, and who would be held."""
    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), Budget())
    floor, planned = keep_and_fill(instance), price_greedy(instance, best_prices(instance))
    return judge, instance, floor, planned, soon_done(judge, floor, planned)


def test_who_is_done_before_the_others_have_paid_is_held() -> None:
    _, instance, floor, planned, held = guessed(crowded_by_one_that_ends())
    stopped = {instance.jobs[j].name for j in floor.kept - planned.kept}
    assert "soon" in stopped
    assert len(stopped) == 2
    assert held == [int(instance.class_of_job[instance.job_index["soon"]])]


def test_where_most_of_the_gain_is_theirs_they_are_not_held() -> None:
    """At prices that do not know that soon stays, big goes nowhere."""
    judge, instance, floor, planned, held = guessed(crowded_by_one_that_ends())
    assert held
    assert greedy_plan(judge, floor, best_prices(instance)) == planned


def test_planned_around_who_is_done_soon_all_of_it_pays() -> None:
    judge, instance, floor, planned, _ = guessed(generate_named("S/steady/85/seed2"))
    kept = judge.consider("keep_and_fill", floor)
    assert kept is not None
    around = greedy_plan(judge, floor, best_prices(instance))
    paying = {}
    for name, assignment in (("as it is", planned), ("around", around)):
        candidate = judge.consider(name, assignment)
        assert candidate is not None
        paying[name] = poor(judge, candidate, kept) == []
    assert paying == {"as it is": False, "around": True}


@given(round_=rounds())
def test_held_are_those_of_the_stopped_that_are_done_first(round_: Round) -> None:
    judge, instance, floor, planned, held = guessed(round_)
    stopped = floor.kept - planned.kept
    horizon = {
        int(instance.class_of_job[j]): max(
            judge.facts.jobs[instance.jobs[j].name].horizon, round_.round_seconds
        )
        for j in stopped
    }
    assert held == sorted(set(held))
    assert set(held) <= horizon.keys()
    longest = max([horizon[c] for c in held], default=0.0)
    assert all(horizon[c] > longest for c in horizon.keys() - set(held))
