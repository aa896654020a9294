"""Blocks that are left free: what a plan gives up for them, what it does not, and what history says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gangplan.domain.job import Capabilities, TaskSplit
from gangplan.domain.outlook import FreeBlocks, Outlook
from gangplan.domain.plan import ActionKind, TerminationReason, VerdictKind
from gangplan.domain.policy import Policy, Tier
from gangplan.domain.queue import Queue
from gangplan.engine.budget import Budget
from gangplan.engine.explain_job import explain_job
from gangplan.engine.look_ahead import look_ahead
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.recommend import recommend
from gangplan.engine.round import plan_round
from gangplan.engine.runner import InProcessRunner
from gangplan.model.lookahead.free_blocks import HALF_LIFE_SECONDS, expected_sales
from gangplan.testing.builders import at, group, job, node, round_of, topology

NOW, ROUND = 10_000.0, 300.0
STAYS = Capabilities(pausable=False, movable=False, resizable=False)
EQUAL = {"fairness_power": 0.0, "tracking_weight": 0.0}


def rack(jobs, *free, nodes=2, weight=1.0):
    """Nodes of four devices in one rack; ``free`` is what the outlook gives a worth."""
    names = [f"n{i}" for i in range(nodes)]
    return round_of(
        [node(name, "H100", 4, domain="r0") for name in names],
        jobs,
        topology=topology("rack", r0="rack"),
        policy=Policy(residual_weight=weight, **EQUAL),
        outlook=Outlook(NOW - ROUND, ROUND, free_blocks=free),
        now=NOW,
        round_seconds=ROUND,
        horizon_seconds=12 * ROUND,
    )


def planned(round_, **more):
    return plan_round(round_, PlanParameters(time_budget_seconds=60.0, **more), runner=InProcessRunner())


def started(result):
    return {action.job for action in result.plan.actions if action.kind is ActionKind.PLACE}


def held_half():
    """n0 with two of its four devices held; nothing on n1."""
    return job("stays", group(count=2), running=[at("n0", range(2))], capabilities=STAYS)


@pytest.mark.parametrize("pipeline", ["full", "greedy"])
@pytest.mark.parametrize(("worth", "starts"), [(1.0, {"a", "b"}), (3.0, {"a"})])
def test_a_node_stays_whole_where_that_is_worth_more_than_the_job_that_breaks_it(pipeline, worth, starts):
    """Two jobs of two devices: one fits beside who stays, the other (worth 2) would break a whole node."""
    jobs = [held_half(), job("a", group(count=2)), job("b", group(count=2))]
    result = planned(rack(jobs, FreeBlocks("H100", 4, worth=worth)), pipeline=pipeline)
    assert len(started(result)) == len(starts)
    assert result.quality.objective_by_term["residual"] == (worth if len(starts) == 1 else 0.0)
    assert pipeline == "greedy" or result.reason is TerminationReason.OPTIMAL
    assert {verdict.job for verdict in result.verdicts} == {"a", "b"} - started(result)


def test_who_waits_for_a_block_to_stay_whole_is_told_so_by_the_round_and_at_length():
    jobs = [held_half(), job("a", group(count=2)), job("b", group(count=2))]
    for worth, code in ((3.0, "RESIDUAL_VALUE"), (None, None)):
        round_ = rack(jobs, *(() if worth is None else (FreeBlocks("H100", 4, worth=worth),)))
        result = planned(round_)
        assert [verdict.code for verdict in result.verdicts] == ([] if code is None else [code])
        for verdict in result.verdicts:
            assert verdict.kind is VerdictKind.NOT_CHOSEN
            assert verdict.message == (
                "fits only where it would break whole nodes that are worth more while they are free"
            )
            found = explain_job(round_, result.plan, verdict.job, finished=True)
            assert (found.verdict.kind, found.verdict.code) == (verdict.kind, verdict.code)
            assert found.verdict.conflict_set == ()


def test_a_place_is_worth_less_by_the_block_that_it_breaks_also_for_who_runs_there():
    """Two devices: beside who stays, or, where it runs now, on a node that is worth 3 while it is free."""
    block = FreeBlocks("H100", 4, worth=3.0)
    waits = rack([held_half(), job("a", group(count=2))], block)
    runs = rack([held_half(), job("a", group(count=2), running=[at("n1", range(2))])], block)
    for round_, expected in ((waits, {"n0": 0.0}), (runs, {"n0": 0.0, "n1": -3.0})):
        found = recommend(round_, "a")
        assert found.value_without == pytest.approx(2.0 + 3.0)  # who stays, and the block
        worth = {
            action.placements[0].node: place.value_by_term["residual"]
            for place in found.places
            for action in place.plan.actions
            if action.job == "a"
        }
        assert worth == expected


def test_the_weight_is_a_factor_and_0_switches_it_off():
    jobs = [held_half(), job("a", group(count=2)), job("b", group(count=2))]
    block = FreeBlocks("H100", 4, worth=3.0)
    assert started(planned(rack(jobs, block, weight=0.5))) == {"a", "b"}
    off = planned(rack(jobs, block, weight=0.0))
    assert started(off) == {"a", "b"}
    assert off.quality.objective_by_term["residual"] == 0.0


def test_a_rack_of_two_counts_once_and_its_nodes_do_not_count_again():
    """Two whole nodes: as one block of two 10, or as single ones 3 each; the better of both."""
    single = FreeBlocks("H100", 4, nodes=1, number=2, worth=3.0)
    for worth, expected in ((10.0, 10.0), (5.0, 6.0)):
        double = FreeBlocks("H100", 4, nodes=2, level="rack", worth=worth)
        result = planned(rack([], single, double))
        assert result.quality.objective_by_term["residual"] == expected
        assert result.quality.bound == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("pipeline", ["full", "greedy"])
def test_guarantees_and_tiers_go_before_what_is_left_free(pipeline):
    jobs = [
        held_half(),
        job("a", group(count=2), queue="q", priority=1),
        job("b", group(count=2), priority=2),
    ]
    block = FreeBlocks("H100", 4, worth=50.0)
    owed = replace(rack(jobs, block), queues=(Queue("q", device_guarantee=2),))
    assert planned(owed, pipeline=pipeline).quality.guarantees.value == 2.0
    tiered = replace(owed, policy=replace(owed.policy, tiers=(Tier((2,)), Tier((1,)))))
    result = planned(tiered, pipeline=pipeline)
    assert [tier.value for tier in result.quality.tiers] == [1.0, 1.0]
    assert result.quality.objective_by_term["residual"] == 0.0


def test_nobody_is_stopped_for_a_block_or_moved_at_a_cost():
    """A job of one device on each node, either of which could lie beside the other."""
    jobs = [
        job("a", running=[at("n0", [0])], restart_seconds=30.0),
        job("b", running=[at("n1", [0])], restart_seconds=30.0),
    ]
    result = planned(rack(jobs, FreeBlocks("H100", 4, worth=50.0)))
    assert {action.kind for action in result.plan.actions} == {ActionKind.KEEP}
    assert result.quality.objective == pytest.approx(2.0)


def test_what_came_is_expected_again_and_fades():
    """A gang of both nodes came within the last round: one in a round watched; half after a half-life."""
    came = job("gang", group(count=8, split=TaskSplit.WHOLE_NODES), submit_time=NOW - 1.0)
    round_ = replace(rack([came]), outlook=None)
    ahead = outlook_of(round_)
    (block,) = ahead.free_blocks
    assert (block.accelerator_type, block.node_devices, block.nodes) == ("H100", 4, 2)
    assert (block.arrivals, block.number, ahead.watched_seconds) == (1.0, 1, ROUND)
    assert block.worth == pytest.approx(8 * (1.0 - math.exp(-1.0)))
    later = replace(round_, jobs=(), now=NOW + HALF_LIFE_SECONDS, outlook=ahead)
    (faded,) = outlook_of(later).free_blocks
    assert faded.arrivals == pytest.approx(0.5)
    expected = 0.5 / (HALF_LIFE_SECONDS + 0.5 * ROUND) * ROUND
    assert faded.worth == pytest.approx(8 * (1.0 - math.exp(-expected)))


def test_nothing_is_counted_without_a_weight():
    came = job("gang", group(count=8, split=TaskSplit.WHOLE_NODES), submit_time=NOW - 1.0)
    ahead = outlook_of(replace(rack([came], weight=0.0), outlook=None))
    assert (ahead.free_blocks, ahead.watched_seconds) == ((), 0.0)


def test_a_gang_that_runs_on_parts_of_nodes_asks_for_no_block():
    came = job("spread", group(count=8), submit_time=NOW - 1.0)
    assert outlook_of(replace(rack([came]), outlook=None)).free_blocks == ()


def outlook_of(round_):
    how = PlanParameters(time_budget_seconds=60.0, look_ahead_share=0.9)
    return look_ahead(round_, how, InProcessRunner(), Budget(60.0)).round.outlook


@pytest.mark.parametrize(
    ("mean", "number", "expected"),
    [(1.0, 1, 1 - math.exp(-1)), (2.0, 2, 2 - math.exp(-2) * (2 + 2)), (0.0, 3, 0.0)],
)
def test_expected_sales_by_hand(mean, number, expected):
    """With a mean of 2 and two blocks: 2 - 2 P(0) - P(1)."""
    assert expected_sales(mean, number) == pytest.approx(expected)
