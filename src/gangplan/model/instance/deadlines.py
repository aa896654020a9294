"""What deadlines still need, as arrays: the rate, the lateness, and when a strict one is lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gangplan.domain.job import DeadlineKind, Job
from gangplan.domain.round import Round
from gangplan.model.instance.left import counted_left
from gangplan.model.instance.throughput import Speeds
from gangplan.model.program import BoolArray, FloatArray, IntArray

TOLERANCE = 1e-9
"""Relative slack of work left, so that a deadline met exactly is met however it was rounded."""


class Deadlines:
    """Deadlines of classes; a job without one, or with unknown work left, has none that can be judged.

    A predicted work left is read at the policy's quantile for deadlines, and never makes a strict one lost.

    Attributes:
        decay: shape (classes,), seconds; 0 where the deadline is not soft.
        doomed: shape (classes,), whether a strict deadline cannot be met any more, whatever is done.
    """

    def __init__(self, round_: Round, jobs: Sequence[Job], speeds: Speeds) -> None:
        left = [counted_left(job, round_.policy.deadline_quantile) for job in jobs]
        judged = [job.deadline is not None and work is not None for job, work in zip(jobs, left, strict=True)]
        self._round_seconds = round_.round_seconds
        self._left = np.array([work or 0.0 for work in left], dtype=np.float64)
        self._time = np.array(
            [
                job.deadline - round_.now if one and job.deadline is not None else -np.inf
                for one, job in zip(judged, jobs, strict=True)
            ],
            dtype=np.float64,
        )
        soft = [job.deadline_decay_seconds if job.deadline_kind is DeadlineKind.SOFT else 0.0 for job in jobs]
        self.decay = np.array(soft, dtype=np.float64)
        strict = [
            one and job.work_left is not None and job.deadline_kind is DeadlineKind.STRICT
            for one, job in zip(judged, jobs, strict=True)
        ]
        self._strict = np.array(strict, dtype=np.bool_)
        self._best = np.array(
            [speeds.best(job.component) if one else 0.0 for one, job in zip(strict, jobs, strict=True)],
            dtype=np.float64,
        )
        reach = self._best * self._time.clip(0.0)
        self.doomed: BoolArray = self._strict & (self._left * (1.0 - TOLERANCE) > reach)

    def rate_needed(self, classes: IntArray, delay: FloatArray) -> FloatArray:
        """Work units per second that the deadline needs after ``delay`` seconds; ``inf``: none will do."""
        time = self._time[classes] - delay
        found = np.full(len(classes), np.inf)
        np.divide(self._left[classes], time, out=found, where=time > 0.0)
        return found

    def lateness(self, classes: IntArray, throughput: FloatArray, delay: FloatArray) -> FloatArray:
        """Seconds from the deadline to the predicted end, shape (rows,)."""
        run = np.full(len(classes), np.inf)
        np.divide(self._left[classes], throughput, out=run, where=throughput > 0.0)
        return run + delay - self._time[classes]

    def lost(self, classes: IntArray, throughput: FloatArray, delay: FloatArray) -> BoolArray:
        """Whether a strict deadline cannot be met any more after a round at ``throughput``, shape (rows,)."""
        time = self._time[classes].clip(0.0)
        now = (np.minimum(time, self._round_seconds) - delay).clip(0.0)
        later = (time - self._round_seconds).clip(0.0)
        done = throughput * now + self._best[classes] * later
        short = self._left[classes] * (1.0 - TOLERANCE) > done
        found: BoolArray = self.doomed[classes] | (self._strict[classes] & short & (throughput > 0.0))
        return found
