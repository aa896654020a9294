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
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.outcome import Outcome

NAME = "locality"
UNIT = "weighted requested devices spread too wide"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """``policy.locality_weight``."""
    return round_.policy.locality_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: - w req where the spread is wider than preferred."""
    return np.where(table.wider_than_preferred, -table.weight * table.size, 0.0)


def evaluate(outcome: Outcome, facts: RoundFacts) -> float:
    """-w req of a job that runs wider than it prefers, else 0."""
    preferred = outcome.job.component.preferred_level
    if preferred is None or not outcome.scope:
        return 0.0
    if facts.rank[outcome.scope] >= facts.rank[preferred]:
        return 0.0
    mine = facts.jobs[outcome.job.name]
    return -mine.weight * mine.size
