"""Best fit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.program import FloatArray, IntArray
from gangplan.planning.policies.node_scores import Typical, serve_by_score
from gangplan.planning.policies.protocol import How

NAME = "best-fit"
ABOUT = "first come, first served, each on the node of which least stays free"


@dataclass(frozen=True, slots=True)
class BestFit:
    """The fullest node that has room, by devices and CPU alike.

    The rival of that name in Weng et al., *Beware of Fragmentation* (USENIX ATC 2023, section 6): what is
    left counts half by devices, half by CPU, each over the most that any node with room has.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        return serve_by_score(round_, _score)

    def steady_until(self, round_: Round) -> float:
        """For ever: nobody is stopped."""
        del round_
        return math.inf


def _score(free: IntArray, need: IntArray, capacity: IntArray, typical: Typical) -> FloatArray:
    del typical
    left = (free - need)[:, :2] / np.maximum(1, capacity[:, :2].max(axis=0))
    score: FloatArray = -left.mean(axis=1)
    return score


def make(how: How) -> BestFit:
    """The policy."""
    del how
    return BestFit()
