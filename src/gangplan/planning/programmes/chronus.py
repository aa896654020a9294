"""Chronus' leases: which jobs meet which deadline, lease by lease.

Gao et al., "Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs", SoCC 2021, the lease
programme, in the form of its public code. Every job has options, each a deadline and a reward (a hard
deadline first, softer ones after), and is given one of them::

    maximise   sum_io reward_io S_io - sum_io gang_i X_io,0 / devices
    subject to sum_o S_io = 1                                    every job
               sum_{b <= deadline_io} X_iob = need_i S_io        X binary: option o runs in lease b
               X_iob = 0 after the deadline
               sum_io gang_i X_iob <= free_b                     every lease

Homogeneous devices, fixed gangs, preemption at the borders of leases. Columns: S and one X for each of the
leases, by job and option (25 an option with 24 leases, as there; those after the deadline are fixed to 0).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.rows import Rows
from gangplan.model.program import FloatArray, IntArray, Program

GAP = 1e-4
_PASSES = 50
_BLAME_WITHOUT = 8
"""For who found no leases, where who got less than it likes has 1: of 1, 2, 4 and 8 the best on 64 x 24."""


@dataclass(frozen=True, slots=True, eq=False)
class Leases:
    """Jobs and the leases that are planned.

    Attributes:
        gang: shape (jobs,), devices.
        need: shape (jobs,), leases that each job needs.
        deadline: shape (jobs, options), the lease before which it must be done: 1 to the number of leases.
        reward: shape (jobs, options).
        free: shape (leases,), devices.
    """

    gang: IntArray
    need: IntArray
    deadline: IntArray
    reward: FloatArray
    free: IntArray

    @property
    def devices(self) -> int:
        """Most devices of any lease."""
        return int(self.free.max())


def formulate(leases: Leases) -> Program:
    """The programme; columns: S by job and option, then X by job, option and lease."""
    jobs, options = leases.deadline.shape
    number = len(leases.free)
    s = np.arange(jobs * options).reshape(jobs, options)
    x = s.size + np.arange(s.size * number).reshape(jobs, options, number)
    columns = s.size + x.size
    objective = np.zeros(columns)
    objective[s] = leases.reward
    objective[x[:, :, 0]] = -np.broadcast_to(leases.gang[:, None] / leases.devices, s.shape)
    upper = np.ones(columns)
    inside = np.arange(number)[None, None, :] < leases.deadline[:, :, None]
    upper[x] = inside
    one, done, capacity = Rows(), Rows(), Rows()
    ones = np.ones(jobs)
    one.add_grouped(np.repeat(np.arange(jobs), options), s.ravel(), np.ones(s.size), ones, ones)
    option = np.arange(s.size)
    zeros = np.zeros(s.size)
    entries = inside.reshape(s.size, number)
    done.add_grouped(
        np.concatenate([np.nonzero(entries)[0], option]),
        np.concatenate([x.reshape(s.size, number)[entries], s.ravel()]),
        np.concatenate([np.ones(int(entries.sum())), -np.repeat(leases.need, options).astype(np.float64)]),
        zeros,
        zeros,
    )
    job, _, lease = np.nonzero(inside)
    capacity.add_grouped(
        lease,
        x[inside],
        leases.gang[job].astype(np.float64),
        leases.free.astype(np.float64),
        np.full(number, -np.inf),
    )
    return assemble(
        objective=objective,
        lower=np.zeros(columns),
        upper=upper,
        families={"one_option": one, "need": done, "lease_capacity": capacity},
    )


def round_leases(leases: Leases, relaxed: FloatArray) -> FloatArray | None:
    """The best plan of so many passes from the relaxation; None where each left some job without leases.

    Every job prefers the option with the larger share in the relaxation. Earliest deadline first, then
    largest gang, each takes the leases before its deadline in which the relaxation runs it, then those with
    most devices free, or falls back on its other options. At last, better options where there is room for
    them. Who finds none goes first in the next pass, and, once there is a plan, who has a lesser option than
    it prefers goes a little earlier (Joslin and Clements, "Squeaky Wheel Optimization", JAIR 1999).
    """
    jobs, options = leases.deadline.shape
    number = len(leases.free)
    share = relaxed[: jobs * options].reshape(jobs, options)
    runs = relaxed[jobs * options :].reshape(jobs, options, number).sum(axis=1)
    preferred = np.argsort(-share, axis=1, kind="stable")
    due = leases.deadline[np.arange(jobs), preferred[:, 0]]
    liked = leases.reward[np.arange(jobs), preferred[:, 0]]
    blame = np.zeros(jobs, dtype=np.int64)
    best, most = None, -np.inf
    for _ in range(_PASSES):
        order = np.lexsort((np.arange(jobs), -leases.gang, due, -blame))
        free, values, failed = leases.free.copy(), np.zeros(len(relaxed)), []
        for i in order.tolist():
            for o in preferred[i].tolist():
                taken = _leases_for(leases, i, o, free, runs)
                if taken is not None:
                    free[taken] -= leases.gang[i]
                    values[i * options + o] = 1.0
                    values[jobs * options + (i * options + o) * number + taken] = 1.0
                    break
            else:
                failed.append(i)
        if not failed:
            _upgrade(leases, values, free, runs)
            worth = _worth(leases, values)
            if worth > most:
                best, most = values, worth
        blame[failed] += _BLAME_WITHOUT
        if best is not None:
            got = (leases.reward * values[: jobs * options].reshape(jobs, options)).sum(axis=1)
            blame[got < liked - 1e-9] += 1
    return best


def _worth(leases: Leases, values: FloatArray) -> float:
    """The objective of a plan's column ``values``, shape (columns,)."""
    jobs, options = leases.deadline.shape
    rewards = float(leases.reward.ravel() @ values[: jobs * options])
    first = values[jobs * options :].reshape(jobs, options, len(leases.free))[:, :, 0].sum(axis=1)
    return rewards - float(leases.gang @ first) / leases.devices


def _upgrade(leases: Leases, values: FloatArray, free: IntArray, runs: FloatArray) -> None:
    """Give jobs their better options where there is room after all, largest difference of reward first."""
    jobs, options = leases.deadline.shape
    number = len(leases.free)
    chosen = values[: jobs * options].reshape(jobs, options)
    plan = values[jobs * options :].reshape(jobs, options, number)
    now = chosen.argmax(axis=1)
    more = leases.reward - leases.reward[np.arange(jobs), now][:, None]
    for at in np.argsort(-more, axis=None, kind="stable").tolist():
        i, o = divmod(at, options)
        old = int(chosen[i].argmax())
        if leases.reward[i, o] <= leases.reward[i, old]:
            continue
        held = np.flatnonzero(plan[i, old])
        free[held] += leases.gang[i]
        taken = _leases_for(leases, i, o, free, runs)
        kept = held if taken is None else taken
        free[kept] -= leases.gang[i]
        if taken is not None:
            chosen[i, old], plan[i, old] = 0.0, 0.0
            chosen[i, o], plan[i, o, taken] = 1.0, 1.0


def _leases_for(leases: Leases, i: int, o: int, free: IntArray, runs: FloatArray) -> IntArray | None:
    """Leases for job ``i`` by its option ``o``, best liked first; None when too few have room."""
    open_ = np.flatnonzero(free[: leases.deadline[i, o]] >= leases.gang[i])
    if len(open_) < leases.need[i]:
        return None
    liked = np.lexsort((open_, -free[open_], -np.round(runs[i, open_], 6)))
    return open_[liked[: leases.need[i]]]
