"""Throughput: useful work per second, normalised by what each job would do at its best.

``V_j = req_j ** gamma * X_jk / X_ref,j``, the effective throughput of Gavel (Narayanan et al., OSDI 2020,
section 3.1) normalised per job as in Sia (Jayaram Subramanya et al., SOSP 2023, section 3.2), against a
reference that does not depend on what is present (decision 2); a gang runs at the speed of its slowest group
(decision 7). Weights of priority and fairness are terms of their own, so that this one reads as plain
GPU-equivalents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "throughput"
UNIT = "reference devices at work"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """1: a reference device at work is the GPU-equivalent."""
    return 1.0


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: V."""
    return table.value


def evaluate(table: OutcomeTable) -> FloatArray:
    """V of each job: its full value times its relative throughput; 0 where it does not run afterwards."""
    return table.columns.full_value[table.at] * table.relative
