"""Chronus: leases for jobs with deadlines, and what is left of each lease for the others."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gangplan.domain.job import DeadlineKind
from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.program import IntArray
from gangplan.planning.policies.memory import remembered, remembering
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.rates import Rates, rates_of
from gangplan.planning.policies.solving import solved
from gangplan.planning.policies.wishes import carry_out, choose, wish_as_asked
from gangplan.planning.programmes import chronus

NAME = "chronus"
ABOUT = "leases by an integer programme for jobs that can meet their deadlines, the rest shortest first"

LEASE_ROUNDS = 4
"""Rounds of a lease: 240 s of 60 s each, as the authors of ElasticFlow set it to compare."""
LEASES = 24
"""That are planned ahead."""
EXACT_CELLS = 1_000
"""With more jobs times leases the relaxation is rounded."""


@dataclass(frozen=True, slots=True)
class Chronus:
    """Decides at the borders of leases who has the next one, and lets who has it have it.

    Gao et al., *Chronus* (SoCC 2021, section 4, and its public code). A job with a deadline is taken in if,
    lease by lease, all that are taken in still meet theirs (:mod:`gangplan.planning.programmes.chronus`: at
    once where a greedy order shows it, by the integer programme otherwise); else it is served as one without.
    Of the plans that do, one is taken that loads the next lease least, which leaves it to jobs without
    deadlines: those, and whoever else would run, have what is free, shortest remaining first. Within a lease
    nobody is stopped.

    A soft deadline has a second one, when its worth has fallen to nothing, that is worth half of the first.
    Beyond the leases that are planned a deadline binds by what cannot be done after them. Gangs are as asked
    for, each as fast as on its best type, and devices of all types count as one: its cluster has one type.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        instance = build_instance(round_)
        rates = rates_of(instance)
        memory = remembered(before, NAME)
        turn = (memory.get("turn", -1) + 1) % LEASE_ROUNDS
        made = _Leases(instance, rates, set(memory.get("taken", ())), set(memory.get("refused", ())))
        made.take_in()
        first = made.first() if turn == 0 else set(memory.get("first", ()))
        wishes = wish_as_asked(instance, made.order(first, border=turn == 0))
        there = {instance.jobs[j].name for j in rates.jobs.tolist()}
        memory = {
            "turn": turn,
            "taken": sorted(made.taken & there),
            "refused": sorted(made.refused & there),
            "first": sorted(first & there),
        }
        return remembering(carry_out(instance, *choose(instance, wishes)), memory, NAME)


