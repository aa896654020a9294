"""Fragmentation gradient descent (Weng et al., *Beware of Fragmentation*, USENIX ATC 2023, section 4.2).

A node's fragmentation is what is free there and of no use to a task, over the tasks of the round by how often
they occur; a job goes where it grows least. Devices count by node here; which device of a node a part comes
from is left to the shared ones (:mod:`gangplan.model.packing.shared_devices`), and the paper's test on openb,
device by device, is :mod:`gangplan.bench.filling`.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.program import FloatArray, IntArray
from gangplan.planning.policies.node_scores import ByScore, Typical
from gangplan.planning.policies.protocol import How

NAME = "fgd"
ABOUT = "first come, first served, each where least of what is left becomes useless to typical jobs"


def fragmentation(free: IntArray, typical: Typical) -> FloatArray:
    """Devices free on each node that a typical task cannot use, shape (nodes,)."""
    fits = (free[:, None, :] >= typical.demand[None, :, :]).all(axis=2)
    lost: FloatArray = free[:, 0] * (~fits * typical.share).sum(axis=1)
    return lost


def _score(free: IntArray, need: IntArray, capacity: IntArray, typical: Typical) -> FloatArray:
    del capacity
    return np.round(fragmentation(free, typical) - fragmentation(free - need, typical), 9)


def make(how: How) -> ByScore:
    """The policy."""
    del how
    return ByScore(NAME, _score)
