"""The greedy's plans at prices: of large rounds one is verified before any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given

from gangplan.domain.plan import RoundResult
from gangplan.domain.policy import Tier
from gangplan.domain.round import Round
from gangplan.engine import plans_at_prices, soon_done
from gangplan.engine import round as engine
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.steps import Ladder, Steps, ladder
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.prices.prices import Prices
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.verify import prepare, verify
from gangplan.planning.generate import generate_named
from gangplan.testing.builders import job, node, round_of
from gangplan.testing.strategies import rounds

GREEDY = PlanParameters(pipeline="greedy", time_budget_seconds=600.0)


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Rounds of every size plan after so many evaluations."""

    def set_(evaluations: int) -> None:
        def row(options: int, steps: Steps) -> Ladder:
            return replace(ladder(options, steps), early=evaluations)

        monkeypatch.setattr(engine, "ladder", row)

    return set_


def names(result: RoundResult) -> list[str]:
    return [stage.name for stage in result.stages]


def assert_verified(round_: Round, result: RoundResult) -> None:
    found = verify(round_, result.plan)
    assert found.valid, found.violations
    assert found.objective == pytest.approx(result.quality.objective, abs=1e-9)


@pytest.mark.parametrize("name", ["S/steady/50/seed0", "S/steady/85/seed1", "S/random/85/seed2"])
def test_the_greedy_is_verified_first_and_the_answer_is_as_good(
    name: str, early: Callable[[int], None]
) -> None:
    round_ = generate_named(name)
    early(0)
    before = plan_round(round_, GREEDY)
    early(20)
    after = plan_round(round_, GREEDY)
    assert names(before)[:2] == ["keep_and_fill", "greedy"]
    assert names(after)[:2] == ["greedy", "keep_and_fill"]
    assert after.quality.keep_and_fill == before.quality.keep_and_fill
    assert after.quality.objective >= before.quality.objective
    assert after.quality.bound == before.quality.bound
    first, best = after.stages[0], after.quality.bound
    assert first.bound is not None
    assert first.bound >= best
    assert_verified(round_, after)


def test_where_time_is_short_what_keeps_and_fills_comes_first(
    early: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    early(20)
    monkeypatch.setattr(plans_at_prices, "_NEEDED", 1e9)
    result = plan_round(generate_named("S/steady/50/seed0"), GREEDY)
    assert names(result)[:2] == ["keep_and_fill", "greedy"]


def test_a_first_plan_is_answered_when_no_time_is_left_for_another(
    early: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    early(20)
    monkeypatch.setattr(plans_at_prices, "_ANOTHER", 1e9)
    round_ = generate_named("S/steady/50/seed0")
    result = plan_round(round_, GREEDY)
    assert names(result).count("greedy") == 1
    assert result.quality.objective > result.quality.keep_and_fill
    assert_verified(round_, result)


def test_a_first_plan_that_breaks_a_rule_changes_nothing(
    early: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    round_ = generate_named("S/random/85/seed2")
    early(0)
    before = plan_round(round_, GREEDY)
    early(20)
    plan = soon_done.price_greedy
    calls: list[Prices] = []

    def wrong_at_first(instance: Instance, prices: Prices, *, once: bool = False) -> Assignment:
        calls.append(prices)
        found = plan(instance, prices, once=once)
        if len(calls) > 1:
            return found
        everybody = frozenset(instance.placements.keys() - found.placed.keys())
        return replace(found, kept=everybody)  # beside those for whom they should make room

    monkeypatch.setattr(soon_done, "price_greedy", wrong_at_first)
    after = plan_round(round_, GREEDY)
    assert after.stages[0].name == "greedy"
    assert after.stages[0].objective is None
    assert after.plan == before.plan


def test_followed_by_stream_what_keeps_and_fills_is_told_first(early: Callable[[int], None]) -> None:
    early(20)
    told: list[RoundResult] = []
    plan_round(generate_named("S/steady/50/seed0"), GREEDY, on_better=told.append)
    assert told[0].detail == "on the way: keep_and_fill"
    values = [each.quality.objective for each in told]
    assert values == sorted(set(values))


def test_of_two_plans_as_good_the_one_that_keeps_and_fills_is_answered_in_either_order() -> None:
    round_ = round_of([node("a", "H100", 2), node("b", "H100", 4)], [job("j"), job("k", gpus=2)])
    plain = plan_round(round_, GREEDY)
    assert [(stage.name, stage.objective) for stage in plain.stages] == [
        ("greedy", 3.0),
        ("keep_and_fill", 3.0),
    ]
    assert plain.plan == plan_round(round_, GREEDY, on_better=lambda _: None).plan


@given(round_=rounds())
def test_followed_by_stream_the_answer_is_the_same(round_: Round) -> None:
    followed = plan_round(round_, GREEDY, on_better=lambda _: None)
    assert followed.plan == plan_round(round_, GREEDY).plan


def test_stages_come_before_any_plan_at_early_prices(early: Callable[[int], None]) -> None:
    early(20)
    round_ = generate_named("S/steady/50/seed0")
    tiered = replace(round_, policy=replace(round_.policy, tiers=(Tier((0,)),)))
    result = plan_round(tiered, GREEDY)
    assert names(result)[0] == "keep_and_fill"


@pytest.mark.parametrize("name", ["S/steady/50/seed3", "M/steady/85/seed3"])
def test_rounds_of_every_size_are_planned_early(name: str) -> None:
    assert names(plan_round(generate_named(name), GREEDY))[:2] == ["greedy", "keep_and_fill"]


def test_from_the_prices_of_a_round_before_the_greedy_comes_first_too() -> None:
    round_ = generate_named("S/steady/85/seed1")
    before = plan_round(round_, GREEDY)
    after = plan_round(round_, replace(GREEDY, warm_start=before.warm_start))
    assert after.statistics["prices_evaluations"] < ladder(1).early
    assert names(after)[:2] == ["greedy", "keep_and_fill"]
    assert_verified(round_, after)


def test_what_is_prepared_changes_no_verdict() -> None:
    round_ = generate_named("M/steady/85/seed0")
    plan = plan_round(round_, GREEDY).plan
    facts, prepared = round_facts(round_), round_facts(round_)
    prepare(prepared)
    mine, theirs = verify(round_, plan, prepared), verify(round_, plan, facts)
    assert mine.objective_by_term == theirs.objective_by_term
    assert mine.violations == theirs.violations == ()
    assert all(mine.outcomes[job.name] == theirs.outcomes[job.name] for job in round_.jobs)
