"""Best fit: the fullest node that has room, by devices and CPU alike.

The rival of that name in Weng et al., *Beware of Fragmentation* (USENIX ATC 2023, section 6): what is left
counts half by devices, half by CPU, each over the most that any node with room has.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.program import FloatArray, IntArray
from gangplan.planning.policies.node_scores import ByScore, Typical
from gangplan.planning.policies.protocol import How

NAME = "best-fit"
ABOUT = "first come, first served, each on the node of which least stays free"


def _score(free: IntArray, need: IntArray, capacity: IntArray, typical: Typical) -> FloatArray:
    del typical
    left = (free - need)[:, :2] / np.maximum(1, capacity[:, :2].max(axis=0))
    score: FloatArray = -left.mean(axis=1)
    return score


def make(how: How) -> ByScore:
    """The policy."""
    del how
    return ByScore(NAME, _score)
