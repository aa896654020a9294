"""Claims: both sides read them alike, and a plan under way is gone on with (property P8)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from gangplan.domain.plan import ActionKind
from gangplan.model.constraints.claim import in_force
from gangplan.model.instance.instance import build_instance
from gangplan.model.verifier.facts import round_facts
from gangplan.testing.apply import begin
from gangplan.testing.strategies import rounds

from .planned import drawn, in_depth, planned


@in_depth
def depth():
    """Quick or deep."""


@drawn
@given(rounds("small"))
def test_both_sides_agree_on_the_claims_in_force(round_):
    instance = build_instance(round_)
    mine = {
        instance.jobs[j].name: set(placements)
        for j, placements in instance.placements.items()
        if instance.jobs[j].running is None
    }
    theirs = {name: set(placements) for name, placements in round_facts(round_).once(in_force).items()}
    assert mine == theirs


@drawn
@given(rounds("small"))
def test_who_waits_for_a_stop_still_starts_there_while_it_is_under_way(round_):
    """Without limits: a queue that is over its limit gets back nothing that it has once given up."""
    wide = tuple(replace(q, device_limit=None, device_limit_by_type={}) for q in round_.queues)
    round_ = replace(round_, queues=wide)
    plan = planned(round_).plan
    targets = {claim.job: claim.placements for claim in plan.claims if claim.expires_at > round_.now}
    waiting = {
        a.job for a in plan.actions if a.kind is ActionKind.PLACE and a.depends_on and a.job in targets
    }
    again = {action.job: action for action in planned(begin(round_, plan)).plan.actions}
    for name in waiting:
        assert again[name].kind is ActionKind.PLACE
        assert again[name].placements == targets[name]
