"""Tier: a plan serves every tier as well as it says (decision 8).

Tiers are over placed or not alone and decided in turn: what a stage reached, less the tier's tolerance, is a
row in every later stage, never a large weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.formulation.rows import Rows
from gangplan.model.verifier.reading import OutcomesByJob
from gangplan.model.verifier.tiers import served
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.formulation.layout import Layout
    from gangplan.model.verifier.reading import Reading

NAME = "tier"
RULES = ("tier.floor",)
TOLERANCE = 1e-6
"""Absolute slack of a count."""


def violations(reading: Reading) -> list[Violation]:
    """Tiers that the plan serves less well than it says, and floors of tiers that there are not."""
    floors = reading.plan.tier_floors
    if not floors:
        return []
    counts = served(reading.round.policy, OutcomesByJob(reading.changes))
    found = [
        Violation("tier.floor", message=f"{count:g} of {floor:g} promised to tier {tier} run")
        for tier, (count, floor) in enumerate(zip(counts, floors, strict=False))
        if count < floor - TOLERANCE
    ]
    if len(floors) > len(counts):
        message = f"{len(floors)} floors are declared for {len(counts)} tiers"
        found.append(Violation("tier.floor", message=message))
    return found


def rows(layout: Layout) -> Rows:
    """The weighted count of every decided tier is at least its floor."""
    instance, found = layout.instance, Rows()
    chosen = np.flatnonzero(layout.option_column >= 0)
    kept = np.flatnonzero(layout.keep_column >= 0)
    columns = np.concatenate([layout.option_column[chosen], layout.keep_column[kept]])
    for weight, floor in zip(instance.tiers, instance.floors, strict=False):
        counts = np.concatenate([weight[instance.option_class[chosen]], weight[kept]])
        found.add_arrays(columns, counts, lower=floor - TOLERANCE)
    return found
