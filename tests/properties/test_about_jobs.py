"""Places, explanations and shares: what is told of a job is what the verifier and the raw enumerator say."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.columns import Columns
from gangplan.domain.job import Running, TaskPlacement
from gangplan.domain.plan import Claim, Plan, VerdictKind
from gangplan.domain.round import Round
from gangplan.engine.explain_job import applied, explain_job, opened, starts, with_copies
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.recommend import recommend
from gangplan.engine.round import plan_round
from gangplan.model.constraints.claim import in_force
from gangplan.model.instance.entitlement import Entitlement
from gangplan.model.instance.instance import build_instance
from gangplan.model.instance.weights import base_weights
from gangplan.model.verifier.shares import fair_shares
from gangplan.model.verifier.verify import Verification, verify
from gangplan.testing.enumerate import _Choice, _Enumeration
from gangplan.testing.strategies import leaving, rounds

NEAR = 1e-6


def raw_places(round_: Round, job: str) -> Iterator[Verification]:
    """Every raw assignment of a waiting job beside all that runs, as far as the verifier accepts it."""
    seen = _Enumeration(round_, raw=bool(round_.claims), max_plans=100_000)
    alone = {one.name: seen._choices(one, list(seen._ways(one))) for one in round_.jobs}
    owed = {name: set(placements) for name, placements in seen.facts.once(in_force).items()}
    kept = {name: _kept(choices, owed.get(name)) for name, choices in alone.items() if name != job}
    if any(choice is None for choice in kept.values()):
        return
    for choice in alone[job]:
        if choice.placements:
            found = seen._judge({**kept, job: choice})  # type: ignore[dict-item]
            if found.valid:
                yield found


def _kept(choices: list[_Choice], owed: set[TaskPlacement] | None) -> _Choice | None:
    """To stay, for who runs; to wait, for who does not, or to start at its claim; None: it can do neither."""
    if owed is not None:
        return next((choice for choice in choices if set(choice.placements) == owed), None)
    kinds = {None if choice.kind is None else choice.kind.value: choice for choice in choices}
    return kinds.get("KEEP", kinds.get(None))


def waiting(round_: Round) -> list[str]:
    return [job.name for job in round_.jobs if job.running is None]


@settings(max_examples=25)
@given(st.one_of(rounds("tiny"), leaving("tiny")))
def test_places_are_verified_and_worth_what_the_verifier_says(round_):
    for job in (one.name for one in round_.jobs[:2]):
        found = recommend(round_, job, limit=4)
        assert len(found.places) <= 4
        values = [place.value for place in found.places]
        assert all(a >= b - NEAR for a, b in itertools.pairwise(values))
        running = {one.name for one in round_.jobs if one.running is not None}
        for place in found.places:
            judged = verify(round_, place.plan)
            assert judged.valid, judged.violations
            assert math.isclose(judged.objective, found.value_without + place.value, abs_tol=NEAR)
            assert math.isclose(sum(place.value_by_term.values()), place.value, abs_tol=NEAR)
            runs = {one.job for one in place.plan.actions if one.placements}
            assert job in runs
            assert set(place.evicted) <= running - runs
        assert (found.verdict is None) or not found.places


@settings(max_examples=25)
@given(rounds("tiny"))
def test_no_raw_place_is_better_than_the_best(round_):
    """Beside all that runs; what is left free may tell nodes apart that are alike to the options."""
    round_ = replace(round_, claims=(), policy=replace(round_.policy, fragmentation_weight=0.0))
    for job in waiting(round_)[:2]:
        found = recommend(round_, job, limit=1, evictions=False)
        best = max((each.objective for each in raw_places(round_, job)), default=None)
        if best is not None:
            assert found.places
            assert found.value_without + found.places[0].value >= best - NEAR


def planned(round_: Round) -> Plan:
    how = PlanParameters(pipeline="greedy", time_budget_seconds=60.0)
    return plan_round(round_, how).plan


@settings(max_examples=20)
@given(st.one_of(rounds("tiny"), leaving("tiny")))
def test_explanations_are_sound(round_):
    """P18: with what is named changed it starts, with what is named kept it does not, by the enumerator."""
    plan = planned(round_)
    runs = {one.job for one in plan.actions if one.placements}
    for job in [name for name in waiting(round_) if name not in runs][:2]:
        found = explain_job(round_, plan, job)
        assert found.verdict is not None
        for change in found.verdict.counterfactuals:
            changed = applied(round_, job, change)
            witness = starts(changed, job, plan)
            assert witness is not None
            assert verify(changed, witness).valid
            assert any(one.job == job and one.placements for one in witness.actions)
            for_worth = found.verdict.kind is VerdictKind.NOT_CHOSEN or found.verdict.code == "RESIDUAL_VALUE"
            assert for_worth or starts(round_, job, plan) is None
        holders = {each.removeprefix("job:") for each in found.verdict.conflict_set if each[:4] == "job:"}
        if holders:
            assert not any(raw_places(beside(round_, plan, job, holders), job))


@st.composite
def claimed_while_closed(draw: st.DrawFn) -> Round:
    """A round with closed nodes, empty but for the claim there of a job that waits, if it can have one."""
    round_ = replace(draw(rounds("tiny")), claims=(), reservations=(), outlook=None)
    there = {node.name for node in round_.cluster.nodes}
    like = draw(st.sampled_from(sorted(there)))
    round_ = with_copies(round_, like, draw(st.integers(1, 2)))
    nodes = [node for node in round_.cluster.nodes if node.name not in there]
    closed = replace(
        round_.cluster,
        nodes=tuple(replace(n, cordoned=n.cordoned or n in nodes) for n in round_.cluster.nodes),
    )
    empty = replace(round_.cluster, nodes=tuple(nodes))
    round_ = replace(round_, cluster=closed)
    runs = {one.job for one in planned(round_).actions if one.placements}
    for job in [one for one in round_.jobs if one.running is None and one.name not in runs][:1]:
        witness = starts(replace(round_, jobs=(job,), cluster=empty), job.name, Plan())
        if witness is not None:
            claim = Claim(job.name, witness.actions[0].placements, round_.now + 600.0)
            round_ = replace(round_, claims=(claim,))
    return round_


@settings(max_examples=25)
@given(claimed_while_closed())
def test_nodes_that_open_are_named_where_a_claim_on_them_leaves_room(round_):
    """Wherever the raw enumerator finds a place on them, beside the plan and beside who has the claim."""
    plan = planned(round_)
    runs = {one.job for one in plan.actions if one.placements}
    closed = [node.name for node in round_.cluster.nodes if node.cordoned]
    gated = build_instance(round_).gated
    others = {claim.job for claim in round_.claims} | runs
    for job in [name for name in waiting(round_) if name not in runs | gated][:3]:
        verdict = explain_job(round_, plan, job).verdict
        assert verdict is not None
        change = next((each for each in verdict.counterfactuals if each.nodes), None)
        if change is not None:
            witness = starts(applied(round_, job, change), job, plan)
            assert witness is not None
            assert verify(applied(round_, job, change), witness).valid
        elif verdict.code != "QUEUE_LIMIT" and starts(round_, job, plan) is None:
            assert not any(raw_places(beside(opened(round_, closed), plan, job, others), job))


def beside(round_: Round, plan: Plan, job: str, holders: set[str]) -> Round:
    """Nobody but the job and those in its way, which run where the plan has them, if it has."""
    places = {one.job: one.placements for one in plan.actions if one.placements}
    return replace(
        round_,
        outlook=None,
        jobs=tuple(
            one
            if one.name == job or one.name not in places
            else replace(one, running=Running(places[one.name]))
            for one in round_.jobs
            if one.name == job or one.name in holders
        ),
    )


@settings(max_examples=25)
@given(rounds("tiny"))
def test_jobs_that_run_are_told_why_there(round_):
    plan = planned(round_)
    for action in [one for one in plan.actions if one.placements][:2]:
        found = explain_job(round_, plan, action.job)
        assert found.verdict is None
        assert found.action == action
        for place in found.alternatives:
            assert verify(round_, place.plan).valid
            assert place.evicted == ()
        if found.margin is not None:
            here = verify(round_, plan).objective
            there = verify(round_, found.alternatives[0].plan).objective
            assert found.margin == pytest.approx(here - there, abs=NEAR)


@settings(max_examples=40)
@given(rounds("small"))
def test_shares_sum_to_what_there_is_and_are_the_models_own(round_):
    found = fair_shares(round_)
    instance = build_instance(round_)
    base = base_weights(round_, Columns(instance.jobs))
    waits = np.array(
        [job.running is None and job.name in instance.gated for job in instance.jobs], dtype=bool
    )
    fleet = {
        t: sum(node.usable_device_count for node in round_.cluster.nodes if node.accelerator_type == name)
        for t, name in enumerate(instance.speeds.type_names)
    }
    owed = Entitlement(round_, instance.jobs, np.where(waits, 0.0, base), instance.speeds, fleet)
    by_name = {each.job: each for each in found.jobs}
    for j, job in enumerate(instance.jobs):
        mine = by_name[job.name]
        assert mine.share == pytest.approx(owed.shares()[j], abs=1e-9)
        assert mine.entitled_devices == pytest.approx(owed.devices()[j], abs=1e-9)
        assert mine.equal_throughput == pytest.approx(owed.equal_rate()[j], rel=1e-9, abs=1e-9)
        assert mine.isolated_throughput == pytest.approx(instance.fair_rate[j], rel=1e-9, abs=1e-9)
        assert mine.weight == pytest.approx(instance.weight[j], rel=1e-9, abs=1e-9)
        for ratio in (mine.fairness_ratio, mine.device_time_ratio, mine.effective_throughput_ratio):
            assert 0.25 <= ratio <= 8.0
    if not waits.all():
        assert sum(each.share for each in found.jobs) == pytest.approx(1.0)
        for name, count in found.usable_devices_by_type.items():
            assert sum(each.devices_by_type[name] for each in found.jobs) == pytest.approx(count)
    children: dict[str | None, float] = {}
    for queue in round_.queues:
        share = next(each.share for each in found.queues if each.queue == queue.name)
        children[queue.parent] = children.get(queue.parent, 0.0) + share
    for each in found.queues:
        direct = sum(one.share for one in found.jobs if one.queue == each.queue)
        assert each.share == pytest.approx(direct + children.get(each.queue, 0.0), abs=1e-9)
