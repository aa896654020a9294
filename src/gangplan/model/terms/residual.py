"""Residual value: what is left free is worth something, by the blocks of whole nodes in it (decision 27).

For every kind of block that the round's outlook gives a worth (:class:`~gangplan.domain.outlook.FreeBlocks`):
``v min(r, n)``, where v is the worth of one, r the number that is wanted, and n how many of them the plan
leaves free, no node in two. Without it a round has no reason to keep a node, a rack or an NVLink domain
whole.

A node counts as free when tasks without tolerations may start there, all its built-in devices are usable, and
nobody holds any of them after the plan; CPU and memory do not count. It is no matter of single jobs: the
model has the blocks as jobs that nobody runs (``instance/free_blocks.py``), the verifier counts them node by
node. Nobody is stopped for it, nor moved where that costs anything: a disruption must pay by what the jobs
themselves are worth (decision 14).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.verifier.free_blocks import worth_of_free

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.outcome_table import OutcomeTable
    from gangplan.model.verifier.reading import Reading

NAME = "residual"
UNIT = "devices expected to be asked for in whole blocks"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """``policy.residual_weight``; nothing without an outlook."""
    return 0.0 if round_.outlook is None else round_.policy.residual_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: none, it is no matter of a job."""
    return np.zeros(len(table.value))


def evaluate(table: OutcomeTable) -> FloatArray:
    """Nothing: it is no matter of a job."""
    return np.zeros(len(table))


def evaluate_plan(reading: Reading) -> float:
    """What the blocks that the plan leaves free are worth."""
    return worth_of_free(reading)
