"""What deadlines still need, as arrays: the rate, the lateness, and when a strict one is lost."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from gangplan.columns import Columns
from gangplan.domain.job import DeadlineKind, Job
from gangplan.domain.round import Round
from gangplan.model.instance.left import all_left
from gangplan.model.instance.throughput import Speeds
from gangplan.model.program import BoolArray, FloatArray, IntArray

TOLERANCE = 1e-9
"""Relative slack of work left, so that a deadline met exactly is met however it was rounded."""
_SOFT, _STRICT = 1, 2


class Deadlines:
    """Deadlines of classes; a job without one, or with unknown work left, has none that can be judged.

    A predicted work left is read at the policy's quantile for deadlines, and never makes a strict one lost.

    Args:
        round_: the round.
        jobs: all.
        first: shape (classes,), a job of each.
        speeds: throughput of any group anywhere.

    Attributes:
        decay: shape (classes,), seconds; 0 where the deadline is not soft.
        doomed: shape (classes,), whether a strict deadline cannot be met any more, whatever is done.
        urgency: shape (classes,), factor of the reward by how near it is; 1 without a deadline.
    """

    def __init__(self, round_: Round, jobs: Columns[Job], first: IntArray, speeds: Speeds) -> None:
        left = all_left(jobs, round_.policy.deadline_quantile)[first]
        deadline = jobs.numbers("deadline")[first]
        judged = ~np.isnan(deadline) & ~np.isnan(left)
        self._judged: BoolArray = judged
        self._round_seconds = round_.round_seconds
        self._left = np.where(np.isnan(left), 0.0, left)
        self._time = np.where(judged, deadline - round_.now, -np.inf)
        kind = jobs.of("deadline kind", _kinds)[first]
        decay = jobs.numbers("deadline_decay_seconds")[first]
        self.decay: FloatArray = np.where(kind == _SOFT, decay, 0.0)
        self._strict: BoolArray = judged & (kind == _STRICT)
        self._best = np.zeros(len(first))
        for c in np.flatnonzero(self._strict).tolist():
            job = jobs.things[first[c]]
            self._strict[c] = job.work_left is not None
            if self._strict[c]:
                self._best[c] = speeds.best(job.component)
        near = max(round_.horizon_seconds, round_.round_seconds) / self._time.clip(round_.round_seconds)
        self.urgency: FloatArray = np.where(judged, near**round_.policy.deadline_urgency, 1.0)
        reach = self._best * self._time.clip(0.0)
        self.doomed: BoolArray = self._strict & (self._left * (1.0 - TOLERANCE) > reach)

    def rate_needed(self, classes: IntArray, delay: FloatArray) -> FloatArray:
        """Work units per second that the deadline needs after ``delay`` seconds; ``inf``: none will do."""
        found = np.full(len(classes), np.inf)
        rows = np.flatnonzero(self._judged[classes])
        time = self._time[classes[rows]] - delay[rows]
        soon = time > 0.0
        found[rows[soon]] = self._left[classes[rows[soon]]] / time[soon]
        return found

    def lateness(self, classes: IntArray, throughput: FloatArray, delay: FloatArray) -> FloatArray:
        """Seconds from the deadline to the predicted end, shape (rows,)."""
        found = np.full(len(classes), np.inf)
        rows = np.flatnonzero(self._judged[classes] & (throughput > 0.0))
        mine = classes[rows]
        found[rows] = self._left[mine] / throughput[rows] + delay[rows] - self._time[mine]
        return found

    def lost(self, classes: IntArray, throughput: FloatArray, delay: FloatArray) -> BoolArray:
        """Whether a strict deadline cannot be met any more after a round at ``throughput``, shape (rows,)."""
        found = np.zeros(len(classes), dtype=np.bool_)
        rows = np.flatnonzero(self._strict[classes])
        if not len(rows):
            return found
        mine, x = classes[rows], throughput[rows]
        time = self._time[mine].clip(0.0)
        now = (np.minimum(time, self._round_seconds) - delay[rows]).clip(0.0)
        later = (time - self._round_seconds).clip(0.0)
        short = self._left[mine] * (1.0 - TOLERANCE) > x * now + self._best[mine] * later
        found[rows] = self.doomed[mine] | (short & (x > 0.0))
        return found


def _kinds(jobs: Sequence[Job]) -> IntArray:
    soft, strict = DeadlineKind.SOFT, DeadlineKind.STRICT
    kinds = map(attrgetter("deadline_kind"), jobs)
    return np.array(
        [_SOFT if kind is soft else _STRICT if kind is strict else 0 for kind in kinds], dtype=np.int64
    )
