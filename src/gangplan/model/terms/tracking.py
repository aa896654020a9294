"""Tracking: a reward for giving jobs the service that the outlook asks for (decision 31).

``worth_j req_j^gamma min(relative throughput, need_j)``: full reward up to the need, none beyond, so that the
integer round follows the fluid plan. The need is the outlook's target for this round plus what earlier rounds
owe, the worth what it costs the job's end to be passed by (:class:`~gangplan.domain.outlook.JobOutlook`,
``lookahead.worth``). A round without an outlook has nothing to follow. Priority
by target and time received is the round mechanism of Gavel (Narayanan et al., OSDI 2020, section 5); here it
is a term among the others, concave in the service and thus a tabulated coefficient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "tracking"
UNIT = "reference devices at work on a target"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """``policy.tracking_weight``."""
    return round_.policy.tracking_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: the worth times the lesser of V and the V that is needed."""
    return table.target_worth * np.minimum(table.value, table.needed_value)


def evaluate(table: OutcomeTable) -> FloatArray:
    """Worth times req^gamma min(relative throughput, need) of each job; 0 without an outlook."""
    columns, at = table.columns, table.at
    served = np.minimum(table.relative, columns.need[at])
    return columns.need_worth[at] * columns.full_value[at] * served
