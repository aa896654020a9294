"""Deadline: a reward for running at least at the rate that the deadline still needs.

``w_j req_j u_j`` when ``throughput >= work_left / (deadline - now - delay)``, where the delay is the restart
time of a job that is moved or resized (decision 13), and 0 otherwise. A job without a deadline, with unknown
work left, or whose deadline leaves no time has no reward to win. The minimum-rate form follows ElasticFlow
(Gu et al., ASPLOS 2023, section 4.1: minimum satisfactory share), as a step in the sense of the design,
section 5.

``u_j = (H / max(deadline - now, round)) ** urgency`` with the policy's urgency, 0 by default, and the round's
horizon H. At 1 what a deadline is worth is spread over the time that is left until it. The reward for each
device that the rate needs is then in proportion to one over the device time that is still needed: it rises
as the job runs, so that who is begun is finished, and hardly changes while it waits; the greedy rule of
knapsacks (Dantzig, Operations Research 5, 1957), with deadlines to keep and device time to spend. At 0 it
falls as the deadline nears, since more devices are needed, and who has waited goes on waiting until its
deadline is lost.

After a **soft** deadline the reward falls instead: a job that would end ``late`` seconds after it at this
throughput earns ``w_j req_j u_j (1 - late / decay)``, between 0 and all of it (a utility that falls linearly
after the deadline, as the time-utility functions of Jensen, Locke and Tokuda, RTSS 1985).

A **strict** deadline earns the same step, and nothing else counts once it is lost: an outcome after which
even the job's best throughput could not meet it has no worth at all, in any term; only what stopping the job
costs remains. A job whose strict deadline is lost whatever is done is *doomed*: it never starts, running it
earns nothing and stopping it costs nothing, so that it goes on only where nobody else has any use for its
place. The best throughput is that of any allowed counts and types at any scope, present or not, and nothing
is deducted for later restarts: a deadline counts as lost only when it surely is.

Of a predicted work left the policy's quantile for deadlines counts (decision 15); no prediction makes sure
that a strict deadline is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "deadline"
UNIT = "weighted requested devices on time"
SPREAD_OVER_HORIZON = False
TOLERANCE = 1e-9
"""Relative slack of the comparison, so that a rate met exactly is met however it was rounded."""


def weight(round_: Round) -> float:
    """``policy.deadline_weight``."""
    return round_.policy.deadline_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: w req where the rate still needed is met, or its soft share."""
    runs = table.throughput > 0.0
    enough = table.throughput >= table.rate_needed * (1.0 - TOLERANCE)
    met = enough & np.isfinite(table.rate_needed) & runs
    soft = (table.decay_seconds > 0.0) & np.isfinite(table.lateness_seconds)
    late = np.divide(table.lateness_seconds, table.decay_seconds, where=soft, out=np.ones(len(runs)))
    share = np.where(soft & runs, (1.0 - late).clip(0.0, 1.0), met)
    return share * table.urgency * table.weight * table.size


def evaluate(table: OutcomeTable) -> FloatArray:
    """W req of each job that is on time, the rest of it after a soft deadline, else 0."""
    columns, found = table.columns, np.zeros(len(table))
    # A job without a deadline, or of unknown work left, has NaN.
    rows = np.flatnonzero(~np.isnan(columns.left[table.at]) & (table.relative > 0.0))
    if not len(rows):
        return found
    at, throughput = table.at[rows], table.throughput[rows]
    time = columns.time_left[at] - np.where(table.restarted[rows], columns.restart[at], 0.0)
    full = columns.weight[at] * columns.size[at] * _urgency(table.facts.round, columns.time_left[at])
    left = columns.left[at]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        met = (time > 0.0) & (throughput >= left / time * (1 - TOLERANCE))
        late = left / throughput - time
        share = np.clip(1.0 - late / columns.decay[at], 0.0, 1.0)
    found[rows] = np.where(columns.soft[at], full * share, np.where(met, full, 0.0))
    return found


def _urgency(round_: Round, time_left: FloatArray) -> FloatArray:
    """The horizon over the time left, which counts as one round at least, to the policy's power."""
    horizon = max(round_.round_seconds, round_.horizon_seconds)
    near: FloatArray = horizon / np.maximum(time_left, round_.round_seconds)
    return near**round_.policy.deadline_urgency


def lost(table: OutcomeTable) -> NDArray[np.bool_]:
    """Which jobs cannot meet their strict deadline any more after a round of this.

    One that runs at no speed at all loses no deadline by it that was not lost before.
    """
    found = np.zeros(len(table), dtype=np.bool_)
    for row in np.flatnonzero(table.columns.strict[table.at]):
        found[row] = _lost(table, int(row))
    return found


def _lost(table: OutcomeTable, row: int) -> bool:
    job, facts = table.columns.jobs[table.at[row]], table.facts
    if job.deadline is None or job.work_left is None:
        return False
    if facts.jobs[job.name].doomed:
        return True
    if table.relative[row] <= 0:
        return False
    time, length = job.deadline - facts.round.now, facts.round.round_seconds
    delay = job.restart_seconds if table.restarted[row] else 0.0
    done = float(table.throughput[row]) * max(0.0, min(length, time) - delay)
    if time > length:
        done += facts.throughput.best(job.component) * (time - length)
    return bool(job.work_left * (1 - TOLERANCE) > done)
