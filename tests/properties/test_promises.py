"""Promises: both sides read them alike, plans keep them, and no plan within them is better (P17)."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from gangplan.domain.job import WHOLE_DEVICE
from gangplan.model.constraints import promise
from gangplan.model.constraints.claim import in_force as claims_in_force
from gangplan.model.instance.instance import build_instance
from gangplan.model.instance.pace import run_seconds
from gangplan.model.instance.promised_room import limits_of
from gangplan.model.instance.promises import in_force
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.promised import longest_run, promises_in_force
from gangplan.model.verifier.verify import verify
from gangplan.testing.enumerate import TooManyPlansError, best_plan
from gangplan.testing.strategies import promising

from .planned import closed, drawn, in_depth, planned, reached, slack


@in_depth
def depth():
    """Quick or deep."""


@drawn
@given(promising())
def test_both_sides_agree_on_promises_and_on_who_starts_and_stops_for_them(round_):
    instance, facts = build_instance(round_), round_facts(round_)
    assert {promise.job: promise for promise in in_force(round_)} == promises_in_force(round_)
    assert {instance.jobs[j].name: reason for j, reason in instance.forced.items()} == facts.forced
    assert instance.gated == facts.gates.keys()
    mine = {
        instance.jobs[j].name: set(placements)
        for j, placements in instance.placements.items()
        if instance.jobs[j].running is None
    }
    theirs = {name: set(places) for name, places in facts.once(claims_in_force).items()}
    assert mine == theirs


@drawn
@given(promising())
def test_both_sides_agree_on_what_is_kept_in_queues_and_on_whom_it_binds(round_):
    instance, facts = build_instance(round_), round_facts(round_)
    theirs, frozen = {}, set()
    for limit, room in facts.once(promise._rooms).items():
        full = facts.once(promise._outlasting)[limit] > room.rest
        bound = {
            job.name
            for job in round_.jobs
            if limit in facts.once(promise._limits_of)(job.name) and promise._outlasts(job, limit, facts)
        }
        if full:
            running = {job.name for job in round_.jobs if job.running is not None} - facts.forced.keys()
            frozen |= bound & running
            bound -= running
        theirs[limit.queue, limit.kind or None, 0 if full else room.rest // WHOLE_DEVICE] = bound
    assert not any(
        job.capabilities.movable or job.capabilities.resizable for job in instance.jobs if job.name in frozen
    )
    mine = {}
    for name, queue in instance.limits.keeps_room.items():
        room = instance.limits.queues[name]
        ((kind, limit),) = limits_of(room)
        counted = {job.name for job in round_.jobs if name in instance.limits.chain(job)}
        mine[queue, kind, limit] = counted
    assert mine == theirs


@drawn
@given(promising())
def test_both_sides_agree_on_how_long_a_job_runs_at_most(round_):
    instance, facts = build_instance(round_), round_facts(round_)
    for job in round_.jobs:
        theirs = longest_run(job, round_, facts.throughput)
        assert run_seconds(job, round_, instance.speeds) == pytest.approx(theirs, rel=1e-12)


@drawn
@given(promising())
def test_plans_keep_promises_and_make_none_that_they_cannot_keep(round_):
    result = planned(round_)
    assert verify(round_, result.plan).violations == ()
    assert "no promise was made" not in result.detail


@drawn
@given(promising("tiny"))
def test_no_plan_within_the_promises_is_better_than_the_bound(round_):
    try:
        best = best_plan(round_, max_plans=3_000)
    except TooManyPlansError:
        assume(False)
    result = planned(round_)
    assert result.quality.bound >= best.objective - slack(best.objective)
    if closed(result):
        assert abs(reached(result) - best.objective) <= slack(best.objective)
