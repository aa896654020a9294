"""Tiers in turn: a lower one never takes the place of a higher one, whatever it is worth (decision 8)."""

from __future__ import annotations

import pytest

from gangplan.domain.job import Job
from gangplan.domain.plan import RoundResult
from gangplan.domain.policy import Policy, Tier
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.testing.builders import at, job, node, round_of

H = "H100"
HIGH_FIRST = Policy(tiers=(Tier((9,)), Tier((5,))))


def planned(round_: Round, pipeline: str = "full") -> RoundResult:
    return plan_round(round_, PlanParameters(time_budget_seconds=600.0, solver="highs", pipeline=pipeline))


def kinds(result: RoundResult) -> dict[str, str]:
    return {action.job: action.kind.value for action in result.plan.actions}


def one_node(*jobs: Job, policy: Policy = HIGH_FIRST, devices: int = 4) -> Round:
    return round_of([node("n", H, devices)], jobs, policy=policy)


both = pytest.mark.parametrize("pipeline", ["greedy", "full"])


@both
def test_a_light_job_of_a_high_tier_goes_before_a_heavy_one_of_none(pipeline):
    jobs = job("high", gpus=1, weight=0.01, priority=9), job("low", gpus=4, weight=100.0)
    result = planned(one_node(*jobs), pipeline)
    assert kinds(result) == {"high": "PLACE"}
    assert kinds(planned(one_node(*jobs, policy=Policy()), pipeline)) == {"low": "PLACE"}
    (first, second) = result.quality.tiers
    assert (first.value, first.best, first.bound) == pytest.approx((0.01, 0.01, 0.01))
    assert (second.value, second.bound) == (0.0, 0.0)


@both
def test_tiers_yield_in_their_order(pipeline):
    jobs = [
        job("a", gpus=2, priority=9, weight=0.1),
        job("b", gpus=4, priority=5, weight=10.0),
        job("c", gpus=2, priority=5, weight=0.1),
        job("d", gpus=2, priority=0, weight=99.0),
    ]
    assert kinds(planned(one_node(*jobs), pipeline)) == {"a": "PLACE", "c": "PLACE"}


@both
def test_a_tier_evicts_for_its_places_and_that_is_not_taken_back(pipeline):
    holder = job("low", gpus=4, weight=100.0, running=at("n", range(4)), restart_seconds=300.0)
    high = job("high", gpus=1, weight=0.01, priority=9)
    result = planned(one_node(holder, high), pipeline)
    assert kinds(result) == {"low": "EVICT", "high": "PLACE"}
    assert kinds(planned(one_node(holder, high, policy=Policy()), pipeline)) == {"low": "KEEP"}


@both
def test_the_tolerance_lets_the_last_stage_choose(pipeline):
    jobs = [job(f"h{i}", gpus=1, weight=0.01, priority=9) for i in range(4)]
    jobs.append(job("low", gpus=2, weight=100.0))
    strict = planned(one_node(*jobs), pipeline)
    assert sorted(kinds(strict)) == ["h0", "h1", "h2", "h3"]
    half = planned(one_node(*jobs, policy=Policy(tiers=(Tier((9,), 0.5),))), pipeline)
    assert sum(name.startswith("h") for name in kinds(half)) == 2
    assert "low" in kinds(half)


def test_a_tier_counts_weights_and_knows_that_more_small_ones_fit():
    jobs = [job("large", gpus=4, priority=9), *(job(f"s{i}", gpus=1, priority=9) for i in range(4))]
    (tier, _) = planned(one_node(*jobs)).quality.tiers
    assert (tier.best, tier.bound) == pytest.approx((4.0, 4.0))
    heavy = [job("large", gpus=4, priority=9, weight=5.0), *jobs[1:]]
    assert kinds(planned(one_node(*heavy))) == {"large": "PLACE"}


def test_without_tiers_nothing_is_declared():
    result = planned(one_node(job("a"), policy=Policy()))
    assert (result.plan.tier_floors, result.quality.tiers) == ((), ())


@both
def test_jobs_that_no_term_likes_run_where_a_tier_counts_them(pipeline):
    """A spread that costs more than it brings."""
    policy = Policy(tiers=(Tier((9,)),), locality_weight=5.0)
    wide = job("wide", gpus=4, priority=9, preferred="node")
    nodes = [node("a", H, 2), node("b", H, 2)]
    assert kinds(planned(round_of(nodes, [wide], policy=policy), pipeline)) == {"wide": "PLACE"}
    assert kinds(planned(round_of(nodes, [wide], policy=Policy(locality_weight=5.0)), pipeline)) == {}
