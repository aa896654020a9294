"""Fragmentation gradient descent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.program import FloatArray, IntArray
from gangplan.planning.policies.node_scores import Typical, serve_by_score
from gangplan.planning.policies.protocol import How

NAME = "fgd"
ABOUT = "first come, first served, each where least of what is left becomes useless to typical jobs"


@dataclass(frozen=True, slots=True)
class Fgd:
    """Fragmentation gradient descent (Weng et al., *Beware of Fragmentation*, USENIX ATC 2023, section 4.2).

    A node's fragmentation is what is free there and of no use to a task, over the tasks of the round by how
    often they occur; a job goes where it grows least. Devices count by node here; which device of a node a
    part comes from is left to the shared ones (:mod:`gangplan.model.packing.shared_devices`), and the paper's
    test on openb, device by device, is :mod:`gangplan.bench.filling`.
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


def fragmentation(free: IntArray, typical: Typical) -> FloatArray:
    """Devices free on each node that a typical task cannot use, shape (nodes,)."""
    fits = (free[:, None, :] >= typical.demand[None, :, :]).all(axis=2)
    lost: FloatArray = free[:, 0] * (~fits * typical.share).sum(axis=1)
    return lost


def _score(free: IntArray, need: IntArray, capacity: IntArray, typical: Typical) -> FloatArray:
    del capacity
    return np.round(fragmentation(free, typical) - fragmentation(free - need, typical), 9)


def make(how: How) -> Fgd:
    """The policy."""
    del how
    return Fgd()
