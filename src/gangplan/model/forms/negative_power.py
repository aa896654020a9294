"""Negative power: finish-time fairness as a loss, minus rho^p of the job as it is served.

Serving job j by option k is worth ``rho_j0 ** p - rho_jk ** p``, where rho_jk is the finish-time fairness
ratio of Themis (Mahajan et al., NSDI 2020, section 3.1) after a round under the option's own throughput X,
and rho_j0 after a round of waiting (decision 11):

    rho_jk = (age + f_k) / alone,   f_k = left / X           if that is within the round D,
                                    f_k = D + (left - X D) / r  otherwise.

A job that ends within the round gains more than its share of a round, and one whose gang is slow gains less:
this is what the weights, which look at the unserved job only, cannot see. Below 1/4 and above 8 the power
goes on as a straight line, so that jobs far behind keep a gradient. The power of the sum over jobs is the
p-norm of the crowd's ratios: the larger p, the nearer to the worst one's.

The gain is measured by what the job would gain at its reference, s, and s by its median, within a factor of
300 either way (decision 11's range of 1e5). A job without a rho is worth what :mod:`.weights` says, beside
the median of the others.
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

FORM = FairnessForm.NEGATIVE_POWER
CURVED = True
BY_BASE = True
SPREAD: float | None = 300.0
LEAST, MOST = 0.25, 8.0
"""Where rho^p goes over into a straight line."""


def urgencies(standings: Standings, power: float) -> FloatArray:
    """rho_j0^p - rho_j^p at the reference; 0 for a job without a rho."""
    return np.where(standings.has_rho, _drop(standings, standings.reference, power), 0.0)


def earned(standings: Standings, relative: FloatArray, power: float) -> FloatArray:
    """The drop of rho^p over that at the reference; r for a job without a rho."""
    whole = _drop(standings, standings.reference, power)
    part = _drop(standings, standings.reference * relative, power)
    has = standings.has_rho & (whole > 0.0)
    return np.divide(part, whole, out=relative.astype(np.float64), where=has)


def _drop(standings: Standings, throughput: FloatArray, power: float) -> FloatArray:
    """rho_j0^p - rho_jk^p, shape (jobs,); taken from the difference of the two, which is small."""
    length, left, pace = standings.round_seconds, standings.left, standings.pace
    ends = throughput * length >= left
    quick = np.divide(left, throughput, out=np.zeros_like(left), where=throughput > 0.0)
    saved = np.where(ends, length + left / pace - quick, throughput * length / pace)
    delta = np.where(throughput > 0.0, saved, 0.0) / standings.alone
    before = standings.unserved_finish / standings.alone
    above = np.minimum(delta, np.maximum(before - MOST, 0.0))
    below = np.minimum(delta, np.maximum(LEAST - before + delta, 0.0))
    middle = np.maximum(delta - above - below, 0.0)
    top = np.clip(before, LEAST, MOST)
    bent = -(top**power) * np.expm1(power * np.log1p(-np.minimum(middle / top, 1.0 - 1e-12)))
    drop: FloatArray = power * MOST ** (power - 1.0) * above + power * LEAST ** (power - 1.0) * below + bent
    return drop


def urgency(standing: Standing, power: float) -> float:
    """What rho^p falls by at the reference; 0 for a job without a rho."""
    return _fall(standing, standing.reference, power) if standing.alone is not None else 0.0


def earns(standing: Standing, relative: float, power: float) -> float:
    """The fall of rho^p over that at the reference; r for a job without a rho."""
    if standing.alone is None:
        return relative
    whole = _fall(standing, standing.reference, power)
    return _fall(standing, standing.reference * relative, power) / whole if whole > 0.0 else relative


def _fall(standing: Standing, throughput: float, power: float) -> float:
    """Minus the integral of p rho^(p - 1) from rho_j0 down to rho_jk, straight outside [1/4, 8]."""
    if throughput <= 0.0 or standing.alone is None or standing.left is None:
        return 0.0
    seconds = throughput * standing.round_seconds / standing.pace
    if standing.left <= throughput * standing.round_seconds:
        seconds = standing.round_seconds + standing.left / standing.pace - standing.left / throughput
    here, rest, fallen = standing.shared / standing.alone, seconds / standing.alone, 0.0
    if here > MOST:
        step = min(rest, here - MOST)
        fallen += power * math.pow(MOST, power - 1) * step
        here, rest = MOST, rest - step
    if here > LEAST and rest > 0:
        step = min(rest, here - LEAST)
        fallen += math.pow(here, power) * -math.expm1(power * math.log1p(-step / here))
        here, rest = LEAST, rest - step
    return fallen + power * math.pow(LEAST, power - 1) * max(rest, 0.0)
