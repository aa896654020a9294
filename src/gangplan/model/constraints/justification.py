"""Justification: every disruption by choice says for whose good it is (property P5).

A voluntary EVICT names one or more jobs, each of which the same plan places, moves or resizes up. A voluntary
MIGRATE or RESIZE names such jobs, or itself when it is for its own good. Nothing else names anyone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gangplan.model.verifier.outcome import Status
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.verifier.reading import Reading

NAME = "justification"
RULES = ("justification.none", "justification.no-gain", "justification.needless")


def violations(reading: Reading) -> list[Violation]:
    """Disruptions for nobody's good, and beneficiaries that gain nothing."""
    found: list[Violation] = []
    judged = dict(reading.changed)
    for action in reading.plan.actions:
        if action.beneficiaries and action.job in reading.changes:
            judged[action.job] = reading.changes[action.job]
    for name, change in judged.items():
        if change.action is None:
            continue
        named = change.action.beneficiaries
        if not change.disruptive:
            if named:
                message = f"{name} names beneficiaries, but is not disrupted by choice"
                found.append(Violation("justification.needless", name, "", change.action.id, message))
            continue
        if not named:
            message = f"{name} is disrupted for nobody's good"
            found.append(Violation("justification.none", name, "", change.action.id, message))
        for other in named:
            if other == name:
                gains = change.status is not Status.EVICTED
            else:
                gains = other in reading.changes and reading.changes[other].gains
            if not gains:
                message = f"{name} is disrupted for {other!r}, which gains nothing in this plan"
                found.append(Violation("justification.no-gain", name, "", change.action.id, message))
    return found
