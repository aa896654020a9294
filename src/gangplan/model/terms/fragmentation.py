"""Fragmentation: the rest of a device that a large part of it leaves, and that nobody can be expected to use.

Minus the devices that a job makes useless: ``1 - s`` for a part ``s`` of a device of at least ``b``, else 0.
The round says ``b``: of the parts that its jobs ask for, one above half a device such that most is lost

    L(b) = sum over jobs with s >= b of (1 - s) - sum over jobs with s <= 1 - b of s,

the largest of equals; there is none where nothing is lost by any. For at most one part of ``b`` or more lies
on a device, and beside it only parts of ``1 - b`` or less: L(b) is what must stay empty even if they are all
put there. By that much the bound of Martello and Toth on the bins that items need ("Knapsack Problems:
Algorithms and Computer Implementations", 1990, section 8.3.2) lies above the sum of what is asked for.

The unit is devices, whatever the job weighs, and what runs where it is costs nothing: it has its place.

With a weight of v, a part of at least ``b`` is started only where its work is worth more than v times the
rest that it leaves. That pays where more will come than there is room for: a device at work is worth 1, and
one that is left free is worth p, the chance that somebody uses all of it later; who takes part s of it now at
the cost of the rest gains s - p, which is above 0 if and only if s > v (1 - s) with v = p / (1 - p). So a
weight of 5 says that a free device is as good as used to five sixths. Where devices stay free, the weight
is 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.verifier.outcome import Status

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "fragmentation"
UNIT = "devices that nobody can use"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """``policy.fragmentation_weight``."""
    return round_.policy.fragmentation_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: minus the rest of the device."""
    return -table.stranded


def evaluate(table: OutcomeTable) -> FloatArray:
    """Minus the rest of the device that each newly placed part leaves, if it is a large one."""
    found = np.zeros(len(table))
    large = table.facts.once(_large)
    if large is None:
        return found
    outcomes = table.outcomes()
    for row in np.flatnonzero(table.done(Status.STARTED, Status.MOVED, Status.RESIZED)).tolist():
        outcome, lost = outcomes[row], 0
        for group in outcome.job.component.task_groups:
            part = group.device_share
            if part is not None and part.compute_milli >= large:
                lost += outcome.counts.get(group.name, 0) * (1000 - part.compute_milli)
        found[row] = -lost / 1000
    return found


def _large(facts: RoundFacts) -> int | None:
    """The least part that is large, thousandths; None where no part is.

    Every distinct part above one half is tried, and every job asked.
    """
    if not facts.round.policy.fragmentation_weight:
        return None
    parts = [
        group.device_share.compute_milli
        for job in facts.round.jobs
        for group in job.component.task_groups
        if group.device_share is not None
        for _ in range(group.count)
    ]
    best, least = 0, None
    for part in sorted({part for part in parts if part > 500}, reverse=True):
        lost = 0
        for other in parts:
            if other >= part:
                lost += 1000 - other
            elif other <= 1000 - part:
                lost -= other
        if lost > best:
            best, least = lost, part
    return least
