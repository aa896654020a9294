"""Weights: finish-time fairness as a factor of a job's weight.

``s = rho ** p`` with rho the finish-time fairness ratio of Themis (Mahajan et al., NSDI 2020, section 3.1) of
the *unserved* job, clipped to [1/4, 8] before the power (decision 11); the weighted, linear form follows Sia
(Jayaram Subramanya et al., SOSP 2023). Where the work left is unknown, device time owed over device time
received takes the place of rho, clipped likewise (decision 15); where that is unknown too, 1.
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

FORM = FairnessForm.WEIGHTS
CURVED = False
BY_BASE = True
SPREAD: float | None = None


def urgencies(standings: Standings, power: float) -> FloatArray:
    """rho^p, clipped; owed over received where there is no rho."""
    ratio = standings.finish_time_ratio()
    unknown = standings.left_unknown & ~np.isnan(standings.received)
    if unknown.any():
        ratio = np.where(unknown, standings.device_time_ratio(), ratio)
    urgency: FloatArray = ratio**power
    return urgency


def earned(standings: Standings, relative: FloatArray, power: float) -> FloatArray:
    """R."""
    del standings, power
    return relative


def urgency(standing: Standing, power: float) -> float:
    """rho^p, clipped; owed over received where there is no rho."""
    if standing.left is None:
        return math.pow(standing.owed_over_received, power)
    return math.pow(standing.rho, power)


def earns(standing: Standing, relative: float, power: float) -> float:
    """R."""
    del standing, power
    return relative
