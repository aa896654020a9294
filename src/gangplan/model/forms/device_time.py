"""Device time: who has held fewer devices, over its life, than it is owed.

``s = (owed / received) ** p``: the devices that the job is owed, times its age and the round to come, over
the device-seconds that it has held; one round of what it is owed is added to what it has, so that a new job's
ratio is 1. Clipped to [1/4, 8] as rho is. It needs to know nothing of the work left.

A job is owed its share of the devices of the types that it may use, and no more than it asks for; the share
goes down the tree of queues by their weights, and within a queue by the jobs' base weights.

Sources: attained service comes from Tiresias (Gu et al., NSDI 2019, section 3.2), the share owed over a life
of Gandiva-fair (Chaudhary et al., EuroSys 2020); the ratio as a weight is the rule of proportional-fair
schedulers: where jobs are endless, p = 1 leads to the largest sum of logarithms of device time (Kushner and
Whiting, IEEE Transactions on Wireless Communications 3(4), 2004), so alike jobs' shares are as their weights.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gangplan.domain.policy import FairnessForm

if TYPE_CHECKING:
    from gangplan.model.instance.standing import Standings
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.standing import Standing

FORM = FairnessForm.DEVICE_TIME
CURVED = False
BY_BASE = False
SPREAD: float | None = None


def urgencies(standings: Standings, power: float) -> FloatArray:
    """(owed / received)^p."""
    urgency: FloatArray = standings.device_time_ratio() ** power
    return urgency


def earned(standings: Standings, relative: FloatArray, power: float) -> FloatArray:
    """R."""
    del standings, power
    return relative


def urgency(standing: Standing, power: float) -> float:
    """(owed / received)^p."""
    return math.pow(standing.owed_over_received, power)


def earns(standing: Standing, relative: float, power: float) -> float:
    """R."""
    del standing, power
    return relative
