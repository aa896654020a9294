"""Plans that let a claim lapse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.plan import ActionKind, Claim, Plan
from gangplan.domain.round import Round
from gangplan.testing.mutations.registry import breaks


@breaks("claim.not-taken")
def _claimed_elsewhere(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.kind is ActionKind.PLACE and not any(p.shares for p in action.placements):
            claim = Claim(action.job, action.placements, round_.now + 1.0)
            without = tuple(a for a in plan.actions if a is not action)
            alone = all(a.kind is ActionKind.KEEP for a in without)
            if alone:
                yield replace(round_, claims=(claim,)), replace(plan, actions=without)
