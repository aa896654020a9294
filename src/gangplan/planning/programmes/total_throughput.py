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
from gangplan.model.program import FloatArray, IntArray, Program
from gangplan.planning.programmes.rows_of_shares import rows_of_shares


def formulate(throughput: FloatArray, gang: IntArray, devices: IntArray) -> Program:
    """The programme over shares, job by job.

    Args:
        throughput: shape (jobs, types), 0 where a job cannot run.
        gang: shape (jobs,), devices of each.
        devices: shape (types,).
    """
    largest = float(throughput.max(initial=0.0)) or 1.0
    return assemble(
        objective=throughput.ravel() / largest,
        lower=np.zeros(throughput.size),
        upper=(throughput.ravel() > 0).astype(np.float64),
        integer=np.zeros(throughput.size, dtype=np.bool_),
        families=rows_of_shares(gang, devices),
    )
