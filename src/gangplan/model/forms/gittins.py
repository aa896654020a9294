"""Gittins index: who will probably end soon goes first, where nobody knows how long anybody runs.

``s = G(a) ** p`` with a the device-seconds that the job has held, and

    G(a) = max over d > 0 of  P(S <= a + d | S > a) / E[min(S - a, d) | S > a]

the best chance to end by the device time that it takes to find out, S being the device time of a job. Jobs in
order of G have the least mean completion time on one server when S is known and nothing else (Gittins, J. R.
Stat. Soc. B 41(2), 1979; Aalto, Ayesta and Righter, Queueing Systems 63, 2009); Tiresias serves gangs by it
(Gu et al., NSDI 2019, section 3.2). With gamma and p at 1, a plan is worth the ends that it leads to.

S is what ``policy.service_quantiles`` say: straight between them from nothing at 0 on; beyond the last, x, a
job ends at a constant chance of 1 / x, so that who outlives all history has x ahead of it, again and again.
Then only d up to a quantile, or without end, can be best: in between the chance rises and falls no more.

Without quantiles S has a tail like 1 / (m + x), whose index is ``1 / (m + a)``: least attained service, with
m one device for one round. Where nobody knows what a job has held, :mod:`.weights` says what it is worth.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gangplan.domain.policy import FairnessForm

if TYPE_CHECKING:
    from gangplan.model.instance.standing import Standings
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.standing import Standing

FORM = FairnessForm.GITTINS
CURVED = False
BY_BASE = True
SPREAD: float | None = 300.0


def urgencies(standings: Standings, power: float) -> FloatArray:
    """G^p; 0 for a job of which nobody knows what it has held."""
    known = ~np.isnan(standings.received)
    held = np.where(known, standings.received, 0.0)
    quantiles = standings.service_quantiles
    if quantiles is None:
        index = 1.0 / (standings.round_seconds + held)
    else:
        at = np.array([0.0, *quantiles.values])
        mass = np.array([0.0, *quantiles.probabilities])
        index = _indices(held, at, mass)
    urgency: FloatArray = np.where(known, index**power, 0.0)
    return urgency


def _indices(held: FloatArray, at: FloatArray, mass: FloatArray) -> FloatArray:
    """G of every job, shape (jobs,); ``at`` and ``mass`` are the distribution's corners, shape (corners,)."""
    last = max(float(at[-1]), 1e-9)
    outlived = held >= at[-1]
    held = np.minimum(held, at[-1])
    survive = 1.0 - mass
    # Expected time within [0, corner]: the area below survival; atoms have no width and add none.
    until = np.concatenate([[0.0], np.cumsum(np.diff(at) * (survive[:-1] + survive[1:]) / 2.0)])
    # The last corner at or before each job, after all atoms there.
    before = np.minimum(np.searchsorted(at, held, side="right") - 1, len(at) - 1)
    following = np.minimum(before + 1, len(at) - 1)
    width = at[following] - at[before]
    share = np.divide(held - at[before], width, out=np.zeros_like(held), where=width > 0.0)
    reached = mass[before] + share * (mass[following] - mass[before])
    alive = 1.0 - reached
    passed = until[before] + (held - at[before]) * (survive[before] + alive) / 2.0
    beyond = at[None, :] > held[:, None]
    ends = np.where(beyond, mass[None, :] - reached[:, None], 0.0)
    takes = np.where(beyond, until[None, :] - passed[:, None], 1.0)
    best = np.max(np.where(beyond, ends / np.where(takes > 0.0, takes, 1.0), 0.0), axis=1)
    for_ever = alive / (until[-1] - passed + survive[-1] * last)
    return np.where(outlived, 1.0 / last, np.maximum(best, for_ever))


def earned(standings: Standings, relative: FloatArray, power: float) -> FloatArray:
    """R."""
    del standings, power
    return relative


def urgency(standing: Standing, power: float) -> float:
    """G^p; 0 for a job of which nobody knows what it has held."""
    if standing.received is None:
        return 0.0
    if standing.service_quantiles is None:
        return math.pow(standing.received + standing.round_seconds, -power)
    return math.pow(_index(standing.received, standing), power)


def _index(held: float, standing: Standing) -> float:
    """G, walking from corner to corner beyond what is held."""
    quantiles = standing.service_quantiles
    assert quantiles is not None
    last = max(quantiles.values[-1], 1e-9)
    if held >= quantiles.values[-1]:
        return 1.0 / last
    x, gone = 0.0, 0.0
    start: float | None = None
    time = best = 0.0
    for value, probability in zip(quantiles.values, quantiles.probabilities, strict=True):
        if value > held:
            if start is None:
                start = gone + (probability - gone) * (held - x) / (value - x)
                x, gone = held, start
            time += (value - x) * (1.0 - (gone + probability) / 2.0)
            best = max(best, (probability - start) / time)
        x, gone = value, probability
    assert start is not None
    return max(best, (1.0 - start) / (time + (1.0 - gone) * last))


def earns(standing: Standing, relative: float, power: float) -> float:
    """R."""
    del standing, power
    return relative
