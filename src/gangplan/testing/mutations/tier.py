"""Plans that say of tiers what is not so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.plan import Plan
from gangplan.domain.policy import Tier
from gangplan.domain.round import Round
from gangplan.testing.mutations.registry import breaks


@breaks("tier.floor")
def _promises_more(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    total = sum(job.weight for job in round_.jobs)
    tiered = replace(round_.policy, tiers=(Tier(tuple({job.priority for job in round_.jobs})),))
    yield replace(round_, policy=tiered), replace(plan, tier_floors=(total + 1.0,))
