"""Priority: what the caller's weights and priority classes add to plain throughput.

``(b_j - 1) V_j`` with ``b_j`` the job's weight times its class's weight over the median of that product
(decision 1: the median job weighs 1). Negative for a job that weighs less than the median.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "priority"
UNIT = "reference devices at work"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """1: the weights themselves are in GPU-equivalents."""
    return 1.0


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: (b - 1) V."""
    return (table.base - 1.0) * table.value


def evaluate(table: OutcomeTable) -> FloatArray:
    """(b - 1) V of each job; 0 where it does not run afterwards."""
    columns, at = table.columns, table.at
    return (columns.base_weight[at] - 1.0) * columns.full_value[at] * table.relative
