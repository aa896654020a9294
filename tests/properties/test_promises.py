"""Promises: both sides read them alike, plans keep them, and waits end (properties P8 and P17)."""

from __future__ import annotations

from hypothesis import assume, given

from gangplan.model.instance.instance import build_instance
from gangplan.model.instance.promises import in_force, run_seconds
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.promised import longest_run, promises_in_force
from gangplan.model.verifier.verify import verify
from gangplan.testing.strategies import rounds

from .planned import drawn, in_depth, planned


@in_depth
def depth():
    """Quick or deep."""


def promising(round_):
    """A round with promises in force."""
    assume(promises_in_force(round_))
    return round_


@drawn
@given(rounds("small").filter(lambda r: r.reservations))
def test_both_sides_agree_on_promises_and_on_who_stops_for_them(round_):
    instance, facts = build_instance(round_), round_facts(round_)
    assert {p.job: p for p in in_force(round_)} == promises_in_force(round_)
    mine = {instance.jobs[j].name: reason for j, reason in instance.forced.items()}
    assert mine == facts.forced
    assert instance.gated == facts.gates.keys()


@drawn
@given(rounds("small"))
def test_both_sides_agree_on_how_long_a_job_runs_at_most(round_):
    instance, facts = build_instance(round_), round_facts(round_)
    for job in round_.jobs:
        mine = run_seconds(job, round_, instance.speeds)
        assert (
            mine == longest_run(job, round_, facts.throughput)
            or abs(mine / longest_run(job, round_, facts.throughput) - 1.0) < 1e-12
        )


@drawn
@given(rounds("small").filter(lambda r: r.reservations))
def test_plans_keep_promises(round_):
    result = planned(round_)
    assert verify(round_, result.plan).violations == ()
