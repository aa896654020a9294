"""The look-ahead: what it promises the rounds, and what its programme may never forbid (decision 31)."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.look_ahead import look_ahead
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.runner import InProcessRunner
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.lookahead.buckets import NEAR, build_buckets
from gangplan.model.lookahead.crowd import build_crowd, job_numbers, singly
from gangplan.model.lookahead.fluid import Fluid, build_entries, build_fluid, free_over_time
from gangplan.model.lookahead.outlook import make_outlook
from gangplan.model.lookahead.reserve import whole_node_gang
from gangplan.model.lookahead.room import build_room
from gangplan.model.lookahead.service import hand_out
from gangplan.model.lookahead.worth import LARGE_GANG, SPREAD
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.program import SolveParameters
from gangplan.testing import builders
from gangplan.testing.strategies import rounds
from gangplan_solvers import catalog

from .planned import drawn, in_depth

pytestmark = pytest.mark.timeout(900)

AHEAD = PlanParameters(pipeline="greedy", time_budget_seconds=60.0, look_ahead_share=0.9)


@in_depth
def depth():
    """Quick or deep."""


def fluid_of(round_: Round, most: int = 1200) -> Fluid:
    instance = build_instance(replace(round_, outlook=None))
    numbers = job_numbers(instance)
    crowd = build_crowd(instance, numbers, np.flatnonzero(numbers.planned).tolist(), most)
    buckets = build_buckets(round_.round_seconds, 20 * round_.round_seconds)
    return build_fluid(
        instance, numbers, crowd, buckets, free_over_time(instance, numbers, buckets.edges[:-1])
    )


def solved(fluid: Fluid) -> np.ndarray:
    if not fluid.program.columns:
        return np.zeros(0)
    solution = catalog.load("highs").solve(fluid.program, SolveParameters(relax=True), None)
    assert solution.values is not None
    return solution.values


def ahead_of(round_: Round):
    found = look_ahead(round_, AHEAD, InProcessRunner(), Budget(None))
    assert found.made, found.remark
    return found.round.outlook


def plans(instance: Instance) -> list[Assignment]:
    """Two ways to fill the cluster."""
    search = PriceSearch.of(instance)
    search.improve(steps=20)
    return [found for found in (keep_and_fill(instance), price_greedy(instance, search.prices())) if found]


@drawn
@given(rounds())
def test_no_plan_breaks_the_rows_of_the_room(round_: Round) -> None:
    """Rows that a real plan broke would prove lies: every chosen option, in its own way, fits in them."""
    instance = build_instance(round_)
    jobs = [j for j in range(len(instance.jobs)) if instance.classes[int(instance.class_of_job[j])].stop]
    crowd = singly(instance, jobs)
    entries = build_entries(instance, crowd)
    for assignment in plans(instance):
        free = np.where(instance.nodes.open[:, None], instance.nodes.capacity, 0)
        for job in assignment.kept:
            for n, amount in instance.keep_use[int(instance.class_of_job[job])].items():
                free[n] -= np.array(amount) * instance.nodes.open[n]
        room = build_room(instance, entries.ways, free[None])
        used = np.zeros(len(room.names))
        for job, placed in assignment.placed.items():
            option = int(instance.option[placed.option])
            options = [w for w, way in enumerate(entries.ways) if way.option == option]
            types = {int(instance.nodes.type_of[n]) for n, _ in placed.spots}
            mine = [w for w in options if set(entries.ways[w].types) - {-1} <= types]
            assert mine, job
            of = room.way == mine[0]
            np.add.at(used, room.row[of], room.amount[of])
        assert (used <= room.capacity[:, 0] + 1e-6).all()


@drawn
@given(rounds())
def test_what_is_handed_out_is_what_the_plan_gives(round_: Round) -> None:
    """Nothing is lost or made up when a class's service goes to its members; nobody gets more than all."""
    fluid = fluid_of(round_, most=6)
    values = solved(fluid)
    service = hand_out(fluid, values)
    running = fluid.running(values)
    given_out = (running[:, 0] * fluid.throughput * fluid.buckets.seconds[0]).sum()
    assert service.first.sum() == pytest.approx(given_out, rel=1e-6, abs=1e-6)
    assert (service.first <= fluid.numbers.left * (1 + 1e-9)).all()
    assert (service.start <= service.end).all()


@drawn
@given(rounds())
def test_targets_fit_into_the_cluster(round_: Round) -> None:
    fluid = fluid_of(round_)
    if fluid.program.columns:
        assert fluid.program.worst_violation(solved(fluid)) <= 1e-6


@drawn
@given(rounds())
def test_a_weight_for_the_makespan_asks_for_who_has_no_slack_and_changes_nobody_else(round_: Round) -> None:
    """Slack is against the longest job and the load, whichever is more, each job where it is fastest."""
    weighed = ahead_of(replace(round_, policy=replace(round_.policy, makespan_weight=50.0)))
    before = {entry.job: entry for entry in ahead_of(round_).jobs}
    numbers = job_numbers(instance := build_instance(replace(round_, outlook=None)))
    alone = {job.name: float(numbers.alone[j]) for j, job in enumerate(instance.jobs) if numbers.planned[j]}
    longest = max(alone.values(), default=0.0)
    for entry in weighed.jobs:
        if entry.worth == 50.0:
            assert entry.target > 0.0
            assert alone[entry.job] >= longest - 2.0 * round_.round_seconds - 1e-6
        else:
            assert entry == before[entry.job]


