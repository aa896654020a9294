"""The time that a job needs, as a distribution: what became of those alike that had run as long as it has.

Of every group that the job is in, the survivors count: those that took longer than it has run already. Their
times are mixed from the widest group to the narrowest, each group with its number of survivors against
``SHRINKAGE`` for all that is wider:

    F_group = (n F_survivors + k F_wider) / (n + k).

So a group that is small, or whose members have all ended by then, gives way to a wider one (the posterior
mean of a hierarchy of Dirichlet processes: Teh et al., JASA 101(476), 2006). Below all groups lies one
imagined survivor with the tail m / (m + x), m being the median of all times: who has outlived everybody, at
s, will have ended at m + 2 s with even chances. A prediction is therefore finite and above 0, however long a
job runs: it does not fall off a cliff.

**Calibration**: whenever a job ends, its place in the distribution that was predicted when it came, before
anything was learned from it, is kept. If predictions are right these places are uniform; so the quantile at
p is read where a part p of the places lay (Kuleshov et al., ICML 2018), with ``CALIBRATION`` uniform places
beside them.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from gangplan.domain.job import WHOLE_DEVICE
from gangplan.domain.quantiles import Quantiles
from gangplan.planning.predict.traits import Group, Traits

PROBABILITIES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Where a prediction is given."""
SHRINKAGE = 3.0
"""Survivors of a group that count as much as all that is wider."""
CALIBRATION = 30
"""Uniform places beside the real ones."""
LEAST_JOBS = 3
"""Ends that it takes to say anything."""
_TAIL = (np.arange(32) + 0.5) / 32
"""Probabilities at which the tail below all groups is sampled."""
_EDGE = 0.005
"""Quantiles are read at least so far from 0 and 1."""

_NOBODY: Mapping[Group, tuple[float, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ended:
    """A job of the past.

    Attributes:
        traits: of it.
        seconds: time that it took, at the throughput of its request on its best type.
    """

    traits: Traits
    seconds: float


@dataclass(frozen=True, slots=True)
class Predictor:
    """What was learned; at first nothing.

    Attributes:
        seconds: ascending times of the jobs in every group.
        places: ascending, where jobs lay in what was predicted of them, 0 to 1.
    """

    seconds: Mapping[Group, tuple[float, ...]] = field(default_factory=lambda: _NOBODY)
    places: tuple[float, ...] = ()

    @property
    def jobs(self) -> int:
        """How many it has learned from."""
        return len(self.seconds.get((), ()))

    def learned(self, ended: Sequence[Ended]) -> Predictor:
        """What is known after these have ended, too; one after another in their order."""
        known = {group: list(times) for group, times in self.seconds.items()}
        places = list(self.places)
        for one in ended:
            values, weights = _mixed(known, one.traits, 0.0)
            if len(known.get((), ())) >= LEAST_JOBS:
                insort(places, _place(values, weights, one.seconds))
            for group in one.traits.groups():
                insort(known.setdefault(group, []), one.seconds)
        frozen = {group: tuple(times) for group, times in known.items()}
        return Predictor(MappingProxyType(frozen), tuple(places))

    def left(self, traits: Traits, done: float) -> Quantiles | None:
        """Seconds that a job has left at its reference throughput, at :data:`PROBABILITIES`.

        Args:
            traits: of the job.
            done: seconds of them that it has done; it has survived so long.

        Returns:
            None: too few jobs have ended to say anything.
        """
        if self.jobs < LEAST_JOBS:
            return None
        values, weights = _mixed(self.seconds, traits, max(0.0, done))
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
        middles = np.cumsum(weights) - weights / 2.0
        read = np.interp(self._calibrated(), middles, values)
        return Quantiles(PROBABILITIES, tuple(np.maximum.accumulate(read).tolist()))

    def service(self) -> Quantiles | None:
        """Device-seconds that all jobs took, at :data:`PROBABILITIES`; None: too few have ended."""
        if self.jobs < LEAST_JOBS:
            return None
        took = [
            seconds * group[1] / WHOLE_DEVICE
            for group, times in self.seconds.items()
            if group and group[0] == "size" and isinstance(group[1], int)
            for seconds in times
        ]
        return Quantiles(PROBABILITIES, tuple(np.quantile(took, PROBABILITIES).tolist()))

    def _calibrated(self) -> NDArray[np.float64]:
        """Where the quantiles are read: pulled to the places where jobs really lay."""
        stated = np.array(PROBABILITIES)
        if not self.places:
            return stated
        count = len(self.places)
        lay = np.quantile(np.array(self.places), stated)
        pulled = (count * lay + CALIBRATION * stated) / (count + CALIBRATION)
        edged: NDArray[np.float64] = np.clip(pulled, _EDGE, 1.0 - _EDGE)
        return edged


def _mixed(
    known: Mapping[Group, Sequence[float]], traits: Traits, done: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Times left of the survivors, and what each counts; the weights add up to 1, the times have no order."""
    everybody = known.get((), ())
    scale = max(float(np.median(everybody)), 1e-9) if everybody else 1.0
    values = [(scale + done) * _TAIL / (1.0 - _TAIL)]
    weights = [np.full(len(_TAIL), 1.0 / len(_TAIL))]
    for group in traits.groups():
        times = np.array(known.get(group, ()), dtype=np.float64)
        alive = times[times > done] - done
        if not len(alive):
            continue
        against = SHRINKAGE if group else 1.0
        share = len(alive) / (len(alive) + against)
        weights = [weight * (1.0 - share) for weight in weights]
        values.append(alive)
        weights.append(np.full(len(alive), share / len(alive)))
    return np.concatenate(values), np.concatenate(weights)


def _place(values: NDArray[np.float64], weights: NDArray[np.float64], seconds: float) -> float:
    """The part of a distribution below a time; of what lies at it, half."""
    below, at = weights[values < seconds].sum(), weights[values == seconds].sum()
    return float(min(1.0, below + at / 2.0))
