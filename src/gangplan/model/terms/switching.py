"""Switching: the device time that stops and restarts throw away, spread over the horizon.

Decision 13, with H = max(D, min(horizon, work_left / present throughput)) seconds:

* evicted, moved or resized by choice: ``-(lost + restart) * held / H``;
* kept, started, waiting or forced: 0. KEEP costs nothing and a forced action was nobody's choice (decision
17).

``lost`` is the running time since the last checkpoint (unknown counts as all of it, the worst case; a job
that gets notice loses the time of writing one instead) and ``held`` the devices before; ``req`` for a
CPU-only job. The unit is devices over one round: a cost of C device-seconds counts ``C D / H`` device-seconds
of each round of length D.

Service that an outlook asks for earns its value and ``tracking_weight`` times its worth again
(``tracking``). So in a round with an outlook what a stop loses counts ``1 + tracking_weight`` times as much,
too; were it not, every stop would look that much better than it is: at a load of 1, work was thrown away
round after round.

What a change costs does not hang on what it leads to. So no way round is cheaper than the straight way: with
the clock frozen, a plan of the next round that changes this one's could have been had in this round for no
more than both together, and after an optimal plan there is none that is worth more (decision 14). Were the
restart counted on the devices held afterwards, a job of five devices would be stopped most cheaply by leaving
it one of them first: the next round would stop it for a fifth of the cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "switching"
UNIT = "device-rounds"
SPREAD_OVER_HORIZON = True
"""A cost paid once and spread over H, not a value of every round."""


def weight(round_: Round) -> float:
    """``policy.switching_weight``, times ``1 + policy.tracking_weight`` where the round has an outlook."""
    policy = round_.policy
    return policy.switching_weight * (1.0 + (policy.tracking_weight if round_.outlook is not None else 0.0))


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: - lost device-seconds over H."""
    return -table.lost_device_seconds / table.horizon_seconds


def evaluate(table: OutcomeTable) -> FloatArray:
    """The (negative) cost of stopping and restarting each job."""
    found = np.zeros(len(table))
    for row in np.flatnonzero(table.stopped):
        job = table.columns.jobs[table.at[row]]
        mine = table.facts.jobs[job.name]
        found[row] = -(mine.lost_seconds + job.restart_seconds) * mine.held / mine.horizon
    return found
