"""Headroom stops nobody, idle work is stopped at its time, and both sides see both alike."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.job import Interactive
from gangplan.domain.plan import Action, ActionKind, ForcedReason, Plan
from gangplan.domain.round import Round
from gangplan.model.constraints import headroom
from gangplan.model.instance.instance import build_instance
from gangplan.model.instance.limits import HEADROOM
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.verify import verify
from gangplan.testing.strategies import rounds
from gangplan.testing.strategies.draw import NOW

from .planned import drawn, planned


@drawn
@given(rounds("small"), st.integers(0, 12))
def test_both_sides_leave_the_same_devices_to_others(round_: Round, devices: int) -> None:
    kinds = sorted(entry.name for entry in round_.accelerators)
    round_ = replace(round_, policy=replace(round_.policy, headroom=dict.fromkeys(kinds, devices)))
    theirs = headroom.left_to_others(round_facts(round_))
    limits = build_instance(round_).limits.queues
    mine = limits[HEADROOM].device_limit_by_type if devices else {}
    assert {kind: 1000 * count for kind, count in mine.items()} == theirs


@drawn
@given(rounds("small"), st.integers(1, 12))
def test_whatever_the_headroom_who_runs_may_go_on(round_: Round, devices: int) -> None:
    kinds = sorted(entry.name for entry in round_.accelerators)
    round_ = replace(
        round_, claims=(), policy=replace(round_.policy, headroom=dict.fromkeys(kinds, devices), tiers=())
    )
    forced = round_facts(round_).forced
    stay = [
        Action(f"a/{job.name}", ActionKind.EVICT, job.name, forced=forced[job.name])
        if job.name in forced
        else Action(f"a/{job.name}", ActionKind.KEEP, job.name, job.running.placements)
        for job in round_.jobs
        if job.running is not None
    ]
    rules = {violation.rule for violation in verify(round_, Plan(tuple(stay))).violations}
    assert "headroom.taken" not in rules


@drawn
@given(rounds("small"), st.sampled_from((59.9, 60.0, 60.1)))
def test_idle_work_is_stopped_at_its_time(round_: Round, idle: float) -> None:
    """Whoever runs is idle for about its limit: at 60 s all of them are stopped, and none starts."""
    wishes = Interactive(300.0, 60.0, NOW - idle)
    jobs = tuple(replace(job, interactive=wishes if job.running else None) for job in round_.jobs)
    round_ = replace(round_, jobs=jobs, claims=())
    actions = {action.job: action for action in planned(round_, pipeline="greedy").plan.actions}
    for job in round_.jobs:
        if job.running is None:
            continue
        action = actions[job.name]
        if idle >= 60.0:
            assert (action.kind, action.forced is not None) == (ActionKind.EVICT, True)
        else:
            assert action.forced is not ForcedReason.IDLE
