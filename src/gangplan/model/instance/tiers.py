"""Tiers as arrays: what a job that runs counts in which tier (decision 8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gangplan.domain.job import Job
from gangplan.domain.policy import Policy
from gangplan.model.program import FloatArray, IntArray


def tier_of(policy: Policy) -> dict[int, int]:
    """The tier of every class of priority that is in one; the first that names it."""
    found: dict[int, int] = {}
    for tier, each in enumerate(policy.tiers):
        for priority in each.priorities:
            found.setdefault(priority, tier)
    return found


def tier_weights(policy: Policy, jobs: Sequence[Job], first: IntArray) -> FloatArray:
    """Shape (tiers, classes): a member's own weight in its tier, 0 elsewhere; ``first`` has one of each."""
    tiers = tier_of(policy)
    found = np.zeros((len(policy.tiers), len(first)), dtype=np.float64)
    for c, j in enumerate(first.tolist() if tiers else ()):
        tier = tiers.get(jobs[j].priority)
        if tier is not None:
            found[tier, c] = jobs[j].weight
    return found