@drawn
@given(rounds(), st.integers(0, 2**32))
def test_order_means_nothing(round_: Round, seed: int) -> None:
    rng = random.Random(seed)

    def mix(values):
        return tuple(rng.sample(values, len(values)))

    cluster = replace(round_.cluster, nodes=mix(round_.cluster.nodes))
    other = replace(round_, cluster=cluster, jobs=mix(round_.jobs), queues=mix(round_.queues))
    assert ahead_of(other) == ahead_of(round_)


@drawn
@given(rounds())
def test_every_job_that_can_run_has_a_target_and_the_estimates_are_in_order(round_: Round) -> None:
    outlook = ahead_of(round_)
    instance = build_instance(replace(round_, outlook=None))
    numbers = job_numbers(instance)
    expected = [job.name for j, job in enumerate(instance.jobs) if numbers.planned[j] or numbers.fixed[j]]
    assert [entry.job for entry in outlook.jobs] == expected
    for entry in outlook.jobs:
        assert entry.target >= 0.0
        assert 0.0 <= entry.deficit <= 2.0
        if entry.estimated_start is not None and entry.estimated_end is not None:
            assert round_.now <= entry.estimated_start <= entry.estimated_end + 1e-6


@drawn
@given(rounds())
def test_without_an_outlook_nothing_changes(round_: Round) -> None:
    """The term is exactly 0: whatever its weight, plan and objective are the same to the last bit."""
    bare = replace(round_, outlook=None)
    greedy = replace(AHEAD, look_ahead_share=0.0)
    one = plan_round(bare, greedy)
    other = plan_round(replace(bare, policy=replace(bare.policy, tracking_weight=7.0)), greedy)
    assert one.plan == other.plan
    assert one.quality == other.quality
    assert one.quality.objective_by_term["tracking"] == 0.0
    assert one.outlook is None


@drawn
@given(rounds())
def test_who_waits_is_told_when_the_outlook_has_it_start(round_: Round) -> None:
    found = plan_round(round_, AHEAD)
    assert found.outlook is not None
    starts = {entry.job: entry.estimated_start for entry in found.outlook.jobs}
    for verdict in found.verdicts:
        start = starts.get(verdict.job)
        soonest = round_.now + round_.round_seconds
        assert verdict.earliest_start == (None if start is None else max(start, soonest))


@drawn
@given(rounds(), st.sampled_from([1.0, 0.5]))
def test_what_a_round_did_not_give_is_owed(round_: Round, elapsed: float) -> None:
    """A job that waited is owed its target, scaled with the time that passed, up to the bound."""
    first = ahead_of(round_)
    later = replace(round_, now=round_.now + elapsed * round_.round_seconds, outlook=first)
    fluid = fluid_of(later)
    owed = {entry.job: entry.deficit for entry in make_outlook(fluid, solved(fluid), first).jobs}
    fresh = {entry.job: entry for entry in make_outlook(fluid, solved(fluid), None).jobs}
    for entry in first.jobs:
        if entry.job in owed and fresh[entry.job].target < 1.0:
            expected = min(2.0, entry.deficit + entry.target * elapsed)
            assert owed[entry.job] == pytest.approx(expected, abs=1 / 16)


def never_ran(job: Job) -> bool:
    """Whether a waiting job has neither work to show nor held any device so far."""
    return job.work_done <= 0.0 and not job.service_received_device_seconds


@drawn
@given(rounds())
def test_targets_are_what_whole_jobs_can_follow(round_: Round) -> None:
    """Who runs is served as it is or not at all; who waits is asked for from half a round on; a gang of whole
    nodes that has never run is asked for in full.
    """
    fluid = fluid_of(round_)
    instance, numbers = fluid.instance, fluid.numbers
    grain = 1 / 16
    for entry in make_outlook(fluid, solved(fluid), None).jobs:
        j = instance.job_index[entry.job]
        if not numbers.planned[j]:
            continue
        if numbers.running[j]:
            mine = int(instance.class_of_job[j])
            present = float(instance.keeps.throughput[mine] / numbers.reference[j])
            assert entry.target == 0.0 or entry.target >= min(present, 1e6) - grain
        elif never_ran(instance.jobs[j]) and whole_node_gang(instance, j) is not None:
            assert entry.target >= 1.0
        else:
            assert entry.target == 0.0 or entry.target >= 0.5 - grain


