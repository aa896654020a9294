"""Guarantees: no raw plan meets more of them than the bound, nor than an answer that is closed (P16)."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gangplan.domain.round import Round
from gangplan.errors import TooManyPlansError
from gangplan.model.verifier.guarantees import held_by_guaranteed, met
from gangplan.model.verifier.verify import verify
from gangplan.testing.enumerate import best_guaranteed
from gangplan.testing.strategies import guaranteed

from .planned import drawn, in_depth, planned, slack

few = settings(drawn, max_examples=settings().max_examples // 6)
"""Each example is planned once or twice, and looked at from all sides."""


@in_depth
def depth():
    """Quick or deep."""


def met_by(round_: Round, plan) -> float:
    """Devices of all guarantees that a plan meets."""
    return sum(met(round_, held_by_guaranteed(round_, verify(round_, plan).outcomes)).values())


@few
@given(guaranteed("tiny"))
def test_no_raw_plan_meets_more(round_):
    result = planned(round_)
    quality = result.quality.guarantees
    try:
        truth = best_guaranteed(round_, max_plans=3_000)
    except TooManyPlansError:
        assume(False)
    most = met_by(round_, truth.plan)
    assert most <= quality.bound + slack(quality.bound)
    assert most >= quality.value - slack(most)
    if quality.bound - quality.best <= slack(quality.bound):
        assert abs(most - quality.value) <= slack(most)
    held = held_by_guaranteed(round_, truth.verification.outcomes)
    if all(held[queue] >= floor for queue, floor in result.plan.guarantee_floors.items()):
        assert truth.objective <= result.quality.bound + slack(result.quality.bound)


@few
@given(guaranteed("small"), st.sampled_from(("full", "greedy")))
def test_every_floor_is_kept_and_no_bound_is_false(round_, pipeline):
    result = planned(round_, pipeline=pipeline)
    quality = result.quality.guarantees
    assert verify(round_, result.plan).violations == ()
    assert abs(met_by(round_, result.plan) - quality.value) <= 1e-9
    assert sum(result.plan.guarantee_floors.values()) - 1e-5 <= quality.value <= quality.bound + 1e-6
    have = met(round_, held_by_guaranteed(round_, verify(round_, result.plan).outcomes))
    told = {notice.field for notice in result.notices if notice.code == "GUARANTEE_UNMET"}
    short = {
        f"queues[{i}].device_guarantee"
        for i, queue in enumerate(round_.queues)
        if have.get(queue.name, 0.0) < (queue.device_guarantee or 0)
    }
    assert told <= short
    plain = planned(replace(round_, queues=tuple(replace(q, device_guarantee=None) for q in round_.queues)))
    assert met_by(round_, plain.plan) <= quality.bound + slack(quality.bound)
    assert result.quality.objective <= result.quality.bound + slack(result.quality.bound)
    assert result.quality.objective <= plain.quality.bound + slack(plain.quality.bound)
