"""The time that a job needs, as a distribution: what became of those alike that had run as long as it has.

Of every group that the job is in, the survivors count: those that ran longer than it has run already, whether
they have ended or not. Who has not ended tells that jobs take at least so long: without them a young history
would know short jobs only. The times of a group are weighed by the estimator of Kaplan and Meier (JASA 53,
1958); what it leaves to who outlives the longest that still runs is distributed as in the wider groups.

The groups are mixed from the widest to the narrowest, each with its number n of survivors that have ended
against ``SHRINKAGE`` k for all that is wider:

    F_group = (n F_survivors + k F_wider) / (n + k).

So a group that is small, or whose members have all ended by then, gives way to a wider one (the posterior
mean of a hierarchy of Dirichlet processes: Teh et al., JASA 101(476), 2006). Below all groups lies one
imagined survivor with the tail m / (m + x), m being the median of all times: who has outlived everybody, at
s, will have ended at m + 2 s with even chances. A prediction is therefore finite and above 0, however long a
job runs: it does not fall off a cliff.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
LEAST_JOBS = 3
"""Ends that it takes to say anything."""
_TAIL = (np.arange(32) + 0.5) / 32
"""Probabilities at which the tail below all groups is sampled."""

_Floats = NDArray[np.float64]
_NOBODY: Mapping[Group, tuple[float, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ran:
    """A job, and how long it ran.

    Attributes:
        traits: of it.
        seconds: of work at the throughput of its request on its best type; all of it, if it has ended.
    """

    traits: Traits
    seconds: float


@dataclass(frozen=True, slots=True)
class Predictor:
    """What was learned; at first nothing.

    Attributes:
        ended: ascending times of those that have ended, in every group.
        running: ascending times that those have run which have not, likewise.
    """

    ended: Mapping[Group, tuple[float, ...]] = field(default_factory=lambda: _NOBODY)
    running: Mapping[Group, tuple[float, ...]] = field(default_factory=lambda: _NOBODY)

    @property
    def jobs(self) -> int:
        """How many ends it has learned from."""
        return len(self.ended.get((), ()))

    def learned(self, ended: Sequence[Ran]) -> Predictor:
        """What is known after these have ended, too."""
        return replace(self, ended=_with(self.ended, ended))

    def beside(self, running: Sequence[Ran]) -> Predictor:
        """What is known beside jobs that have run so long, and go on; it forgets who ran before."""
        return replace(self, running=_with(_NOBODY, running))

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
        values, weights = self._mixed(traits.groups(), max(0.0, done))
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
        middles = np.cumsum(weights) - weights / 2.0
        read = np.interp(PROBABILITIES, middles, values)
        return Quantiles(PROBABILITIES, tuple(np.maximum.accumulate(read).tolist()))

    def service(self) -> Quantiles | None:
        """Device-seconds that jobs took, at :data:`PROBABILITIES`; None: too few have ended."""
        if self.jobs < LEAST_JOBS:
            return None
        took = [
            seconds * group[1] / WHOLE_DEVICE
            for group, times in self.ended.items()
            if group and group[0] == "size" and isinstance(group[1], int)
            for seconds in times
        ]
        return Quantiles(PROBABILITIES, tuple(np.quantile(took, PROBABILITIES).tolist()))

    def _mixed(self, groups: Sequence[Group], done: float) -> tuple[_Floats, _Floats]:
        """Times left of the survivors of groups, from wide to narrow, and what each counts, 1 together."""
        if not groups:
            scale = max(float(np.median(self.ended[()])), 1e-9)
            return (scale + done) * _TAIL / (1.0 - _TAIL), np.full(len(_TAIL), 1.0 / len(_TAIL))
        group, wider = groups[-1], groups[:-1]
        ended = np.array(self.ended.get(group, ()), dtype=np.float64)
        running = np.array(self.running.get(group, ()), dtype=np.float64)
        ended, running = ended[ended > done], running[running > done]
        values, weights = self._mixed(wider, done)
        if not len(ended):
            return values, weights
        share = len(ended) / (len(ended) + (SHRINKAGE if group else 1.0))
        mass, beyond = _kaplan_meier(ended, running)
        parts = [(values, weights * (1.0 - share)), (ended - done, mass * share)]
        if beyond > 0.0:
            longest = float(running[-1])
            values, weights = self._mixed(wider, longest)
            parts.append((values + (longest - done), weights * (share * beyond)))
        return np.concatenate([v for v, _ in parts]), np.concatenate([w for _, w in parts])


def _with(known: Mapping[Group, tuple[float, ...]], ran: Sequence[Ran]) -> Mapping[Group, tuple[float, ...]]:
    found = {group: list(times) for group, times in known.items()}
    for one in ran:
        for group in one.traits.groups():
            insort(found.setdefault(group, []), one.seconds)
    return MappingProxyType({group: tuple(times) for group, times in found.items()})


def _kaplan_meier(ended: _Floats, running: _Floats) -> tuple[_Floats, float]:
    """What each end counts, and what is left beyond the last; both arrays ascending."""
    times = np.concatenate([ended, running])
    ends = np.concatenate([np.ones(len(ended)), np.zeros(len(running))])
    order = np.argsort(times, kind="stable")  # of equal times the ends come first
    hazard = ends[order] / np.arange(len(times), 0, -1)
    surviving = np.cumprod(1.0 - hazard)
    mass = np.zeros(len(times))
    mass[order] = hazard * np.concatenate([[1.0], surviving[:-1]])
    return mass[: len(ended)], float(surviving[-1])