class _Leases:
    """One round's jobs, in leases.

    Args:
        instance: of the round.
        rates: of its jobs.
        taken: names of those that were taken in.
        refused: of those that were not.
    """

    def __init__(self, instance: Instance, rates: Rates, taken: set[str], refused: set[str]) -> None:
        self._instance, self._rates = instance, rates
        self._length = LEASE_ROUNDS * instance.round.round_seconds
        self._devices = int(rates.devices.sum())
        self._names = [instance.jobs[j].name for j in rates.jobs.tolist()]
        self._seconds = rates.left / np.maximum(rates.best, 1e-12)
        self._due = [self._deadlines(j) for j in rates.jobs.tolist()]
        self.taken, self.refused = taken, refused

    def _deadlines(self, j: int) -> tuple[float, ...]:
        """Seconds from now, earliest first; none without a deadline, or once it is over."""
        job, now = self._instance.jobs[j], self._instance.round.now
        if job.deadline is None:
            return ()
        times = [job.deadline - now]
        if job.deadline_kind is DeadlineKind.SOFT:
            times.append(times[0] + job.deadline_decay_seconds)
        return tuple(time for time in times if time > 0)

    def take_in(self) -> None:
        """Decide on those that are new, in the order of arrival."""
        jobs = self._instance.jobs
        at = {name: i for i, name in enumerate(self._names)}
        self.taken = {name for name in self.taken if name in at and self._due[at[name]]}
        new = [
            i for i, name in enumerate(self._names) if self._due[i] and name not in self.taken | self.refused
        ]
        for i in sorted(
            new, key=lambda i: (jobs[int(self._rates.jobs[i])].submit_time or 0.0, self._names[i])
        ):
            some = [at[name] for name in sorted(self.taken)]
            fits = self._rates.gang[i] <= self._devices and self._lay_out([*some, i]) is not None
            (self.taken if fits else self.refused).add(self._names[i])

    def first(self) -> set[str]:
        """Names of those of whom the plan wants the next lease."""
        some = sorted((i for i, name in enumerate(self._names) if name in self.taken), key=self._earliest)
        while some:
            plan = self._lay_out(some, best=True)
            if plan is not None:
                return {self._names[i] for i, leases in zip(some, plan, strict=True) if leases[0]}
            # Restarts have cost too much: who has least to spare comes first all the same.
            tight = min(some, key=lambda i: (self._due[i][-1] - self._seconds[i], self._names[i]))
            rest = [i for i in some if i != tight]
            if self._lay_out(rest) is not None or not rest:
                found = self._lay_out(rest, best=True) if rest else None
                lead = {self._names[tight]}
                if found is None:
                    return lead
                return lead | {self._names[i] for i, leases in zip(rest, found, strict=True) if leases[0]}
            some = rest
        return set()

    def _earliest(self, i: int) -> tuple[float, str]:
        return self._due[i][0], self._names[i]

    def order(self, first: set[str], *, border: bool) -> list[int]:
        """Indices in the instance, in the order in which jobs are served."""
        jobs = self._instance.jobs

        def rank(i: int) -> tuple[object, ...]:
            name, j = self._names[i], int(self._rates.jobs[i])
            runs = jobs[j].running is not None
            if name in first:
                return (0, not runs, -int(self._rates.gang[i]), name)
            if runs and not border:
                return (1, 0, 0, name)
            return (2, float(self._seconds[i]), 0, name)

        return [int(self._rates.jobs[i]) for i in sorted(range(len(self._names)), key=rank)]

    def _lay_out(self, some: list[int], *, best: bool = False) -> IntArray | None:
        """Leases of these jobs, shape (jobs, leases), of zeros and ones; None: they do not all fit.

        Args:
            some: positions of jobs with deadlines.
            best: by the programme; otherwise any plan will do.
        """
        found = np.zeros((len(some), LEASES), dtype=np.int64)
        bound = [(n, *self._bound(i)) for n, i in enumerate(some)]
        bound = [(n, need, due) for n, need, due in bound if need]
        if not bound:
            return found
        if any(need > due[-1] for _, need, due in bound):
            return None
        rows = [n for n, _, _ in bound]
        options = max(len(due) for _, _, due in bound)
        due = np.array([[*due, *[due[-1]] * (options - len(due))] for _, _, due in bound], dtype=np.int64)
        worth = np.array([self._rates.gang[some[n]] * need for n, need, _ in bound], dtype=np.float64)
        leases = chronus.Leases(
            gang=self._rates.gang[[some[n] for n in rows]],
            need=np.array([need for _, need, _ in bound], dtype=np.int64),
            deadline=due,
            reward=worth[:, None] * 0.5 ** np.arange(options)[None, :],
            free=np.full(LEASES, self._devices, dtype=np.int64),
        )
        plan = _solve(leases, best=best)
        if plan is None:
            return None
        found[rows] = plan
        return found

    def _bound(self, i: int) -> tuple[int, tuple[int, ...]]:
        """Leases that the job must have among those planned, and by which of them at the latest."""
        need = math.ceil(self._seconds[i] / self._length - 1e-9)
        due = [math.floor(time / self._length + 1e-9) for time in self._due[i]]
        after = max(0, due[0] - LEASES)
        return max(0, need - after), tuple(min(LEASES, max(0, one)) for one in due)


def _solve(leases: chronus.Leases, *, best: bool) -> IntArray | None:
    """Leases of every job, shape (jobs, leases); None: there are none."""
    number = len(leases.free)
    jobs, options = leases.deadline.shape
    if not best:
        greedy = earliest_first(leases)
        if greedy is not None:
            return greedy
    program = chronus.formulate(leases)
    large = jobs * number > EXACT_CELLS
    solution = solved(program, gap=chronus.GAP, relax=large)
    values = solution.values
    if values is not None and large:
        values = chronus.round_leases(leases, values)
    if values is None:
        return earliest_first(leases) if best else None
    plan: IntArray = values[jobs * options :].reshape(jobs, options, number).sum(axis=1).round()
    return plan.astype(np.int64)


def earliest_first(leases: chronus.Leases) -> IntArray | None:
    """Leases by the last deadline of every job, earliest first, each in those with most devices free."""
    free = leases.free.copy()
    plan = np.zeros((len(leases.gang), len(free)), dtype=np.int64)
    last = leases.deadline.max(axis=1)
    for i in np.lexsort((-leases.gang, last)).tolist():
        open_ = np.flatnonzero(free[: last[i]] >= leases.gang[i])
        if len(open_) < leases.need[i]:
            return None
        chosen = open_[np.argsort(-free[open_], kind="stable")][: leases.need[i]]
        plan[i, chosen] = 1
        free[chosen] -= leases.gang[i]
    return plan


def make(how: How) -> Chronus:
    """The policy."""
    del how
    return Chronus()
