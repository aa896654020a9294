"""Sia's multi-choice programme: each job picks one configuration, each type has its devices.

Subramanya et al., "Sia: Heterogeneity-aware, goodput-optimized ML-cluster scheduling", SOSP 2023, section
3.3, in the form of its public code (power p < 0, hence minimised)::

    minimise   sum_ik A_ik round((r_ik G_ik)^p, 2) + lambda (jobs - sum_ik A_ik),   A binary
    subject to sum_k A_ik <= 1                                        every job
               sum_ik devices_k A_ik <= devices of the type           every type

G is goodput over the job's least, r the restart factor ``(age - restarts * cost) / (age + cost)`` on all
configurations but the present one (equation 2), p = -0.5, lambda = 1.1. Ours is its negative, maximised, so
that ``objective = -cost``. Configurations that cost at least lambda are left out: no optimum has one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.rows import Rows
from gangplan.model.program import FloatArray, IntArray, Program

POWER, WAITING_COST, GAP = -0.5, 1.1, 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class MultiChoice:
    """What is chosen from.

    Attributes:
        cost: shape (jobs, configurations).
        devices: shape (configurations,).
        type_of: shape (configurations,), index of the accelerator type.
        capacity: shape (types,), devices.
        waiting_cost: of a job without a configuration.
    """

    cost: FloatArray
    devices: IntArray
    type_of: IntArray
    capacity: IntArray
    waiting_cost: float = WAITING_COST

    @property
    def picks(self) -> tuple[IntArray, IntArray]:
        """Job and configuration of every column, each of shape (columns,)."""
        job, configuration = np.nonzero(self.cost < self.waiting_cost)
        return job, configuration


def formulate(chosen: MultiChoice) -> Program:
    """The programme; columns are the picks in the order of :attr:`MultiChoice.picks`."""
    job, configuration = chosen.picks
    columns = len(job)
    jobs, types = len(chosen.cost), len(chosen.capacity)
    one, capacity = Rows(), Rows()
    every = np.arange(columns)
    one.add_grouped(job, every, np.ones(columns), np.ones(jobs), np.full(jobs, -np.inf))
    capacity.add_grouped(
        chosen.type_of[configuration],
        every,
        chosen.devices[configuration].astype(np.float64),
        chosen.capacity.astype(np.float64),
        np.full(types, -np.inf),
    )
    return assemble(
        objective=chosen.waiting_cost - chosen.cost[job, configuration],
        lower=np.zeros(columns),
        upper=np.ones(columns),
        families={"one_configuration": one, "type_capacity": capacity},
        offset=-chosen.waiting_cost * jobs,
    )


def round_picks(chosen: MultiChoice, relaxed: FloatArray) -> FloatArray:
    """A feasible choice from the relaxation's: whole picks stand, then greedily by saving per device.

    A basic solution of the relaxation has at most as many jobs with fractional picks as there are types.
    First those jobs choose among their picks, largest share first, then what is free goes to any job that has
    none, largest saving per device first.

    Args:
        chosen: the input.
        relaxed: shape (columns,), values of the relaxation.

    Returns:
        shape (columns,), zeros and ones.
    """
    job, configuration = chosen.picks
    devices, type_of = chosen.devices[configuration], chosen.type_of[configuration]
    saving = chosen.waiting_cost - chosen.cost[job, configuration]
    values = np.zeros(len(job))
    free = chosen.capacity.astype(np.int64).copy()
    served = np.zeros(len(chosen.cost), dtype=np.bool_)
    picked = np.flatnonzero(relaxed > 1e-6)
    greedy = np.argsort(-saving / devices, kind="stable")
    for k in [*picked[np.argsort(-relaxed[picked], kind="stable")].tolist(), *greedy.tolist()]:
        if not served[job[k]] and devices[k] <= free[type_of[k]]:
            values[k] = 1.0
            served[job[k]] = True
            free[type_of[k]] -= devices[k]
    return values
