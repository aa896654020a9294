"""Tracking: a reward for giving jobs the service that the outlook asks for (decision 31).

``w_j req_j^gamma min(relative throughput, need_j)``: full reward up to the need, none beyond, so that the
integer round follows the fluid plan. The need is the outlook's target for this round plus what earlier rounds
owe (:class:`~gangplan.domain.outlook.JobOutlook`). A round without an outlook has nothing to follow. Priority
by target and time received is the round mechanism of Gavel (Narayanan et al., OSDI 2020, section 5); here it
is a term among the others, concave in the service and thus a tabulated coefficient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gangplan.domain.policy import Policy
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.outcome import Outcome

NAME = "tracking"
UNIT = "reference devices at work on a target"
SPREAD_OVER_HORIZON = False


def weight(policy: Policy) -> float:
    """``policy.tracking_weight``."""
    return policy.tracking_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: w times the lesser of V and the V that is needed."""
    return table.weight * np.minimum(table.value, table.needed_value)


def evaluate(outcome: Outcome, facts: RoundFacts) -> float:
    """W req^gamma min(relative throughput, need) of the job; 0 without an outlook."""
    outlook = facts.round.outlook
    if outlook is None:
        return 0.0
    mine = facts.jobs[outcome.job.name]
    return mine.weight * mine.full_value * min(outcome.relative_throughput, outlook.need(outcome.job.name))
