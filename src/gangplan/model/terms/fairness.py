"""Fairness: what the policy's forms of fairness make of a job's service, beside its base weight.

``F_jk - b_j V_jk``, where F_jk is what option k is worth under the forms of fairness together (their formulas
and sources: :mod:`gangplan.model.forms`); ``(w_j - b_j) V_jk`` under the plain one, weights by the
finish-time fairness ratio. Never a max-min epigraph. Throughput, priority and fairness together make F_jk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "fairness"
UNIT = "reference devices at work"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """1: the parts of the forms are weights already."""
    return 1.0


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: F - b V."""
    return table.fair_value - table.base * table.value


def evaluate(table: OutcomeTable) -> FloatArray:
    """F - b V of each job; 0 where it does not run afterwards."""
    columns, at = table.columns, table.at
    if columns.claims is None:
        return (columns.weight[at] - columns.base_weight[at]) * columns.full_value[at] * table.relative
    return (table.earned() - columns.base_weight[at] * table.relative) * columns.full_value[at]
