"""What policies are told of how long jobs run (decision 15). Every comparison names it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum

from gangplan.domain.quantiles import Quantiles
from gangplan.planning.predict.predictor import Predictor
from gangplan.planning.predict.traits import traits_of
from gangplan.planning.rounds.history import Arrival


class Told(Enum):
    """How much is told of a job's work."""

    EXACT = "exact"
    """The work left, as it is."""
    NOISY = "noisy"
    """All work times one factor for each job, uniform within ``noise`` of 1 on either side."""
    PREDICTED = "predicted"
    """What a predictor makes of the jobs that have ended: quantiles; nothing while they are too few."""
    UNKNOWN = "unknown"
    """Nothing."""


_LEAST_LEFT = 0.05
"""Share of the estimate that a job which has outlived it is still said to have left."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What is told, and how wrong it is.

    Attributes:
        told: how much.
        noise: largest relative error of NOISY, 0 to below 1.
        seed: of the errors. Each job's depends on the seed and its name alone.
    """

    told: Told = Told.EXACT
    noise: float = 0.3
    seed: int = 0

    def work(self, arrival: Arrival) -> float | None:
        """All the work that the job is said to have; None: nobody knows it."""
        if self.told in (Told.UNKNOWN, Told.PREDICTED):
            return None
        if self.told is Told.EXACT:
            return arrival.work
        factor = random.Random(f"{self.seed}/{arrival.job.name}").uniform(1 - self.noise, 1 + self.noise)
        return arrival.work * factor

    def left(self, arrival: Arrival, done: float) -> float | None:
        """The work that the job is said to have left; None: nobody knows it.

        A job that outlives its estimate has a twentieth of it left, until it ends.
        """
        work = self.work(arrival)
        if work is None:
            return None
        return work - done if self.told is Told.EXACT else max(work - done, _LEAST_LEFT * work)

    def predicted(
        self, arrival: Arrival, done: float, predictor: Predictor, reference: float
    ) -> Quantiles | None:
        """The work that the job is predicted to have left; None: nothing is predicted.

        Args:
            arrival: the job.
            done: work units.
            predictor: what was learned.
            reference: work units per second of its request on its best type; 0: it runs nowhere.
        """
        if self.told is not Told.PREDICTED or reference <= 0.0:
            return None
        said = predictor.left(traits_of(arrival.job), done / reference)
        if said is None:
            return None
        return Quantiles(said.probabilities, tuple(seconds * reference for seconds in said.values))
