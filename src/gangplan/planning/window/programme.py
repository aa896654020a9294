"""The integer programme of a window.

With y_jkt whether job j runs in way k in round t, s_jkt whether it starts so, e_jt whether it is done by the
end of round t, D the length of a round and R_j = min(restart, D)::

    sum_k y_jkt <= 1
    sum of use <= capacity                                     every round and resource
    y_jkt - y_jk(t-1) <= s_jkt
    work_j e_jt <= sum over tau <= t of X_jk (D y_jk,tau - R_j s_jk,tau)

A job's completion is counted in whole rounds, from its arrival's round to that in which it ends. A deadline
in the middle of a round counts the part of the round before it, and the whole restart if that fits.

A time-indexed formulation (Sousa and Wolsey, *A time indexed formulation of non-preemptive single machine
scheduling problems*, Mathematical Programming 54, 1992), preemptive and over ways to run, as Chronus (Gao et
al., SoCC 2021) has it over leases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.rows import Rows
from gangplan.model.program import FloatArray, Program
from gangplan.planning.window.ways import Window, WindowJob


class Goal(Enum):
    """What is best."""

    COMPLETION = "completion"
    """Least total weighted completion time, in rounds."""
    WORST_RHO = "worst_rho"
    """Least worst rho, by the window's own denominators; at that, least completion (decision 48)."""
    DEADLINES = "deadlines"
    """Most deadlines met."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column is which; -1: there is none.

    Attributes:
        runs: by job, shape (ways, rounds), y.
        starts: by job, the same, s.
        done: by job, shape (rounds,), e.
        met: by job; whether it meets its deadline.
        worst: the worst rho.
        columns: how many there are.
    """

    runs: tuple[np.ndarray, ...]
    starts: tuple[np.ndarray, ...]
    done: tuple[np.ndarray, ...]
    met: tuple[int, ...]
    worst: int
    columns: int


def lay_out(window: Window, goal: Goal) -> Layout:
    """Number the columns: only rounds in which a job is there have any."""
    at = 0

    def take(shape: tuple[int, ...], free: np.ndarray) -> np.ndarray:
        nonlocal at
        found = np.full(shape, -1, dtype=np.int64)
        count = int(free.sum())
        found[free] = np.arange(at, at + count)
        at += count
        return found

    runs, starts, done, met = [], [], [], []
    for job in window.jobs:
        there = np.arange(window.rounds) >= job.arrives
        wide = np.broadcast_to(there, (len(job.ways), window.rounds))
        runs.append(take(wide.shape, wide))
        starts.append(take(wide.shape, wide))
        done.append(take(there.shape, there))
        due = goal is Goal.DEADLINES and job.due_seconds is not None
        met.append(int(take((1,), np.array([due]))[0]))
    worst = int(take((1,), np.array([goal is Goal.WORST_RHO]))[0])
    return Layout(tuple(runs), tuple(starts), tuple(done), tuple(met), worst, at)


def formulate(window: Window, goal: Goal, layout: Layout, worst: float | None = None) -> Program:
    """The programme, to be maximised.

    Args:
        window: the window.
        goal: what is best.
        layout: of its columns.
        worst: with :attr:`Goal.WORST_RHO`: the least completion among schedules whose worst rho is at most
            this; None: the least worst rho.
    """
    objective, integer = np.zeros(layout.columns), np.ones(layout.columns, dtype=np.bool_)
    upper = np.ones(layout.columns)
    offset = 0.0
    for i, job in enumerate(window.jobs):
        integer[layout.starts[i][layout.starts[i] >= 0]] = False
        mine = layout.done[i][job.arrives :]
        if goal is Goal.COMPLETION or worst is not None:
            objective[mine] = job.weight
            offset -= job.weight * (len(mine) + 1)
        if layout.met[i] >= 0:
            objective[layout.met[i]] = 1.0
    families = {"one_way": Rows(), "capacity": Rows(), "starts": Rows(), "progress": Rows()}
    if layout.worst >= 0:
        objective[layout.worst], integer[layout.worst] = -1.0 if worst is None else 0.0, False
        longest = max(_rho(window, job, window.rounds) for job in window.jobs)
        upper[layout.worst] = longest if worst is None else worst
        families["worst_rho"] = Rows()
        for i, job in enumerate(window.jobs):
            # rho = base - step * (rounds by whose end it is done) <= worst
            step = window.round_seconds / job.fair_seconds
            mine = layout.done[i][job.arrives :].tolist()
            most = _rho(window, job, window.rounds)
            families["worst_rho"].add([(layout.worst, 1.0), *((c, step) for c in mine)], lower=most)
    for i, job in enumerate(window.jobs):
        _job_rows(window, layout, families, i, job)
    _capacity_rows(window, layout, families["capacity"])
    if any(column >= 0 for column in layout.met):
        families["deadline"] = Rows()
        for i, job in enumerate(window.jobs):
            if layout.met[i] >= 0:
                assert job.due_seconds is not None
                entries = progress(window, layout, i, job.due_seconds)
                families["deadline"].add(
                    [(layout.met[i], job.work), *((c, -value) for c, value in entries)], upper=0.0
                )
    return assemble(
        objective=objective,
        lower=np.zeros(layout.columns),
        upper=upper,
        families=families,
        integer=integer,
        offset=offset,
    )


