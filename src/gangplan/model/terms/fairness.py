"""Finish-time fairness: who is behind its fair share weighs more.

``(w_j - b_j) V_j`` with ``w_j`` the base weight times ``rho_j ** p`` over the median of that product. rho is
the finish-time fairness ratio of Themis (Mahajan et al., NSDI 2020, section 3.1) of the *unserved* job,
clipped to [1/4, 8] before the power (decision 11); the weighted, linear form follows Sia (Jayaram Subramanya
et al., SOSP 2023). Never a max-min epigraph. Throughput, priority and fairness together make ``w_j V_j``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangplan.domain.policy import Policy
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.outcome import Outcome

NAME = "fairness"
UNIT = "reference devices at work"
SPREAD_OVER_HORIZON = False


def weight(policy: Policy) -> float:
    """1: how strongly rho weighs is ``policy.fairness_power``."""
    return 1.0


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: (w - b) V."""
    return (table.weight - table.base) * table.value


def evaluate(outcome: Outcome, facts: RoundFacts) -> float:
    """(w - b) V of the job; 0 when it does not run afterwards."""
    mine = facts.jobs[outcome.job.name]
    return (mine.weight - mine.base_weight) * mine.full_value * outcome.relative_throughput
