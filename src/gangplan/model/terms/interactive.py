"""Interactive: a reward for starting soon what somebody waits for at a screen.

``w_j req_j U(s)`` for an interactive job that runs after the round, where s is how long it has waited and T
its objective for the time to start: U is 1 while s is at most T, then falls in a straight line to 0 at 2 T (a
time-utility function as of Jensen, Locke and Tokuda, RTSS 1985, of the start in place of the end). Time
before ``not_before`` and time held do not count into s. A job that runs keeps the whole reward, so that one
start is no reason to stop another; so does one that has run before and was stopped, of which nobody knows
since when it waits again, and one that does not say when it was submitted.

Who has waited longer than 2 T has nothing to win here any more; what fairness makes of its wait goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.verifier.gates import counted_age

if TYPE_CHECKING:
    from gangplan.domain.job import Job
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "interactive"
UNIT = "weighted requested devices started in time"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """``policy.interactive_weight``."""
    return round_.policy.interactive_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: w req U where it runs."""
    return np.where(table.throughput > 0.0, table.start_share * table.weight * table.size, 0.0)


def evaluate(table: OutcomeTable) -> FloatArray:
    """W req U of each interactive job that runs afterwards, else 0."""
    columns, now = table.columns, table.facts.round.now
    found = np.zeros(len(table))
    for row in np.flatnonzero(columns.interactive[table.at] & (table.relative > 0.0)):
        at = table.at[row]
        found[row] = columns.weight[at] * columns.size[at] * _share(columns.jobs[at], now)
    return found


def _share(job: Job, now: float) -> float:
    """U of an interactive job."""
    if job.interactive is None:
        return 0.0
    if job.running is not None or job.work_done > 0 or job.submit_time is None:
        return 1.0
    late = counted_age(job, now) - job.interactive.start_within_seconds
    return 1.0 if late <= 0 else max(0.0, 1 - late / job.interactive.start_within_seconds)
