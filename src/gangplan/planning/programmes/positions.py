"""Jobs on types and positions from the end: the least sum of completion times on unlike machines.

Le, Sun, Chowdhury, Liu, "AlloX: Compute Allocation in Hybrid Clusters" (EuroSys 2020), section 4.2: on
machine m the k-th job from the end delays k jobs, itself included, so that a job of processing time p adds
k p there, and the least sum is a matching of jobs with pairs of machine and position (Bruno, Coffman, Sethi,
*CACM* 17(7), 1974). Alike machines are one type here, whose position k has as many places as it has devices,
and a gang takes several of one position (ours; the paper's jobs have one device)::

    maximise   sum_itk (M - k p_it) x_itk
    subject to sum_tk x_itk <= 1                       every job
               sum_i gang_i x_itk <= devices_t         every type and position,   0 <= x <= 1

M is more than any k p. With single devices the relaxation has whole values, as every transport problem has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.rows import Rows
from gangplan.model.program import FloatArray, IntArray, Program, Solution


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Jobs and types.

    Attributes:
        seconds: shape (jobs, types), p, infinite where a job cannot run.
        gang: shape (jobs,), devices.
        devices: shape (types,).
    """

    seconds: FloatArray
    gang: IntArray
    devices: IntArray

    @property
    def deepest(self) -> int:
        """Most positions that the work of all can need on any type."""
        least = int(self.devices[self.devices > 0].min(initial=2**31))
        return min(len(self.gang), 1 + math.ceil(int(self.gang.sum()) / max(1, least)))

    @property
    def cells(self) -> tuple[IntArray, IntArray, IntArray]:
        """Job, type and position (from 1) of every column, each of shape (columns,)."""
        fits = np.isfinite(self.seconds) & (self.gang[:, None] <= self.devices[None, :])
        job, type_ = np.nonzero(fits)
        depth = self.deepest
        return np.repeat(job, depth), np.repeat(type_, depth), np.tile(np.arange(1, depth + 1), len(job))


def formulate(given: Positions) -> Program:
    """The programme's relaxation; columns are :attr:`Positions.cells`."""
    job, type_, position = given.cells
    depth = given.deepest
    cost = position * given.seconds[job, type_]
    every = np.arange(len(job))
    one, room = Rows(), Rows()
    jobs, places = len(given.gang), len(given.devices) * depth
    one.add_grouped(job, every, np.ones(len(job)), np.ones(jobs), np.full(jobs, -np.inf))
    room.add_grouped(
        type_ * depth + position - 1,
        every,
        given.gang[job].astype(np.float64),
        np.repeat(given.devices, depth).astype(np.float64),
        np.full(places, -np.inf),
    )
    return assemble(
        objective=2.0 * float(cost.max(initial=1.0)) - cost,
        lower=np.zeros(len(job)),
        upper=np.ones(len(job)),
        integer=np.zeros(len(job), dtype=np.bool_),
        families={"one_place": one, "places": room},
    )


def order(given: Positions, solve: Callable[[Program], Solution]) -> list[tuple[int, int]]:
    """Job and type of everybody who has a place, in the order in which they start.

    Those farthest from the end come first, of these the shortest; of a job in parts the largest counts.
    """
    job, type_, position = given.cells
    if not len(job):
        return []
    values = solve(formulate(given)).values
    if values is None:
        return []
    best: dict[int, tuple[float, int, int]] = {}
    for n in np.flatnonzero(values > 1e-6).tolist():
        mine = (float(values[n]), int(type_[n]), int(position[n]))
        if mine[0] > best.get(int(job[n]), (0.0, 0, 0))[0]:
            best[int(job[n])] = mine
    queue = sorted(best, key=lambda i: (-best[i][2], float(given.seconds[i, best[i][1]]), i))
    return [(i, best[i][1]) for i in queue]
