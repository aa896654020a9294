"""Shockwave's schedule of the next rounds: Nash welfare of progress and makespan, with fairness rows.

Zheng et al., "Shockwave: Fair and Efficient Cluster Scheduling for Dynamic Adaptation in Machine Learning",
NSDI 2023, the schedule solver, in the form of its public code (F = 20 rounds of 120 s, rho_max = 1, bases 0,
0.2 .. 1, and k = 1e-3 from its configuration for 32 devices: 1e5, that for 256, leaves only the makespan)::

    maximise   sum_i ln((done_i + p_i) / epochs_i) / (jobs F) - k max_i (left_i - d_i p_i)
    subject to d_i p_i <= D sum_t y_it                          y binary: job i runs in round t
               sum_i gang_i y_it <= devices                     every round
               now + F D + (left_i - d_i p_i) / share <= rho_max * T_i     finish in time

with d_i the seconds of an epoch, left_i its remaining seconds, share = min(1, devices / jobs) and T_i the
promised finish. The logarithm runs along the bases: weights of neighbouring bases, with a binary for every
base and a row for every pair that is not neighbouring (33 columns a job, as there). The logarithm is concave,
so that an optimum has neighbouring weights anyhow: ``lean`` leaves those binaries and rows out. Where ln(0)
would be, the public code takes a parameter; here it is ln(0.01). Times are in rounds, so the makespan weighs
k D.

All is homogeneous: devices are A100, and a job's gang is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.rows import Rows
from gangplan.model.program import FloatArray, IntArray, Program

ROUNDS, ROUND_SECONDS, GAP = 20, 120.0, 1e-3
BASES = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
HEIGHTS = np.log(np.maximum(BASES, 0.01))
MAKESPAN_WEIGHT = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Epochs:
    """Jobs of known epochs.

    Attributes:
        epochs: shape (jobs,), in all.
        done: shape (jobs,), epochs done, below ``epochs``.
        epoch_rounds: shape (jobs,), rounds that an epoch takes.
        gang: shape (jobs,), devices.
        devices: of the cluster.
        promised: shape (jobs,), rounds from now until which each job is to finish; infinite: no matter.
        rounds: how many are planned.
        makespan_weight: per round.
        worth: shape (jobs,), what the logarithm of each is multiplied by; None: 1.
    """

    epochs: FloatArray
    done: FloatArray
    epoch_rounds: FloatArray
    gang: IntArray
    devices: int
    promised: FloatArray
    rounds: int = ROUNDS
    makespan_weight: float = MAKESPAN_WEIGHT * ROUND_SECONDS
    worth: FloatArray | None = None

    @property
    def jobs(self) -> int:
        """Number of jobs."""
        return len(self.gang)

    @property
    def left(self) -> FloatArray:
        """Rounds that each job still needs, shape (jobs,)."""
        rounds: FloatArray = (self.epochs - self.done) * self.epoch_rounds
        return rounds

    @property
    def share(self) -> float:
        """Part of the time that a job will get after the planned rounds."""
        return min(1.0, self.devices / self.jobs)


def formulate(jobs: Epochs, *, lean: bool = False) -> Program:
    """The programme; columns: y job by job and round by round, then p, weights, binaries, the makespan.

    Args:
        jobs: the input.
        lean: without the binaries of bases and the rows of neighbours: the same optimum, 27 columns a job.
    """
    n, rounds, bases = jobs.jobs, jobs.rounds, len(BASES)
    job = np.arange(n, dtype=np.int64)
    y = np.arange(n * rounds, dtype=np.int64).reshape(n, rounds)
    p = y.size + job
    weight = (y.size + n) + np.arange(n * bases, dtype=np.int64).reshape(n, bases)
    chosen = weight + n * bases
    makespan = int((weight if lean else chosen)[-1, -1]) + 1
    columns = makespan + 1
    left = jobs.left
    nothing, unbounded = np.full(n, -np.inf), np.full(n, np.inf)

    objective = np.zeros(columns)
    worth = np.ones(n) if jobs.worth is None else jobs.worth
    objective[weight] = worth[:, None] * HEIGHTS / (n * rounds)
    objective[makespan] = -jobs.makespan_weight
    upper = np.ones(columns)
    upper[p] = jobs.epochs - jobs.done
    upper[makespan] = float(left.max())
    integer = np.zeros(columns, dtype=np.bool_)
    integer[y] = True
    if not lean:
        integer[chosen] = True

    def by_job(*parts: tuple[IntArray, FloatArray | float]) -> tuple[IntArray, IntArray, FloatArray]:
        """Entries of one row per job from columns and values of shape (jobs, any)."""
        columns_ = np.concatenate([c.reshape(n, -1) for c, _ in parts], axis=1)
        values = np.concatenate(
            [np.broadcast_to(np.asarray(v, dtype=np.float64), c.shape).reshape(n, -1) for c, v in parts],
            axis=1,
        )
        return np.repeat(job, columns_.shape[1]), columns_.ravel(), values.ravel()

    capacity, progress, curve, hull, pairs = Rows(), Rows(), Rows(), Rows(), Rows()
    capacity.add_grouped(
        np.tile(np.arange(rounds), n),
        y.ravel(),
        np.repeat(jobs.gang.astype(np.float64), rounds),
        np.full(rounds, float(jobs.devices)),
        np.full(rounds, -np.inf),
    )
    progress.add_grouped(*by_job((p, jobs.epoch_rounds), (y, -1.0)), np.zeros(n), nothing)
    reached = jobs.done / jobs.epochs
    curve.add_grouped(*_nonzero(*by_job((weight, BASES), (p, -1.0 / jobs.epochs))), reached, reached)
    hull.add_grouped(*by_job((weight, 1.0)), np.ones(n), np.ones(n))
    if not lean:
        pairs.add_grouped(*by_job((chosen, 1.0)), np.full(n, 2.0), nothing)
    for b in () if lean else range(bases):
        pairs.add_grouped(*by_job((weight[:, b], 1.0), (chosen[:, b], -1.0)), np.zeros(n), nothing)
        for other in range(b + 2, bases):
            pairs.add_grouped(
                *by_job((chosen[:, b], 1.0), (chosen[:, other], 1.0)),
                np.ones(n),
                nothing,
            )
    last, fair = Rows(), Rows()
    last.add_grouped(
        *by_job((np.full(n, makespan, dtype=np.int64), 1.0), (p, jobs.epoch_rounds)), unbounded, left
    )
    due = np.isfinite(jobs.promised)
    fair.add_grouped(
        job[due],
        p[due],
        jobs.epoch_rounds[due],
        unbounded,
        np.where(due, left - jobs.share * (np.where(due, jobs.promised, 0.0) - rounds), -np.inf),
    )
    return assemble(
        objective=objective,
        lower=np.zeros(columns),
        upper=upper,
        families={
            "round_capacity": capacity,
            "progress": progress,
            "curve": curve,
            "hull": hull,
            "neighbours": pairs,
            "makespan": last,
            "finish_in_time": fair,
        },
        integer=integer,
    )


def _nonzero(row: IntArray, column: IntArray, value: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    some = value != 0.0
    return row[some], column[some], value[some]


def values_of(jobs: Epochs, plan: IntArray) -> FloatArray:
    """Column values of a ``plan``, shape (jobs, rounds), of zeros and ones: all get on as far as they can."""
    n, bases = jobs.jobs, len(BASES)
    p = np.minimum(plan.sum(axis=1) / jobs.epoch_rounds, jobs.epochs - jobs.done)
    reached = np.clip((jobs.done + p) / jobs.epochs, 0.0, 1.0)
    at = np.clip(np.searchsorted(BASES, reached, side="right") - 1, 0, bases - 2)
    part = (reached - BASES[at]) / (BASES[at + 1] - BASES[at])
    weight = np.zeros((n, bases))
    weight[np.arange(n), at], weight[np.arange(n), at + 1] = 1.0 - part, part
    makespan = float((jobs.left - jobs.epoch_rounds * p).max())
    return np.concatenate(
        [plan.ravel().astype(np.float64), p, weight.ravel(), (weight > 0.0).ravel(), [max(0.0, makespan)]]
    )


def round_plan(jobs: Epochs, relaxed: FloatArray) -> FloatArray:
    """A plan from the relaxation: to each job as many rounds as there, rounded up.

    Three times over the jobs, largest gang first, then most behind: the rounds that its promised finish
    needs, those that it has in the relaxation, those that it can still use. Each takes the rounds in which
    most devices are free. Promises may be broken where that does not fit: whoever asks must check
    (:meth:`~gangplan.model.program.Program.worst_violation`).
    """
    n, rounds = jobs.jobs, jobs.rounds
    share = relaxed[: n * rounds].reshape(n, rounds).sum(axis=1)
    plan = np.zeros((n, rounds), dtype=np.int64)
    free = np.full(rounds, jobs.devices, dtype=np.int64)
    useful = np.minimum(np.ceil(jobs.left - 1e-9), rounds).astype(np.int64)
    wanted = np.minimum(np.ceil(share - 1e-6).astype(np.int64), useful)
    order = np.lexsort((np.arange(n), -jobs.left, -jobs.gang))
    short = jobs.left - jobs.share * (jobs.promised - rounds)
    promised = np.clip(np.ceil(short - 1e-9), 0, useful).astype(np.int64)
    for most in (promised, wanted, useful):
        for i in order.tolist():
            open_ = np.flatnonzero((free >= jobs.gang[i]) & (plan[i] == 0))
            take = max(0, int(most[i]) - int(plan[i].sum()))
            chosen = open_[np.argsort(-free[open_], kind="stable")][:take]
            plan[i, chosen] = 1
            free[chosen] -= jobs.gang[i]
    return values_of(jobs, plan)
