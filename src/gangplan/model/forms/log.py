"""Log: Nash welfare, the sum of logarithms of what every job has received.

The worth of a round's service X D, after F before it, is ``log(F + X D) - log F``: the objective of Shockwave
(Zheng et al., NSDI 2023, section 4: Eisenberg and Gale's programme over rounds), tabulated, one round at a
time. F is the work done plus one round of the job's fair share, which seeds a new job's (decision 12), and at
most 1,000 rounds at its reference: beyond, a job counts as one that has just received so much, which keeps
the urgencies within decision 11's range.

With ``m = X_ref D / F`` the gain at relative throughput r is ``log(1 + m r)``. It has no unit, and its size
depends on how long jobs have run. So it is measured by what the job would gain at its reference,
``s = log(1 + m)``, and s by its median: the median job at full speed is worth what it is worth to the
throughput term, and less and less is gained by going faster: ``h(r) = log(1 + m r) / log(1 + m)``.

The sizes of jobs enter through req^gamma: with gamma 1 every device asked for has one voice, with gamma 0
every job. The power is not read.
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

FORM = FairnessForm.LOG
CURVED = True
BY_BASE = True
SPREAD: float | None = None
MOST_ROUNDS = 1_000
"""Service that counts, in rounds at the reference."""


def urgencies(standings: Standings, power: float) -> FloatArray:
    """log(1 + m)."""
    del power
    return np.log1p(_rounds_worth(standings))


def earned(standings: Standings, relative: FloatArray, power: float) -> FloatArray:
    """log(1 + m r) / log(1 + m)."""
    del power
    more = _rounds_worth(standings)
    gained: FloatArray = np.log1p(more * relative) / np.log1p(more)
    return gained


def _rounds_worth(standings: Standings) -> FloatArray:
    """M: a round at the reference over the service before it, shape (jobs,)."""
    round_at_reference = standings.reference * standings.round_seconds
    seed = np.where(standings.fair_rate > 0.0, standings.fair_rate, standings.reference)
    before = standings.done + seed * standings.round_seconds
    more = np.divide(
        round_at_reference,
        before,
        out=np.ones_like(before),
        where=(before > 0.0) & (round_at_reference > 0.0),
    )
    return np.maximum(more, 1.0 / MOST_ROUNDS)


def urgency(standing: Standing, power: float) -> float:
    """Log F(after a round at the reference) - log F."""
    del power
    before, full = _service(standing)
    return math.log1p(full / before)


def earns(standing: Standing, relative: float, power: float) -> float:
    """What log F gains by the round, over what it would gain at the reference."""
    del power
    before, full = _service(standing)
    return math.log1p(relative * full / before) / math.log1p(full / before)


def _service(standing: Standing) -> tuple[float, float]:
    """F, and a round at the reference, both in work units."""
    full = standing.reference * standing.round_seconds
    if full <= 0.0:
        return 1.0, 1.0
    before = standing.done + (standing.isolated or standing.reference) * standing.round_seconds
    return min(before, MOST_ROUNDS * full), full
