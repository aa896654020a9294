"""The model prices what the verifier judges: the same weights, and the same value of a whole decision.

The two share no code, and a bound is only as true as the model's weights: one that is too low lies below
plans that exist.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.cluster import AcceleratorType
from gangplan.domain.job import DeadlineKind, Job
from gangplan.domain.plan import Claim, TerminationReason
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.order import make_plan
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.prices.prices import Prices
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, group, job, node, round_of
from gangplan.testing.strategies import rounds

from .planned import BACKENDS, as_decided, drawn, in_depth, planned, reached, slack


def searched(instance: Instance) -> Prices:
    """Prices as a round finds them."""
    search = PriceSearch.of(instance)
    search.improve()
    return search.prices()


@in_depth
def depth():
    """Quick or deep."""


def modest(one: Job) -> Job:
    """The same job, asking for no more than its least count; it may still grow."""
    groups = tuple(replace(g, count=g.allowed_counts[0]) for g in one.component.task_groups)
    return replace(one, component=replace(one.component, task_groups=groups))


def elastic(one: Job) -> Job:
    """The same job; one without devices may double."""
    groups = one.component.task_groups
    if any(g.devices_per_task for g in groups):
        return one
    doubling = [replace(g, allowed_counts=tuple(sorted({*g.allowed_counts, 2 * g.count}))) for g in groups]
    return replace(one, component=replace(one.component, task_groups=tuple(doubling)))


@st.composite
def growing(draw: st.DrawFn) -> Round:
    """Rounds in which some elastic jobs ask for less than they may get, and CPU-only ones are elastic."""
    round_ = draw(rounds("small"))
    jobs = [elastic(one) for one in round_.jobs]
    return replace(round_, jobs=tuple(modest(one) if draw(st.booleans()) else one for one in jobs))


@drawn
@given(growing())
def test_the_model_weighs_every_job_as_the_verifier_does(round_):
    instance, facts = build_instance(round_), round_facts(round_)
    theirs = [facts.jobs[one.name].weight for one in instance.jobs]
    assert instance.weight.tolist() == pytest.approx(theirs, rel=1e-9)


@drawn
@given(growing())
def test_a_decision_is_worth_to_the_model_what_its_plan_is_worth_to_the_verifier(round_):
    instance = build_instance(round_)
    for decided in (keep_and_fill(instance), price_greedy(instance, searched(instance))):
        worth = instance.offset
        worth += sum(float(instance.gain[placed.option]) for placed in decided.placed.values())
        worth += sum(float(instance.keep_gain[instance.class_of_job[j]]) for j in decided.kept)
        plan = make_plan(instance, decided)
        judged = verify(round_, plan)
        assert judged.violations == ()
        if as_decided(instance, decided, plan):
            assert worth == pytest.approx(judged.objective, rel=1e-9, abs=1e-9)
        else:
            assert judged.objective >= worth - 1e-9


def test_a_start_on_a_claim_is_paid_for_in_full():
    """One hour of the device costs 3,000,000, at a weight of 4e-7 more than the work is worth; only what runs
    is kept at no loss, and a claim's job does not run yet.
    """
    waiting = job("j", group(count=1))
    round_ = round_of([node("n", "H100", 1)], [waiting], now=1_000.0)
    round_ = replace(
        round_,
        accelerators=(AcceleratorType("H100", 1.0, price_micros_per_hour=3_000_000),),
        policy=replace(round_.policy, cost_weight=4e-7),
        claims=(Claim("j", (at("n", [0]),), 2_000.0, ("evict/gone",)),),
    )
    instance = build_instance(round_)
    decided = keep_and_fill(instance)
    assert decided.kept == {0}
    judged = verify(round_, make_plan(instance, decided))
    worth = instance.offset + float(instance.keep_gain[instance.class_of_job[0]])
    assert worth == pytest.approx(judged.objective)
    assert judged.objective == pytest.approx(1.0 - 1.2)


def test_where_money_is_worth_next_to_nothing_both_charge_the_whole_price():
    """What a running job's service is worth in money is beyond all numbers then."""
    runs = job("j", group(count=1), running=(at("n", [0]),))
    round_ = round_of([node("n", "H100", 1)], [runs], now=1_000.0)
    round_ = replace(
        round_,
        accelerators=(AcceleratorType("H100", 1.0, price_micros_per_hour=3_000_000),),
        policy=replace(round_.policy, cost_weight=1e-320),
    )
    instance = build_instance(round_)
    decided = keep_and_fill(instance)
    judged = verify(round_, make_plan(instance, decided))
    worth = instance.offset + float(instance.keep_gain[instance.class_of_job[0]])
    assert worth == pytest.approx(judged.objective)
    assert judged.objective == pytest.approx(1.0)


def test_a_doomed_job_that_runs_at_no_speed_is_worth_nothing_to_both():
    """It is spread wider than it prefers, which would cost another job; it may not be stopped yet."""
    nodes = [node("a", "H100", 1), node("b", "H100", 1)]
    useless = {("H100", 1, "node"): 2.0, ("H100", 2, "node"): 2.0}
    spread = job(
        "j",
        group(count=2, profile="useless"),
        running=(at("a", [0]), at("b", [0])),
        preferred="node",
        work_left=1e6,
        deadline=2_000.0,
        deadline_kind=DeadlineKind.STRICT,
    )
    spread = replace(spread, running=replace(spread.running, minimum_run_until=1_600.0))
    round_ = round_of(nodes, [spread], profiles={"useless": useless}, now=1_000.0)
    instance = build_instance(round_)
    decided = keep_and_fill(instance)
    judged = verify(round_, make_plan(instance, decided))
    assert round_facts(round_).jobs["j"].doomed
    assert judged.outcomes["j"].throughput == 0.0
    worth = instance.offset + float(instance.keep_gain[instance.class_of_job[0]])
    assert worth == judged.objective == 0.0


@drawn
@given(growing())
def test_no_price_bound_is_below_a_plan(round_):
    best = reached(planned(round_))
    bound = planned(round_, pipeline="greedy").quality.bound
    assert best <= bound + slack(best)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_cpu_only_job_that_may_grow_is_as_late_as_its_requested_count_says(backend):
    """Eight devices. train asks for 4, may have 8, and weighs as much as host, which asks for one task and
    may have two. Were host's fair self taken to run two tasks, its rho and the median would be off, with them
    the weight of train, and the bound would not be that of the best plan, in which both have all they may.
    """
    train = job("train", group(count=4, counts=[4, 8]), work_left=5_000.0, submit_time=999_940.0, weight=4.0)
    host = job(
        "host",
        group(count=1, counts=[1, 2], gpus=0, cpu=1),
        work_left=1_000.0,
        work_done=50.0,
        submit_time=990_000.0,
        weight=4.0,
    )
    round_ = round_of([node("n", "H100", 8)], [train, host], now=1_000_000.0)
    result = planned(round_, backend)
    assert {a.job: a.throughput for a in result.plan.actions} == {"train": 8.0, "host": 2.0}
    assert result.quality.bound == pytest.approx(result.quality.objective)
    assert result.reason is TerminationReason.OPTIMAL
    facts = round_facts(round_)
    assert [facts.jobs[name].isolated for name in ("host", "train")] == [1.0, 4.0]
