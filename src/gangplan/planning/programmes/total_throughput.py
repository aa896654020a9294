"""The largest sum of throughputs over shares of time.

Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads" (Gavel), OSDI
2020, section 4.2 and its public code (``max_sum_throughput``), without costs and deadlines::

    maximise   sum_ij T_ij x_ij
    subject to sum_j x_ij <= 1,   sum_i gang_i x_ij <= devices_j,   x >= 0

T is in the jobs' own units, which the code does not normalise: who counts small units is served first.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.rows import Rows
from gangplan.model.program import FloatArray, IntArray, Program


def formulate(throughput: FloatArray, gang: IntArray, devices: IntArray) -> Program:
    """The programme over shares, job by job.

    Args:
        throughput: shape (jobs, types), 0 where a job cannot run.
        gang: shape (jobs,), devices of each.
        devices: shape (types,).
    """
    jobs, types = throughput.shape
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
    largest = float(throughput.max(initial=0.0)) or 1.0
    return assemble(
        objective=throughput.ravel() / largest,
        lower=np.zeros(len(every)),
        upper=(throughput.ravel() > 0).astype(np.float64),
        integer=np.zeros(len(every), dtype=np.bool_),
        families={"whole_time": one, "type_capacity": capacity},
    )
