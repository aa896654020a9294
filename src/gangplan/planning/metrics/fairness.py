"""Fairness: four ideas of finish-time fairness, which are not one metric, and Jain's index.

* ``rho``: ours, decision 11: completion time over the age at which the fair self, with a share by weight of
  every type in every round, was done (Mahajan et al., *Themis*, NSDI 2020, section 3.1).
* ``rho_gavel``: completion time over the time in which the job's proportional share of every type, round by
  round, does the same work (Narayanan et al., *Gavel*, OSDI 2020, section 4.2, and its public code).
* ``rho_shockwave``: completion time over the time alone on what it asks for, times the static contention
  max(1, jobs of the whole history / devices) (Zheng et al., *Shockwave*, NSDI 2023, and its public code);
  ``rho_shockwave_themis`` with the mean contention while it was there instead.
* ``rho_sia``: the mean over types, by their devices, of completion time over the time on as many devices of
  the type as there are for each job, on average while it was there (Jayaram Subramanya et al., *Sia*, SOSP
  2023, equation 3).

Above 1 is worse than alone, in ours and Sia's; Shockwave counts above 1.05.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gangplan.planning.metrics.spread import mean, percentile
from gangplan.planning.rounds.history import Arrival
from gangplan.planning.rounds.loop import Played
from gangplan.planning.rounds.state import JobState

UNFAIR, UNFAIR_SHOCKWAVE = 1.0, 1.05
"""Above these a ratio counts as unfair."""
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Ratio:
    """A measure of fairness over all jobs that have ended.

    Attributes:
        mean, p99, worst: over the jobs.
        share_unfair: share of the jobs above what counts as unfair.
    """

    mean: float
    p99: float
    worst: float
    share_unfair: float


def ratio_of(values: Sequence[float], unfair: float) -> Ratio | None:
    """A measure over the jobs that have one; None without any."""
    p99, average = percentile(values, 0.99), mean(values)
    if p99 is None or average is None:
        return None
    above = sum(value > unfair + _ROUNDING for value in values)
    return Ratio(average, p99, max(values), above / len(values))


def jain(values: Sequence[float]) -> float | None:
    """Jain's index: (sum x)^2 / (n sum x^2), from 1/n to 1; None where all are 0 or there is none."""
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares > 0 else None


def over(completion: float | None, alone: float | None) -> float | None:
    """``completion / alone``; None while one of them is not known, or 0."""
    return completion / alone if completion is not None and alone else None


def static_contention(played: Played) -> float:
    """Jobs of the whole history over its devices, at least 1."""
    return max(1.0, len(played.history.arrivals) / max(1, played.history.devices))


def mean_contention(played: Played, state: JobState, here: float) -> float:
    """Jobs over devices on average in the ``here`` seconds that a job was there, at least 1."""
    jobs = state.attended.contention_seconds / here if here > 0 else 1.0
    return max(1.0, jobs / max(1, played.history.devices))


def rho_shockwave(
    played: Played, arrival: Arrival, completion: float | None, contention: float
) -> float | None:
    """Completion time over the time alone on what it asks for, times ``contention``."""
    reference = played.paces.reference(arrival.job.name)
    return over(completion, arrival.work / reference * contention) if reference > 0 else None


def rho_sia(played: Played, arrival: Arrival, state: JobState, completion: float | None) -> float | None:
    """Completion time over that on a share of each type.

    Types on which the job cannot run are left out of the mean.
    """
    if completion is None or completion <= 0:
        return None
    jobs = max(1.0, state.attended.contention_seconds / completion)
    found = weight = 0.0
    for kind, devices in played.paces.capacity.items():
        rate = played.paces.on_share(arrival.job.name, kind, devices / jobs)
        if rate > 0:
            found += devices * completion * rate / arrival.work
            weight += devices
    return found / weight if weight else None
