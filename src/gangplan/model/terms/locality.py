"""Locality: a spread wider than the job prefers costs.

``-w_j req_j`` when the component's scope is wider than its ``preferred_level``. What a spread does to the
job's speed is in its throughput already (measured by scope; assumed monotone nowhere); this is the preference
on top. Required levels are constraints, not costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "locality"
UNIT = "weighted requested devices spread too wide"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """``policy.locality_weight``."""
    return round_.policy.locality_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: - w req where the spread is wider than preferred."""
    return np.where(table.wider_than_preferred, -table.weight * table.size, 0.0)


def evaluate(table: OutcomeTable) -> FloatArray:
    """-w req of each job that runs wider than it prefers, else 0."""
    columns, at = table.columns, table.at
    wide = (table.scope >= 0) & (table.scope < columns.preferred[at])
    return np.where(wide, -columns.weight[at] * columns.size[at], 0.0)
