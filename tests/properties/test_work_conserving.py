"""Whatever the policy, nothing of worth is left lying about (decision 48).

At the optimum no job that waits could be placed on what is free and be worth something by it: that plan would
be better. It holds for every form of fairness because what a form makes of a job's service grows from 0 with
its speed. A policy whose terms cost more than the service is worth keeps a job waiting; that is no waste.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given

from gangplan.domain.job import Capabilities
from gangplan.domain.plan import ActionKind, Plan
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.presets import PRESETS
from gangplan.domain.round import Round
from gangplan.model.verifier.verify import verify
from gangplan.testing.apply import apply
from gangplan.testing.builders import job, node, round_of
from gangplan.testing.strategies import rounds

from .planned import closed, drawn, in_depth, planned, slack

STOPS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
FROZEN = Capabilities(pausable=False, movable=False, resizable=False)


@in_depth
def depth():
    """Quick or deep."""


def with_more(round_: Round, plan: Plan) -> Plan:
    """The plan and whatever else the engine would start beside it, nobody disturbed."""
    waiting = {one.name for one in round_.jobs if one.running is None}
    after = apply(round_, plan)
    still = tuple(one if one.running is None else replace(one, capabilities=FROZEN) for one in after.jobs)
    more = planned(replace(after, jobs=still)).plan
    there = {action.job for action in plan.actions}
    stops = tuple(action.id for action in plan.actions if action.kind in STOPS)
    added = tuple(
        replace(action, id=f"more:{action.job}", depends_on=stops)
        for action in more.actions
        if action.kind is ActionKind.PLACE and action.job in waiting and action.job not in there
    )
    return Plan((*plan.actions, *added))


@drawn
@given(rounds("small"))
def test_no_waiting_job_could_be_placed_for_free_at_the_optimum(round_):
    result = planned(round_)
    if not closed(result):
        return
    more = verify(round_, with_more(round_, result.plan))
    assert more.violations or more.objective <= result.quality.objective + slack(result.quality.objective)


def test_the_property_would_notice():
    """With a plan that leaves all lying about, there is more to be had."""
    round_ = round_of([node("n", "H100", 2)], [job("a"), job("b")])
    assert len(with_more(round_, Plan()).actions) == 2


@pytest.mark.parametrize("name", [*PRESETS, *(form.value for form in FairnessForm)])
def test_whatever_the_policy_five_jobs_that_fit_all_run(name):
    """Eight devices; one device, one of another type, a gang, one that was served for long, one of unknown
    work: together eight."""
    policy = PRESETS[name].policy if name in PRESETS else Policy(fairness_forms={FairnessForm(name): 1.0})
    fields = {"submit_time": 999_000.0, "work_left": 1e6}
    jobs = [
        job("one", **fields),
        job("slow", types=["V100"], **fields),
        job("gang", gpus=4, **fields),
        replace(job("served", work_done=1e9, **fields), service_received_device_seconds=1e9),
        job("unknown", submit_time=999_000.0),
    ]
    nodes = [node("n", "H100", 7), node("v", "V100", 1)]
    round_ = round_of(nodes, jobs, types={"H100": 1.0, "V100": 0.05}, now=1e6, policy=policy)
    result = planned(round_)
    assert Counter(action.kind for action in result.plan.actions) == {ActionKind.PLACE: 5}
