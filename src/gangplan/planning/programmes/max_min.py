"""Max-min fairness over shares of time: the worst normalised throughput as large as can be.

Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads" (Gavel), OSDI
2020, section 4.1, with the gang in the scale as its public code has it::

    maximise   z
    subject to z <= gang_i sum_j (T_ij / T_fair,i) x_ij                              every job that can run
               sum_j x_ij <= 1,   sum_i gang_i x_ij <= devices_j,   x >= 0

T_fair is the throughput with an equal share of every type. A vertex of that leaves devices idle that would
help others than the worst, so at the optimum a second programme maximises the sum of the scaled throughputs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.rows import Rows
from gangplan.model.program import FloatArray, IntArray, Program, Solution
from gangplan.planning.programmes.rows_of_shares import rows_of_shares

_SLACK = 1e-6
"""By how much, relatively, the second programme may fall below the first one's optimum."""


def formulate(scaled: FloatArray, gang: IntArray, devices: IntArray, floor: float | None) -> Program:
    """The programme over shares, job by job; without a ``floor`` with z as the last column.

    Args:
        scaled: shape (jobs, types), T_ij / T_fair,i.
        gang: shape (jobs,), devices of each.
        devices: shape (types,).
        floor: least z; given, the sum is maximised, and there is no column for z.
    """
    types = scaled.shape[1]
    value = (scaled * gang[:, None]).ravel()
    worst = Rows()
    some = np.flatnonzero((scaled > 0).any(axis=1)).tolist()
    z = scaled.size
    for i in some:
        entries = [(int(i * types + t), float(value[i * types + t])) for t in range(types)]
        worst.add([*entries, (z, -1.0)] if floor is None else entries, lower=floor or 0.0)
    extra = [float(value.max(initial=0.0)) * types] if floor is None else []
    usable = (scaled.ravel() > 0).astype(np.float64)
    return assemble(
        objective=np.append(np.zeros(z), 1.0) if floor is None else value,
        lower=np.zeros(z + len(extra)),
        upper=np.append(usable, extra),
        integer=np.zeros(z + len(extra), dtype=np.bool_),
        families=rows_of_shares(gang, devices) | {"worst": worst},
    )


def largest_minimum(
    scaled: FloatArray, gang: IntArray, devices: IntArray, solve: Callable[[Program], Solution]
) -> FloatArray:
    """Shares of time, shape (jobs, types); equal ones where a solver fails.

    Args:
        scaled: shape (jobs, types), throughput over that with an equal share.
        gang: shape (jobs,), devices of each.
        devices: shape (types,).
        solve: of a linear programme.
    """
    if not scaled.size:
        return np.zeros_like(scaled)
    first = solve(formulate(scaled, gang, devices, None))
    if first.values is None:
        return np.where(scaled > 0, 1.0 / scaled.shape[1], 0.0)
    shares = first.values[:-1]
    second = solve(formulate(scaled, gang, devices, float(first.values[-1]) * (1.0 - _SLACK)))
    found = shares if second.values is None else second.values
    return found.reshape(scaled.shape)
