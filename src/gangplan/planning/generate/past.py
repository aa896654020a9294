"""What the jobs have behind them: submit times and work that yield the wanted finish-time ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.planning.generate.arrays import BoolArray, FloatArray
from gangplan.planning.generate.columns import Columns
from gangplan.planning.generate.crowd import Crowd

ROUND_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Histories:
    """What each job has behind and before it, one entry per job."""

    age: FloatArray
    work_done: FloatArray
    work_left: FloatArray
    fair_progress: FloatArray
    fair_finish_age: FloatArray
    """NaN where the fair self is not done."""


def histories(
    isolated: FloatArray, crowd: Crowd, running: BoolArray, rng: np.random.Generator, columns: Columns
) -> Histories:
    """Submit times and work that yield the wanted rho.

    With the fair self at work since submission, fair_progress = x_iso min(age, T) for a job that takes T
    alone with its share, the denominator of rho (decision 11) is T, and with work_done = d W

        rho = (age + D)(T + D) / (T (d T + D))

    which is solved for d. It lies in [0, 1) for rho T D / (T + D) - D <= age < rho T - D: the age is
    drawn from that interval, and for new arrivals with rho above 1 it is its lower end, where d = 0: they
    never ran, and waited for rho - 1 rounds.
    """
    jobs, length = len(crowd), ROUND_SECONDS
    alone = np.where(isolated > 0, isolated, 1.0)
    full_speed = np.clip(np.exp(rng.normal(np.log(4 * 3600.0), 1.0, jobs)), 20 * length, 30 * 86_400.0)
    total = np.maximum(full_speed * columns.reference, 20 * length * alone)
    duration = total / alone
    lowest = np.maximum(0.0, crowd.rho * duration * length / (duration + length) - length)
    highest = crowd.rho * duration - length
    age = lowest + rng.uniform(0.02, 0.9, jobs) * (highest - lowest)
    newcomer = ~running & (crowd.rho > (duration + length) / duration)
    age = np.where(newcomer, lowest, age)
    done = ((age + length) * (duration + length) / (crowd.rho * duration) - length) / duration
    done = np.where(newcomer, 0.0, np.clip(done, 0.0, 1.0))
    return Histories(
        age=age,
        work_done=done * total,
        work_left=(1 - done) * total,
        fair_progress=np.minimum(age, duration) * alone,
        fair_finish_age=np.where(age >= duration, np.round(duration, 6), np.nan),
    )
