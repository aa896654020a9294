"""Residual value: the blocks that are left free, by the model, by the verifier, and by looking at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gangplan.domain.cluster import Node, NodeHealth
from gangplan.domain.outlook import FreeBlocks
from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.errors import TooManyPlansError
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.instance.free_blocks import with_free_blocks
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.assignment import worth
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.free_blocks import without_free_blocks
from gangplan.model.packing.order import make_plan
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.verifier import starts
from gangplan.model.verifier.verify import verify
from gangplan.testing.enumerate import best_plan
from gangplan.testing.strategies import leaving

from .planned import closed, drawn, in_depth, planned, reached, slack

few = settings(drawn, max_examples=settings().max_examples // 6)
"""Each example is planned, or looked at from all sides."""


@in_depth
def depth():
    """Quick or deep."""


def left_by(round_: Round, plan: Plan) -> list[Node]:
    """Whole nodes that a valid plan leaves free, read off its actions."""
    planned_for = {action.job: action.placements for action in plan.actions}
    held = set()
    for job in round_.jobs:
        takes = {group.name for group in job.component.task_groups if group.devices_per_task}
        held |= {p.node for p in planned_for.get(job.name, ()) if p.group in takes}
    return [
        node
        for node in round_.cluster.nodes
        if node.name not in held
        and node.health is NodeHealth.HEALTHY
        and not (node.cordoned or node.taints or (node.drain_time or round_.now + 1) <= round_.now)
        and node.usable_device_count == node.device_count
    ]


def most_worth(round_: Round, kinds: Sequence[FreeBlocks], free: Sequence[Node]) -> float:
    """The worth of the best choice of disjoint blocks, by trying all."""
    best = 0.0
    topology = round_.cluster.topology
    for at, kind in enumerate(kinds):
        if not kind.number:
            continue
        mine = [
            n
            for n in free
            if (n.accelerator_type, n.device_count) == (kind.accelerator_type, kind.node_devices)
        ]
        rest = [*kinds[:at], replace(kind, number=kind.number - 1), *kinds[at + 1 :]]
        for block in combinations(mine, kind.nodes):
            if kind.level is not None:
                domains = {topology.at_level(node.domain, kind.level) for node in block}
                if len(domains) > 1 or None in domains:
                    continue
            left = [node for node in free if node not in block]
            best = max(best, kind.worth + most_worth(round_, rest, left))
    return best


@few
@given(leaving("tiny"))
def test_the_verifier_counts_what_trying_all_finds(round_):
    plan = make_plan(instance := build_instance(round_), keep_and_fill(instance))
    judged = verify(round_, plan)
    assert judged.violations == ()
    true = most_worth(round_, round_.outlook.free_blocks, left_by(round_, plan))
    expected = round_.policy.residual_weight * true
    with patch.object(starts, "FEW", 0):  # jobs on one node each are read as columns
        assert verify(round_, plan).objective_by_term == judged.objective_by_term
    assert judged.objective_by_term["residual"] == pytest.approx(expected, abs=1e-9)


@few
@given(leaving("small"))
def test_the_model_never_counts_more_than_is_there(round_):
    instance = with_free_blocks(build_instance(round_))
    search = PriceSearch.of(instance)
    search.improve()
    for assignment in (keep_and_fill(instance), price_greedy(instance, search.prices())):
        alone = without_free_blocks(instance, assignment)
        judged = verify(round_, make_plan(instance, alone))
        assert judged.violations == ()
        if alone.kept == assignment.kept:  # nobody was to be stopped for a block alone
            assert judged.objective >= worth(instance, assignment) - 1e-9
        assert judged.objective <= search.prices().bound + slack(judged.objective)
        layout = build_layout(instance)
        assert formulate(layout).worst_violation(encode(layout, assignment)) <= 1e-6


@few
@given(leaving("tiny"))
def test_no_raw_plan_is_worth_more_than_the_bound(round_):
    result = planned(round_)
    assert result.verified
    names = {job.name for job in round_.jobs}
    assert {action.job for action in result.plan.actions} <= names
    assert {verdict.job for verdict in result.verdicts} <= names
    assert verify(round_, result.plan).objective == pytest.approx(result.quality.objective, abs=1e-9)
    try:
        truth = best_plan(round_, max_plans=3_000)
    except TooManyPlansError:
        assume(False)
    assert truth.objective <= result.quality.bound + slack(truth.objective)
    assert truth.objective >= result.quality.objective - slack(truth.objective)
    if closed(result):
        assert reached(result) == pytest.approx(truth.objective, abs=slack(truth.objective))


@few
@given(leaving("small"), st.booleans())
def test_nothing_changes_where_nothing_is_worth_anything(round_, off):
    """Without the weight, or without blocks, the answer is that of a round that has neither."""
    bare = replace(
        round_,
        policy=replace(round_.policy, residual_weight=0.0),
        outlook=replace(round_.outlook, free_blocks=()),
    )
    half = replace(bare, policy=round_.policy) if off else replace(bare, outlook=round_.outlook)
    assert planned(half, pipeline="greedy").plan == planned(bare, pipeline="greedy").plan
