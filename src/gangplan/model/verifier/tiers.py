"""How well a plan serves the tiers of a policy, by the verifier's own count (decision 8)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gangplan.domain.policy import Policy
from gangplan.model.verifier.outcome import Outcome, Status

_RUNS = (Status.KEPT, Status.STARTED, Status.MOVED, Status.RESIZED)


def served(policy: Policy, outcomes: Mapping[str, Outcome]) -> tuple[float, ...]:
    """The summed weights of the jobs that run, by tier; a class counts in the first tier that names it."""
    counts: list[list[float]] = [[] for _ in policy.tiers]
    if not counts:
        return ()
    for outcome in outcomes.values():
        if outcome.status in _RUNS:
            for tier, each in enumerate(policy.tiers):
                if outcome.job.priority in each.priorities:
                    counts[tier].append(outcome.job.weight)
                    break
    return tuple(math.fsum(count) for count in counts)
