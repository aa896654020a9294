"""How every job stands: what it has had, what it was owed, when it would be done; read by forms of fairness.

rho is Themis' finish-time fairness ratio (Mahajan et al., NSDI 2020, section 3.1) in the form of decision 11:
the predicted finish of the job when it is not served this round, over its finish with its fair share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from gangplan.columns import Columns
from gangplan.domain.job import OPEN, Job
from gangplan.domain.quantiles import Quantiles
from gangplan.domain.round import Round
from gangplan.model.instance.columns import column
from gangplan.model.instance.entitlement import Entitlement
from gangplan.model.instance.left import all_left
from gangplan.model.program import BoolArray, FloatArray, IntArray

RATIO_CLIP = (0.25, 8.0)
"""Every ratio is clipped to this range before any power (decision 11)."""


@dataclass(frozen=True, slots=True, eq=False)
class Standings:
    """One entry per job, or per row that is about a job.

    Attributes:
        round_seconds: D.
        entitlement: what every job is owed; by job, not by row.
        age: seconds since submission; NaN where unknown.
        done, left: work units; ``left`` is the policy's quantile of a prediction, and 0 where unknown.
        left_unknown: whether it is.
        received: device-seconds held so far; NaN where unknown.
        fair_rate: x_iso, work units per second (decision 11).
        reference: X_ref, work units per second at relative throughput 1.
        has_rho: whether rho means anything: age and work left are known, x_iso and ``alone`` above 0.
        pace: r, work units per second expected after this round; 1 without a rho.
        unserved_finish: age + f of the job that waits this round, seconds; 1 without a rho.
        alone: A + isolated_left / x_iso, seconds; 1 without a rho.
        service_quantiles: of the device-seconds that jobs take; None: unknown.
    """

    round_seconds: float
    entitlement: Entitlement
    age: FloatArray
    done: FloatArray
    left: FloatArray
    left_unknown: BoolArray
    received: FloatArray
    fair_rate: FloatArray
    reference: FloatArray
    has_rho: BoolArray
    pace: FloatArray
    unserved_finish: FloatArray
    alone: FloatArray
    service_quantiles: Quantiles | None = None

    def take(self, rows: IntArray) -> Standings:
        """The standings of the jobs of some rows."""
        return Standings(
            self.round_seconds,
            self.entitlement,
            self.age[rows],
            self.done[rows],
            self.left[rows],
            self.left_unknown[rows],
            self.received[rows],
            self.fair_rate[rows],
            self.reference[rows],
            self.has_rho[rows],
            self.pace[rows],
            self.unserved_finish[rows],
            self.alone[rows],
            self.service_quantiles,
        )

    def finish_time_ratio(self) -> FloatArray:
        """Rho of every job if it waits this round, clipped; 1 without."""
        return np.clip(self.unserved_finish / self.alone, *RATIO_CLIP)

    def device_time_ratio(self) -> FloatArray:
        """Device time owed by the round's end over device time received, clipped; 1 where unknown."""
        devices = self.entitlement.devices()
        owed = devices * (self.age + self.round_seconds)
        had = self.received + devices * self.round_seconds
        known = (devices > 0.0) & ~np.isnan(owed) & ~np.isnan(had)
        return np.clip(np.divide(owed, had, out=np.ones_like(owed), where=known), *RATIO_CLIP)

    def equal_rate(self) -> FloatArray:
        """Work units per second under an equal share of every type; 0 without any."""
        return self.entitlement.equal_rate()

    def curve_keys(self) -> tuple[FloatArray, ...]:
        """What the curves of jobs depend on: jobs alike in all of them have the same ones."""
        arrays = (self.done, self.left, self.fair_rate, self.reference, self.pace)
        return (*arrays, self.unserved_finish, self.alone)


def build_standings(
    round_: Round, jobs: Columns[Job], fair_rate: FloatArray, reference: FloatArray, entitlement: Entitlement
) -> Standings:
    """The standings of all jobs.

    Args:
        round_: the round.
        jobs: in the order of all job arrays.
        fair_rate: shape (jobs,), x_iso, work units per second; 0 for who does not accrue.
        reference: shape (jobs,), X_ref, work units per second.
        entitlement: what every job is owed.
    """
    length = round_.round_seconds
    age = _ages(jobs, round_.now)
    left = all_left(jobs, round_.policy.fairness_quantile)
    done, progress = jobs.numbers("work_done"), jobs.numbers("fair_progress")
    frozen = jobs.numbers("fair_finish_age")
    received = jobs.numbers("service_received_device_seconds")
    unknown = np.isnan(left)
    alive = ~np.isnan(age) & ~unknown & (fair_rate > 0.0)
    rate = np.where(alive, fair_rate, 1.0)
    since = np.where(alive, age, 0.0)
    still = np.where(unknown, 0.0, left)
    pace = (done + rate * length) / (since + length)
    shared = since + length + still / pace
    alone = np.where(np.isnan(frozen), since + np.maximum(0.0, done + still - progress) / rate, frozen)
    has_rho = alive & (alone > 0.0)
    return Standings(
        round_seconds=length,
        entitlement=entitlement,
        age=age,
        done=done,
        left=still,
        left_unknown=unknown,
        received=received,
        fair_rate=fair_rate,
        reference=reference,
        has_rho=has_rho,
        pace=np.where(has_rho, pace, 1.0),
        unserved_finish=np.where(has_rho, shared, 1.0),
        alone=np.where(has_rho, alone, 1.0),
        service_quantiles=round_.policy.service_quantiles,
    )


def _ages(jobs: Columns[Job], now: float) -> FloatArray:
    """Seconds in which each job could have run, shape (jobs,); NaN where unknown."""
    counted = jobs.of("counted from", _counted_from)
    return np.maximum(0.0, now - counted[:, 0] - counted[:, 1])


def _counted_from(jobs: Sequence[Job]) -> FloatArray:
    """From when on each job could have run, and seconds after that in which it was held; shape (jobs, 2)."""
    since = column(jobs, "submit_time")
    held = np.zeros(len(jobs))
    for j, gate in [(j, gate) for j, gate in enumerate(map(attrgetter("gate"), jobs)) if gate is not OPEN]:
        since[j] = max(since[j], gate.not_before or since[j])
        held[j] = gate.held_seconds
    return np.stack([since, held], axis=1)
