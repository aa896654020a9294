"""How one job stands, by the verifier's own arithmetic: what the forms of fairness read."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gangplan.domain.job import Job
from gangplan.domain.quantiles import Quantiles
from gangplan.model.verifier.fairness import RHO_MAX, RHO_MIN
from gangplan.model.verifier.gates import counted_age


class Standing(NamedTuple):
    """One job's past and prospects.

    Attributes:
        round_seconds: D.
        age: seconds since submission; None: unknown.
        done: work units.
        left: work units, the policy's quantile where it is predicted; None: unknown.
        received: device-seconds held so far; None: unknown.
        isolated: x_iso, work units/s (decision 11).
        reference: X_ref, work units/s at relative throughput 1.
        rho: clipped ratio of the unserved job.
        pace: r, work units/s expected after this round.
        shared: finish in the shared cluster of the unserved job, seconds from its submission.
        alone: finish of its fair self, likewise; None: rho has no meaning.
        devices: how many devices it is owed, computed when asked for.
        equal: X-equal, work units/s with an equal share of every type, computed when asked for.
        service_quantiles: of the device-seconds that jobs take; None: unknown.
    """

    round_seconds: float
    age: float | None
    done: float
    left: float | None
    received: float | None
    isolated: float
    reference: float
    rho: float
    pace: float
    shared: float
    alone: float | None
    devices: Callable[[], float]
    equal: Callable[[], float]
    service_quantiles: Quantiles | None = None

    @property
    def owed_over_received(self) -> float:
        """Device time owed over device time received at the end of a round of waiting; 1 where unknown."""
        if self.age is None or self.received is None:
            return 1.0
        owed = self.devices()
        if owed <= 0.0:
            return 1.0
        ratio = owed * (self.age + self.round_seconds) / (self.received + owed * self.round_seconds)
        return max(RHO_MIN, min(RHO_MAX, ratio))


def standing(
    job: Job,
    now: float,
    round_seconds: float,
    *,
    left: float | None,
    isolated: float,
    reference: float,
    rho: float,
    devices: Callable[[], float],
    equal: Callable[[], float],
    service_quantiles: Quantiles | None,
) -> Standing:
    """The standing of ``job``; the arguments as in :class:`Standing`."""
    age = None if job.submit_time is None else counted_age(job, now)
    pace, shared, alone = 1.0, 1.0, None
    if age is not None and left is not None and isolated > 0.0:
        pace = (isolated * round_seconds + job.work_done) / (round_seconds + age)
        shared = left / pace + round_seconds + age
        alone = job.fair_finish_age
        if alone is None:
            alone = max(0.0, left + job.work_done - job.fair_progress) / isolated + age
        if alone <= 0.0:
            alone = None
    return Standing(
        round_seconds,
        age,
        job.work_done,
        left,
        job.service_received_device_seconds,
        isolated,
        reference,
        rho,
        pace,
        shared,
        alone,
        devices,
        equal,
        service_quantiles,
    )