def progress(window: Window, layout: Layout, i: int, until: float) -> Iterable[tuple[int, float]]:
    """Work of job ``i`` by so many seconds after the window's start, as (column, coefficient)."""
    job, length = window.jobs[i], window.round_seconds
    for t in range(job.arrives, window.rounds):
        seconds = min(length, until - t * length)
        if seconds <= 0:
            return
        restart = min(job.restart_seconds, seconds)
        for k, way in enumerate(job.ways):
            yield int(layout.runs[i][k, t]), way.throughput * seconds
            if restart:
                yield int(layout.starts[i][k, t]), -way.throughput * restart


def _rho(window: Window, job: WindowJob, stop: int) -> float:
    """Rho of a job that ends in the round before ``stop`` plus one: not within the window."""
    rounds = stop - job.arrives + 1
    return (job.waits_seconds + rounds * window.round_seconds) / job.fair_seconds


def _job_rows(window: Window, layout: Layout, families: dict[str, Rows], i: int, job: WindowJob) -> None:
    runs, starts, done = layout.runs[i], layout.starts[i], layout.done[i]
    gained: list[tuple[int, float]] = []
    for t in range(job.arrives, window.rounds):
        families["one_way"].add([(int(column), 1.0) for column in runs[:, t]], upper=1.0)
        if job.restart_seconds:
            for k in range(len(job.ways)):
                entries = [(int(runs[k, t]), 1.0), (int(starts[k, t]), -1.0)]
                if t > job.arrives:
                    entries.append((int(runs[k, t - 1]), -1.0))
                families["starts"].add(entries, upper=0.0)
        length = window.round_seconds
        restart = min(job.restart_seconds, length)
        for k, way in enumerate(job.ways):
            gained.append((int(runs[k, t]), -way.throughput * length))
            if restart:
                gained.append((int(starts[k, t]), way.throughput * restart))
        families["progress"].add([(int(done[t]), job.work), *gained], upper=1e-9 * job.work)


def _capacity_rows(window: Window, layout: Layout, rows: Rows) -> None:
    for t in range(window.rounds):
        by_resource: dict[tuple[str, str], list[tuple[int, float]]] = {}
        for i, job in enumerate(window.jobs):
            if t < job.arrives:
                continue
            for k, way in enumerate(job.ways):
                for resource, amount in way.use:
                    by_resource.setdefault(resource, []).append((int(layout.runs[i][k, t]), float(amount)))
        for resource, entries in by_resource.items():
            rows.add(entries, upper=float(window.capacity[resource]))


def values_of(window: Window, layout: Layout, chosen: dict[str, list[int]]) -> FloatArray:
    """Column values of a schedule: by job the way in each round, -1 where it does not run.

    All other columns follow: starts, what is done, what is met, and the worst rho.
    """
    x = np.zeros(layout.columns)
    for i, job in enumerate(window.jobs):
        ways = chosen.get(job.name, [])
        done = 0.0
        for t in range(job.arrives, window.rounds):
            k = ways[t] if t < len(ways) else -1
            if k >= 0:
                x[layout.runs[i][k, t]] = 1.0
                starts = t == job.arrives or ways[t - 1] != k
                seconds = window.round_seconds
                if starts:
                    x[layout.starts[i][k, t]] = 1.0
                    seconds -= min(job.restart_seconds, window.round_seconds)
                done += job.ways[k].throughput * seconds
            if done >= job.work * (1 - 1e-9):
                x[layout.done[i][t]] = 1.0
        if layout.met[i] >= 0:
            assert job.due_seconds is not None
            by_then = sum(x[c] * value for c, value in progress(window, layout, i, job.due_seconds))
            x[layout.met[i]] = float(by_then >= job.work * (1 - 1e-9))
    if layout.worst >= 0:
        x[layout.worst] = max(
            _rho(window, job, window.rounds)
            - x[layout.done[i][job.arrives :]].sum() * window.round_seconds / job.fair_seconds
            for i, job in enumerate(window.jobs)
        )
    return x
