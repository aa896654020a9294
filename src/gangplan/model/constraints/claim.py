"""Claim: who was promised a place that others are freeing starts there, and nowhere else (property P8).

A claim of the round that is in force must be taken: since its job then holds the place, nobody else can.
Claims that can no longer be taken (a node is gone, others run there by now, a quota was cut) are void. A
promise that is due (decision 19) is a claim like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gangplan.model.constraints import capacity, eligibility, gang, gate, headroom, promise, quota, topology
from gangplan.model.verifier.claimed import claims_in_force
from gangplan.model.verifier.holding import holding
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.domain.job import TaskPlacement
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.reading import Reading

NAME = "claim"
RULES = ("claim.not-taken",)


def violations(reading: Reading) -> list[Violation]:
    """Claims in force whose job starts elsewhere, or not at all."""
    if not reading.round.claims and not reading.facts.due:
        return []
    found: list[Violation] = []
    for name, placements in reading.facts.once(in_force).items():
        change = reading.changes[name]
        if change.after != holding(placements):
            action = change.action.id if change.action else ""
            where = ", ".join(sorted({placement.node for placement in placements}))
            message = f"{name} has a claim on {where}, and does not start there"
            found.append(Violation("claim.not-taken", name, "", action, message))
    return found


def in_force(facts: RoundFacts) -> dict[str, tuple[TaskPlacement, ...]]:
    """Claims in force by job."""
    families = (capacity, eligibility, gang, gate, headroom, quota, topology)
    return claims_in_force(facts, [*(family.violations for family in families), promise.delays])
