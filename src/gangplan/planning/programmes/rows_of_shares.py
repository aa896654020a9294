"""The rows that all programmes over shares of time have: column (i, j) is the share of job i on type j."""

from __future__ import annotations

import numpy as np

from gangplan.model.formulation.rows import Rows
from gangplan.model.program import IntArray


def rows_of_shares(gang: IntArray, devices: IntArray) -> dict[str, Rows]:
    """``sum_j x_ij <= 1`` for every job and ``sum_i gang_i x_ij <= devices_j`` for every type.

    Args:
        gang: shape (jobs,), devices of each.
        devices: shape (types,).

    Returns:
        The families ``whole_time`` and ``type_capacity`` over columns job by job.
    """
    jobs, types = len(gang), len(devices)
    every = np.arange(jobs * types)
    job, type_ = np.divmod(every, types)
    one, capacity = Rows(), Rows()
    one.add_grouped(job, every, np.ones(len(every)), np.ones(jobs), np.full(jobs, -np.inf))
    capacity.add_grouped(
        type_,
        every,
        gang[job].astype(np.float64),
        devices.astype(np.float64),
        np.full(types, -np.inf),
    )
    return {"whole_time": one, "type_capacity": capacity}
