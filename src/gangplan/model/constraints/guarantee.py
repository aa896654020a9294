"""Guarantee: every queue holds as much of what it is guaranteed as the plan says (property P16; decision 8).

What is met is the sum over queues of min(devices guaranteed, devices that the subtree holds). It is made as
large as can be before tiers and terms count (:mod:`gangplan.engine.guarantees`): others give way for it, as
far as their own guarantees and what may be done to them let them. What each queue then has is its floor, a
row of every later stage: no large weight, and no queue is brought below what it is guaranteed for the good of
a job that is worth more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.formulation.rows import Rows
from gangplan.model.verifier.guarantees import held_by_guaranteed, met
from gangplan.model.verifier.reading import OutcomesByJob
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.formulation.layout import Layout
    from gangplan.model.verifier.reading import Reading

NAME = "guarantee"
RULES = ("guarantee.floor",)
TOLERANCE = 1e-6
"""Absolute slack, devices."""


def violations(reading: Reading) -> list[Violation]:
    """Queues that hold less of what they are guaranteed than the plan says."""
    floors = reading.plan.guarantee_floors
    if not floors:
        return []
    have = met(reading.round, held_by_guaranteed(reading.round, OutcomesByJob(reading.changes)))
    found = []
    for queue, floor in sorted(floors.items()):
        if have.get(queue, 0.0) < floor - TOLERANCE:
            message = (
                f"queue {queue} would hold {have[queue]:g} of {floor:g} devices that the plan says it has"
                if queue in have
                else f"queue {queue} is guaranteed nothing; the plan says that it has {floor:g} devices of it"
            )
            found.append(Violation("guarantee.floor", message=message))
    return found


def rows(layout: Layout) -> Rows:
    """Devices held by the subtree of every queue that is decided are at least its floor."""
    instance, found = layout.instance, Rows()
    if not instance.guarantee_floors:
        return found
    guarantees = instance.guarantees
    chosen = np.flatnonzero(layout.option_column >= 0)
    kept = np.flatnonzero(layout.keep_column >= 0)
    columns = np.concatenate([layout.option_column[chosen], layout.keep_column[kept]])
    for g, name in enumerate(guarantees.names):
        floor = instance.guarantee_floors.get(name, 0.0)
        if floor > 0.0:
            devices = np.concatenate([guarantees.option[g][chosen], guarantees.keep[g][kept]])
            found.add_arrays(columns, devices, lower=floor - TOLERANCE)
    return found
