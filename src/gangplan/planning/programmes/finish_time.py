"""Finish-time fairness by bisection: the least worst ratio of finish times, by time shares.

The metric: Mahajan et al., "Themis: Fair and Efficient GPU Cluster Scheduling", NSDI 2020. As a programme
over time shares x_ij of job i on type j: Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies
for Deep Learning Workloads" (Gavel), OSDI 2020, section 4::

    minimise max_i rho_i,  rho_i = (elapsed_i + left_i / T_i) / (isolated_i + left_i / T_iso,i),
    T_i = sum_j T_ij x_ij,   sum_j x_ij <= 1,   sum_i gang_i x_ij <= devices_j,   x >= 0

For a given rho that is linear: ``T_i >= left_i / (rho F_i - elapsed_i)`` with F_i the denominator. Bisect on
rho, then, at the optimum, maximise the sum of ``T_i / T_iso,i`` (a constant objective would leave devices
idle). T_iso is the throughput at an equal share of every type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.rows import Rows
from gangplan.model.program import FloatArray, IntArray, Program, Solution, SolveStatus
from gangplan.planning.programmes.rows_of_shares import rows_of_shares

TOLERANCE = 1e-3
"""Relative width of the last interval."""
_LARGEST_RHO, _MOST_STEPS = 1e6, 60


@dataclass(frozen=True, slots=True, eq=False)
class TimeShares:
    """Jobs and types.

    Attributes:
        throughput: shape (jobs, types), T_ij, work per second of the whole gang.
        gang: shape (jobs,), devices.
        devices: shape (types,).
        elapsed: shape (jobs,), seconds since submission.
        left: shape (jobs,), work.
        isolated: shape (jobs,), seconds that its work so far would have taken at an equal share.
    """

    throughput: FloatArray
    gang: IntArray
    devices: IntArray
    elapsed: FloatArray
    left: FloatArray
    isolated: FloatArray

    @property
    def fair_rate(self) -> FloatArray:
        """T_iso, shape (jobs,): x_ij = devices_j / jobs / gang_i, scaled down where a row is above 1."""
        share = self.devices[None, :] / len(self.gang) / self.gang[:, None]
        share = share / np.maximum(1.0, share.sum(axis=1, keepdims=True))
        rate: FloatArray = (self.throughput * share).sum(axis=1)
        return rate

    @property
    def fair_finish(self) -> FloatArray:
        """F, shape (jobs,)."""
        finish: FloatArray = self.isolated + self.left / self.fair_rate
        return finish

    def worst(self, shares: FloatArray) -> float:
        """The worst ratio under time ``shares``, shape (jobs, types)."""
        rate = (self.throughput * shares).sum(axis=1)
        with np.errstate(divide="ignore"):
            return float(((self.elapsed + self.left / rate) / self.fair_finish).max())


def formulate(shares: TimeShares, rho: float, *, conserve: bool) -> Program | None:
    """The linear programme at ``rho``: columns are the shares, job by job; None where rho is too small.

    ``conserve`` maximises throughput; else any shares will do, and the objective is 0.
    """
    jobs, types = shares.throughput.shape
    within = rho * shares.fair_finish - shares.elapsed
    if (within <= 0.0).any():
        return None
    needed = shares.left / within
    every = np.arange(jobs * types)
    scale = shares.throughput / shares.fair_rate[:, None]
    fast = Rows()
    fast.add_grouped(every // types, every, scale.ravel(), np.full(jobs, np.inf), needed / shares.fair_rate)
    return assemble(
        objective=scale.ravel() * float(conserve),
        lower=np.zeros(len(every)),
        upper=np.ones(len(every)),
        integer=np.zeros(len(every), dtype=np.bool_),
        families=rows_of_shares(shares.gang, shares.devices) | {"finish_in_time": fast},
    )


@dataclass(frozen=True, slots=True, eq=False)
class Fairest:
    """The end of the bisection.

    Attributes:
        rho: the least ratio for which shares were found.
        below: the largest for which there are none.
        shares: shape (jobs, types).
        solution: of the last programme.
        programmes: linear programmes solved.
        program: the last one.
    """

    rho: float
    below: float
    shares: FloatArray
    solution: Solution
    programmes: int
    program: Program


def bisect(
    shares: TimeShares, solve: Callable[[Program], Solution], tolerance: float = TOLERANCE
) -> Fairest | None:
    """The least worst ratio within ``tolerance``; None when a programme was not decided.

    Args:
        shares: the input.
        solve: of a linear programme, to its optimum.
        tolerance: relative width of the last interval.
    """
    below = float((shares.elapsed / shares.fair_finish).max())
    rho, best, solved = max(1.0, 2.0 * below), np.inf, 0
    for _ in range(_MOST_STEPS):
        if best - below <= tolerance * best < np.inf or rho > _LARGEST_RHO:
            break
        program = formulate(shares, rho, conserve=False)
        solution = None if program is None else solve(program)
        if solution is not None:
            solved += 1
            if solution.status not in (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE):
                return None
        if solution is not None and solution.values is not None:
            found = shares.worst(solution.values.reshape(shares.throughput.shape))
            best = min(rho, max(below, found))
        else:
            below = rho
        rho = 2.0 * rho if best == np.inf else (below + best) / 2.0
    program = formulate(shares, best, conserve=True) if best < np.inf else None
    if program is None:
        return None
    solution = solve(program)
    if solution.values is None:
        return None
    values = solution.values.reshape(shares.throughput.shape)
    return Fairest(best, below, values, solution, solved + 1, program)
