"""What a target is worth: by how much its job's end gets worse when this round passes it by.

The fluid plan's objective is a sum over jobs of ``votes rho ** (1 + p)`` at their ends, with
``rho = (age + end) / fair finish``. A round without service puts an end off by a round of length D, which
costs ``votes (1 + p) rho ** p D / fair finish``: much for a job that would be done soon alone, little for one
that takes a day (Themis, Mahajan et al., NSDI 2020, section 3: the same delay is a larger part of a short
job's fair finish; with equal rho it is Smith's rule, *Naval Research Logistics Quarterly* 3, 1956). Per unit
of ``req ** gamma``, and with the root of ``D / fair finish``, halfway between that and the plain weight::

    worth = base rho ** p (D / fair finish) ** 1/2 req ** (- gamma / 2),  over its median

The weight of the round (decision 11) does not tell them apart: it takes rho of the unserved job, which for a
gang that never ran is at its clip, whatever is left of it, and a gang of half the cluster then stopped a
dozen short jobs. On small/seed1000 to 1099 (2026-11-30) the mean worst rho was 1.45 without a look-ahead,
1.39 with the weight and 1.27 with this worth; jobs completed after 2,810, 2,696 and 2,557 s.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.lookahead.fluid import STEEPEST, Fluid
from gangplan.model.lookahead.service import Service
from gangplan.model.program import BoolArray, FloatArray

SPREAD = 8.0
"""Worths lie within this factor of their median on either side."""
LARGE_GANG = 4.0
"""Least worth of a large gang that never ran: it needs many places at once, and small jobs, one after the
other, would be worth more for ever. On the same histories the largest gangs waited 522 s with 2 and 403 s
with 4, with a mean worst rho of 1.24 and 1.27; 429 s without a look-ahead."""
_GRAIN = 16.0


def worths(fluid: Fluid, service: Service, large: BoolArray) -> FloatArray:
    """What a reference device at work on its target is worth, in GPU-equivalents, shape (jobs,).

    Args:
        fluid: the plan's programme.
        service: of its jobs; one that ends beyond what was looked at is taken to end as if it began now.
        large: shape (jobs,), gangs of a whole node or more that never ran.
    """
    numbers, round_ = fluid.numbers, fluid.instance.round
    policy = round_.policy
    end = np.where(np.isfinite(service.end), service.end, numbers.alone)
    rho = np.minimum((numbers.age + end) / numbers.fair_finish, STEEPEST)
    worth = (
        numbers.base
        * rho**policy.fairness_power
        * np.sqrt(round_.round_seconds / numbers.fair_finish)
        * np.maximum(numbers.size, 1e-12) ** (-policy.size_exponent / 2)
    )
    counted = numbers.planned & (worth > 0.0)
    median = float(np.median(worth[counted])) if counted.any() else 1.0
    worth = np.clip(worth / median, 1.0 / SPREAD, SPREAD)
    worth[large] = np.maximum(worth[large], LARGE_GANG)
    found: FloatArray = np.round(worth * _GRAIN) / _GRAIN
    return found
