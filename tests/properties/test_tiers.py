"""Tiers: nobody serves one better than its bound, floors are kept, and small rounds are solved as by hand."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.policy import Tier
from gangplan.model.verifier.tiers import served
from gangplan.model.verifier.verify import verify
from gangplan.testing.strategies import rounds

from .planned import drawn, in_depth, planned, slack

TIERS = ((Tier((2,)),), (Tier((2,)), Tier((1,))), (Tier((2,), 0.3), Tier((0, 1))))


@in_depth
def depth():
    """Quick or deep."""


@drawn
@given(rounds("small"), st.sampled_from(TIERS))
def test_every_floor_is_kept_and_no_bound_is_false(round_, tiers):
    tiered = replace(round_, policy=replace(round_.policy, tiers=tiers))
    plain = planned(replace(round_, policy=replace(round_.policy, tiers=())))
    result = planned(tiered)
    counts = served(tiered.policy, verify(tiered, result.plan).outcomes)
    for tier, count, floor in zip(result.quality.tiers, counts, result.plan.tier_floors, strict=True):
        assert abs(tier.value - count) <= 1e-9
        assert floor - 1e-5 <= count <= tier.bound + slack(tier.bound)
    untiered = served(tiered.policy, verify(round_, replace(plain.plan, tier_floors=())).outcomes)
    assert untiered[0] <= result.quality.tiers[0].bound + slack(untiered[0])
    assert result.quality.objective <= result.quality.bound + slack(result.quality.bound)
    assert result.quality.objective <= plain.quality.bound + slack(plain.quality.bound)
