"""Effective throughput: who has done less, over its life, than an equal share of every type would have.

``s = (equal / done) ** p``: what the job would do in its age and the round to come with an equal share of the
time of *every* accelerator type, over the work that it has done; one round of the share is added to what it
has done. Clipped to [1/4, 8] as rho is. It needs to know nothing of the work left.

The equal share and the ratio are those of Gavel (Narayanan et al., OSDI 2020, section 4.1, X-equal): on each
type that it may use the job has the fraction ``share C_t / req`` of its time, fractions that together exceed
1 are scaled down to it, and ``x_equal`` is its throughput so. The share of a job is that of
:mod:`.device_time`. Gavel raises the least ratio; as a weight the ratio leads to the alpha-fair allocation
with alpha = p (Mo and Walrand, IEEE/ACM Transactions on Networking 8(5), 2000): proportional at 1, and the
larger p, the nearer to the greatest least ratio. A row for the least one would cost 20 times the solve time.
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

FORM = FairnessForm.EFFECTIVE_THROUGHPUT
CURVED = False
BY_BASE = False
SPREAD: float | None = None
LEAST, MOST = 0.25, 8.0


def urgencies(standings: Standings, power: float) -> FloatArray:
    """(equal / done)^p."""
    rate = standings.equal_rate()
    due = rate * (standings.age + standings.round_seconds)
    done = standings.done + rate * standings.round_seconds
    ratio = np.divide(due, done, out=np.ones_like(due), where=(rate > 0.0) & ~np.isnan(due))
    urgency: FloatArray = np.clip(ratio, LEAST, MOST) ** power
    return urgency


def earned(standings: Standings, relative: FloatArray, power: float) -> FloatArray:
    """R."""
    del standings, power
    return relative


def urgency(standing: Standing, power: float) -> float:
    """(equal / done)^p."""
    rate, length = standing.equal(), standing.round_seconds
    if standing.age is None or rate <= 0.0:
        return 1.0
    ratio = rate * (standing.age + length) / (standing.done + rate * length)
    return math.pow(max(LEAST, min(MOST, ratio)), power)


def earns(standing: Standing, relative: float, power: float) -> float:
    """R."""
    del standing, power
    return relative
