"""Deadline: a step reward for running at least at the rate that the deadline still needs.

``w_j req_j`` when ``throughput >= work_left / (deadline - now - delay)``, where the delay is the restart time
of a job that is moved or resized (decision 13), and 0 otherwise. A job without a deadline, with unknown work
left, or whose deadline leaves no time has no reward to win. The minimum-rate form follows ElasticFlow (Gu et
al., ASPLOS 2023, section 4.1: minimum satisfactory share), as a step in the sense of the design, section 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.verifier.outcome import Status

if TYPE_CHECKING:
    from gangplan.domain.policy import Policy
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.outcome import Outcome

NAME = "deadline"
UNIT = "weighted requested devices on time"
SPREAD_OVER_HORIZON = False
TOLERANCE = 1e-9
"""Relative slack of the comparison, so that a rate met exactly is met however it was rounded."""


def weight(policy: Policy) -> float:
    """``policy.deadline_weight``."""
    return policy.deadline_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: w req where the rate still needed is met."""
    enough = table.throughput >= table.rate_needed * (1.0 - TOLERANCE)
    met = enough & np.isfinite(table.rate_needed) & (table.throughput > 0.0)
    return np.where(met, table.weight * table.size, 0.0)


def evaluate(outcome: Outcome, facts: RoundFacts) -> float:
    """W req of the job if it is on time, else 0."""
    job, mine = outcome.job, facts.jobs[outcome.job.name]
    if mine.time_left is None or job.work_left is None or outcome.relative_throughput <= 0:
        return 0.0
    restarts = outcome.status in (Status.MOVED, Status.RESIZED)
    time = mine.time_left - (job.restart_seconds if restarts else 0.0)
    if time <= 0 or outcome.throughput < job.work_left / time * (1 - TOLERANCE):
        return 0.0
    return mine.weight * mine.size
