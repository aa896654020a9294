"""Whom the end of all waits for: jobs that must run from now on, or all that is known ends later.

All that is known cannot be done before ``T = max(longest, load / devices)``: the longest job at its best, and
the least device time of all jobs over the devices. For jobs of one device that may be stopped T is reached
(McNaughton, *Management Science* 6, 1959). Every round that passes by a job without slack against T puts the
end of all off; who has slack may wait for those whose delay costs more. Shockwave's programme (Zheng et al.,
NSDI 2023) has the same aim as a term, the largest remaining time that a plan leaves.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.lookahead.fluid import Fluid, load_of
from gangplan.model.program import BoolArray

SLACK_ROUNDS = 2.0
"""Slack, in rounds, below which a job may not wait any longer."""


def last_to_end(fluid: Fluid) -> BoolArray:
    """Which jobs the end of all waits for, shape (jobs,); nobody where the policy does not mind."""
    numbers, round_ = fluid.numbers, fluid.instance.round
    if round_.policy.makespan_weight <= 0.0:
        return np.zeros(len(numbers.planned), dtype=np.bool_)
    busy, longest = load_of(fluid.instance, numbers, fluid.crowd)
    end = max(busy, longest)
    found: BoolArray = numbers.planned & (numbers.alone + SLACK_ROUNDS * round_.round_seconds >= end)
    return found