@pytest.mark.parametrize("end", [0.0, 100.0, 300.0, 4_000.0, 1e5, 1e7, 1e12])
def test_buckets_begin_one_round_long_and_grow(end: float) -> None:
    buckets = build_buckets(300.0, end)
    assert buckets.count <= 16
    assert buckets.end >= min(end, 20 * 365 * 86_400) * (1 - 1e-9)
    assert buckets.seconds[:NEAR] == pytest.approx(300.0)
    assert (np.diff(buckets.seconds) >= -1e-6).all()


def without_deadlines(round_: Round, power: float) -> Round:
    jobs = tuple(replace(job, deadline=None) for job in round_.jobs)
    return replace(round_, jobs=jobs, policy=replace(round_.policy, fairness_power=power), outlook=None)


def earned(round_: Round) -> np.ndarray:
    """What service earns, every job a class of its own, up to a factor."""
    instance = build_instance(round_)
    numbers = job_numbers(instance)
    crowd = singly(instance, np.flatnonzero(numbers.planned).tolist())
    buckets = build_buckets(round_.round_seconds, 20 * round_.round_seconds)
    free = free_over_time(instance, numbers, buckets.edges[:-1])
    objective = build_fluid(instance, numbers, crowd, buckets, free).program.objective
    return objective / (float(np.abs(objective).max(initial=0.0)) or 1.0)


@drawn
@given(rounds(), st.integers(0, 2**32))
def test_without_a_fairness_power_nobody_is_held_against_a_fair_share(round_: Round, seed: int) -> None:
    """Whenever a job's fair self is done, its hour is worth as much."""
    rng = random.Random(seed)
    plain = without_deadlines(round_, 0.0)
    jobs = tuple(replace(job, fair_finish_age=rng.uniform(1.0, 1e6)) for job in plain.jobs)
    assert earned(replace(plain, jobs=jobs)) == pytest.approx(earned(plain), rel=1e-9, abs=1e-12)


def test_with_a_fairness_power_of_one_it_is() -> None:
    """Two jobs alike but in when their fair selves are done: whose would be sooner earns more."""
    jobs = [
        builders.job(name, work_left=600.0, fair_finish_age=age) for name, age in (("a", 1e3), ("b", 1e4))
    ]
    round_ = builders.round_of([builders.node("n", "H100", 1)], jobs, now=0.0, round_seconds=300.0)
    soon, late = np.split(earned(without_deadlines(round_, 1.0)), 2)
    assert (soon > late).all()
    same, alike = np.split(earned(without_deadlines(round_, 0.0)), 2)
    assert same == pytest.approx(alike)


@drawn
@given(rounds())
def test_worths_are_within_their_spread_and_a_large_gang_that_never_ran_has_its_least(round_: Round) -> None:
    fluid = fluid_of(round_)
    instance, numbers = fluid.instance, fluid.numbers
    for entry in make_outlook(fluid, solved(fluid), None).jobs:
        j = instance.job_index[entry.job]
        assert 1 / SPREAD <= entry.worth <= SPREAD
        new = numbers.planned[j] and not numbers.running[j] and never_ran(instance.jobs[j])
        if new and whole_node_gang(instance, j) is not None:
            assert entry.worth >= LARGE_GANG


def test_what_a_delay_costs_is_more_for_who_would_soon_be_done() -> None:
    """Two jobs of one round and two of sixteen on two devices, half a device for each alone.

    Alone the short ones end at 600 s and the long ones at 9600; in the plan at 300 and at 5100. So rho is
    300 / 600 and 5100 / 9600, and the worths are as .5 (300 / 600) ** .5 = .354 to
    .531 (300 / 9600) ** .5 = .094; over their median, .224: 1.58 and .42, in sixteenths.
    """
    lengths = {"long-0": 16, "long-1": 16, "short-0": 1, "short-1": 1}
    jobs = [
        builders.job(name, work_left=300.0 * rounds_, submit_time=0.0) for name, rounds_ in lengths.items()
    ]
    round_ = builders.round_of(
        [builders.node("n", "H100", 2)], jobs, now=0.0, round_seconds=300.0, horizon_seconds=3600.0
    )
    outlook = ahead_of(round_)
    assert {entry.job: entry.worth for entry in outlook.jobs} == {
        "long-0": 7 / 16,
        "long-1": 7 / 16,
        "short-0": 25 / 16,
        "short-1": 25 / 16,
    }


@drawn
@given(rounds(), st.floats(10.0, 3_600.0))
def test_the_length_of_a_round_says_nothing_of_how_long_a_job_is(round_: Round, seconds: float) -> None:
    """A job of unknown length is as long in short rounds as in long ones: an hour, or what it has done."""
    new = builders.job("of-unknown-length", work_left=None)
    told = replace(round_, outlook=None, jobs=(*round_.jobs, new))
    lengths = [
        job_numbers(build_instance(replace(told, round_seconds=length))) for length in (seconds, 3_600.0)
    ]
    unknown = np.array([job.work_left is None and job.left_quantiles is None for job in told.jobs])
    np.testing.assert_allclose(lengths[0].left[unknown], lengths[1].left[unknown])
    assert lengths[0].left[-1] == pytest.approx(3_600.0 * lengths[0].reference[-1])
