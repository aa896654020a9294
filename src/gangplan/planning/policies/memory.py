"""What a policy remembers from round to round: in its own answer, where the next round finds it."""

from __future__ import annotations

import json
from typing import Any

from gangplan.domain.plan import Plan, Quality, RoundResult, TerminationLimit, TerminationReason

_UNKNOWN = Quality(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def remembering(plan: Plan, memory: dict[str, Any], pipeline: str) -> RoundResult:
    """An answer with a plan and what JSON can say; nothing is said of the plan's quality in our terms.

    Args:
        plan: the decision.
        memory: for :func:`remembered` in the next round.
        pipeline: name of the policy.
    """
    return RoundResult(
        plan=plan,
        verdicts=(),
        notices=(),
        quality=_UNKNOWN,
        reason=TerminationReason.FEASIBLE,
        limit=TerminationLimit.NONE,
        pipeline=pipeline,
        warm_start=json.dumps(memory, sort_keys=True).encode(),
    )


def remembered(before: RoundResult | None, policy: str) -> dict[str, Any]:
    """What the policy of that name put into its last answer; nothing at first, and of another's answer."""
    if before is None or before.pipeline != policy or not before.warm_start:
        return {}
    found: dict[str, Any] = json.loads(before.warm_start)
    return found
