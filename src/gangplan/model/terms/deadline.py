"""Deadline: a reward for running at least at the rate that the deadline still needs.

``w_j req_j`` when ``throughput >= work_left / (deadline - now - delay)``, where the delay is the restart time
of a job that is moved or resized (decision 13), and 0 otherwise. A job without a deadline, with unknown work
left, or whose deadline leaves no time has no reward to win. The minimum-rate form follows ElasticFlow (Gu et
al., ASPLOS 2023, section 4.1: minimum satisfactory share), as a step in the sense of the design, section 5.

After a **soft** deadline the reward falls instead: a job that would end ``late`` seconds after it at this
throughput earns ``w_j req_j (1 - late / decay)``, between 0 and all of it (a utility that falls linearly
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

from gangplan.domain.job import DeadlineKind
from gangplan.model.verifier.left import left_at
from gangplan.model.verifier.outcome import Status

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.outcome import Outcome

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
    return share * table.weight * table.size


def evaluate(outcome: Outcome, facts: RoundFacts) -> float:
    """W req of the job if it is on time, the rest of it after a soft deadline, else 0."""
    job, mine = outcome.job, facts.jobs[outcome.job.name]
    left = left_at(job, facts.round.policy.deadline_quantile)
    if mine.time_left is None or left is None or outcome.relative_throughput <= 0:
        return 0.0
    time = mine.time_left - _delay(outcome)
    full = mine.weight * mine.size
    if job.deadline_kind is DeadlineKind.SOFT:
        late = left / outcome.throughput - time
        return full * min(1.0, max(0.0, 1.0 - late / job.deadline_decay_seconds))
    if time <= 0 or outcome.throughput < left / time * (1 - TOLERANCE):
        return 0.0
    return full


def _delay(outcome: Outcome) -> float:
    return outcome.job.restart_seconds if outcome.status in (Status.MOVED, Status.RESIZED) else 0.0


def lost(outcome: Outcome, facts: RoundFacts) -> bool:
    """Whether a job cannot meet its strict deadline any more after a round of this.

    One that runs at no speed at all loses no deadline by it that was not lost before.
    """
    job = outcome.job
    if job.deadline_kind is not DeadlineKind.STRICT or job.deadline is None or job.work_left is None:
        return False
    if facts.jobs[job.name].doomed:
        return True
    if outcome.relative_throughput <= 0:
        return False
    time, length = job.deadline - facts.round.now, facts.round.round_seconds
    done = outcome.throughput * max(0.0, min(length, time) - _delay(outcome))
    if time > length:
        done += facts.throughput.best(job.component) * (time - length)
    return job.work_left * (1 - TOLERANCE) > done
