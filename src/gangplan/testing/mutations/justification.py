"""Disruptions that nobody gains by."""

from __future__ import annotations

from collections.abc import Iterator

from gangplan.domain.plan import ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.testing.edits import unforced, with_action
from gangplan.testing.mutations.registry import breaks


@breaks("justification.none")
def _for_nobody(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in unforced(plan):
        yield round_, with_action(plan, action, beneficiaries=())


@breaks("justification.no-gain")
def _for_the_wrong_one(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    gainers = {
        action.job for action in plan.actions if action.kind not in (ActionKind.KEEP, ActionKind.EVICT)
    }
    for action in unforced(plan):
        for name in ("no such job", *(job.name for job in round_.jobs if job.name not in gainers)):
            yield round_, with_action(plan, action, beneficiaries=(*action.beneficiaries, name))


@breaks("justification.needless")
def _for_no_reason(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.forced is not None or action.kind in (ActionKind.KEEP, ActionKind.PLACE):
            yield round_, with_action(plan, action, beneficiaries=(action.job,))
