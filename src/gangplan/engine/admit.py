"""Whether a job can be let in: a witness for YES, row prices for NO, and honesty in between (decision 32)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gangplan.domain.admission import Admission, AdmissionVerdict
from gangplan.domain.job import DeadlineKind, Job
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.relaxation import solve_relaxation
from gangplan.engine.runner import Cancellation, InProcessRunner, Runner
from gangplan.engine.witness import Witness, find_witness
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.lookahead.admission import deadlines_programme

CONDITIONS = (
    "the cluster stays as it is now",
    "work left, throughputs and restart times are as stated",
    "nothing else is started on what the schedule uses",
)
_PRECISE = 0.002
"""The earliest date that is not refuted is found to within this share of its distance."""
_MOST_DOUBLINGS = 12
_MOST_HALVINGS = 40
_PROOF_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class _Case:
    """One question: the round, its arrays, and the deadlines that count."""

    round: Round
    instance: Instance
    job: str
    due: Mapping[str, float]
    runner: Runner
    budget: Budget
    cancellation: Cancellation | None

    def refuted(self, deadline: float | None) -> bool:
        """Whether no schedule meets all deadlines, the job's at ``deadline`` or without the job; proved."""
        now = self.round.now
        due = {name: at for name, at in self.due.items() if name != self.job}
        if deadline is not None:
            due[self.job] = deadline
        if not due:
            return False
        jobs = [self.instance.job_index[name] for name in sorted(due)]
        found = deadlines_programme(
            self.instance,
            jobs,
            np.array([due[name] - now for name in sorted(due)]),
            np.array([_ready(self.instance.jobs[j], now) for j in jobs]),
        )
        within = self.budget
        if within.remaining <= 0.0:
            return False
        solution = solve_relaxation(found.program, self.runner, within, self.cancellation)
        if isinstance(solution, str) or solution.row_duals is None:
            return False
        return found.refuted_by(solution.row_duals)


def admit(
    round_: Round,
    job: str,
    *,
    runner: Runner | None = None,
    budget: Budget | None = None,
    cancellation: Cancellation | None = None,
) -> AdmissionVerdict:
    """Whether the waiting ``job`` can meet its deadline beside all others that have one.

    A deadline counts when its job's work left is known; one of another job that has passed counts no more.
    YES carries a schedule of verified plans; NO is proved by linear programming, whoever stops for it, and
    comes with the earliest date that is not refuted. What is neither is NOT_PROVED: a schedule may exist, but
    none was found.

    Args:
        round_: what is there now, the job among its jobs.
        job: name of a waiting job with a deadline and known work left.
        runner: where solvers run; by default in this thread.
        budget: when to be done; by default there is no limit, but for the steps that a search takes.
        cancellation: to stop earlier.

    Raises:
        InvalidInputError: there is no such job, it runs, or it has no deadline or unknown work left.
    """
    runner, budget = runner or InProcessRunner(), budget or Budget(None)
    due = _due(round_, job)
    deadline = due[job]
    instance = build_instance(replace(round_, outlook=None))
    prove = budget.less((1.0 - _PROOF_SHARE) * budget.remaining) if budget.limited else budget
    case = _Case(round_, instance, job, due, runner, prove, cancellation)
    if case.refuted(deadline):
        return _no(case, deadline)
    for others_stay, once_started in itertools.product((True, False), repeat=2):
        witness = find_witness(
            round_, due, budget, cancellation, others_stay=others_stay, once_started=once_started
        )
        if witness is not None:
            return _yes(job, witness, len(due) - 1)
    return AdmissionVerdict(
        job,
        Admission.NOT_PROVED,
        "no schedule that meets its deadline and the others' strict ones was found, "
        "nor a proof that there is none",
    )


def _due(round_: Round, name: str) -> dict[str, float]:
    """Deadlines that count, by job name: the job's own, of whatever kind, and the strict ones of others."""
    found = {
        job.name: job.deadline
        for job in round_.jobs
        if job.deadline is not None
        and job.work_left is not None
        and job.work_left > 0.0
        and (job.name == name or (job.deadline_kind is DeadlineKind.STRICT and job.deadline > round_.now))
    }
    mine = next((job for job in round_.jobs if job.name == name), None)
    why = None
    if mine is None:
        why = f"no job is named {name!r}"
    elif mine.running is not None:
        why = f"{name!r} runs already"
    elif name not in found:
        why = f"{name!r} has no deadline, or its work left is unknown or nothing"
    if why is not None:
        raise InvalidInputError([FieldViolation("job", why)])
    return found


def _ready(job: Job, now: float) -> float:
    """Seconds until a job may start at the earliest."""
    return max(0.0, job.gate.not_before - now) if job.gate.not_before is not None else 0.0


def _no(case: _Case, deadline: float) -> AdmissionVerdict:
    """NO, with the earliest date that is not refuted."""
    if case.refuted(None):
        return AdmissionVerdict(
            case.job, Admission.NO, "the strict deadlines of the others cannot all be met as it is"
        )
    others = "" if len(case.due) == 1 else f" beside {len(case.due) - 1} other deadlines"
    message = f"no schedule meets its deadline{others}, whoever gives way"
    low = high = max(deadline, case.round.now)  # nothing that is left to do is done before now
    distance = max(deadline - case.round.now, case.round.round_seconds)
    for _ in range(_MOST_DOUBLINGS):
        high = case.round.now + 2.0 * distance
        if not case.refuted(high):
            break
        low, distance = high, 2.0 * distance
    else:
        return AdmissionVerdict(case.job, Admission.NO, f"{message}; nor does any later date that was tried")
    for _ in range(_MOST_HALVINGS):
        if high - low <= _PRECISE * (high - case.round.now) or case.budget.exhausted:
            break
        middle = (low + high) / 2
        if case.refuted(middle):
            low = middle
        else:
            high = middle
    return AdmissionVerdict(case.job, Admission.NO, message, earliest_deadline=high)


def _yes(job: str, witness: Witness, others: int) -> AdmissionVerdict:
    beside = "" if not others else f" and {others} other deadlines"
    steps = len(witness.steps)
    if not witness.disturbed:
        message = f"a schedule of {steps} verified steps meets its deadline{beside}"
        return AdmissionVerdict(job, Admission.YES, message, CONDITIONS, witness=witness.steps)
    way = f"if {len(witness.disturbed)} running jobs give way"
    message = f"a schedule of {steps} verified steps meets its deadline{beside} {way}"
    return AdmissionVerdict(job, Admission.YES_IF, message, CONDITIONS, witness.disturbed, witness.steps)
