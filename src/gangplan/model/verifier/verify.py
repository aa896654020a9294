"""The independent verifier: a plan and its round in, every broken rule and the objective out.

It knows no solver and shares no code with the model; the two are checked against each other. A plan is
emitted only when this finds nothing. It takes any plan, however broken, and never raises on one.

Several plans of one round are judged with the same :class:`RoundFacts`. What depends on the round alone is
then computed once (:meth:`RoundFacts.once`), and each plan is judged by what it changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE
from gangplan.model.constraints import constraints
from gangplan.model.terms import contributions, names, worth_of_plan
from gangplan.model.verifier.columns import Floats, job_columns
from gangplan.model.verifier.facts import RoundFacts, round_facts
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.outcome_table import OutcomeTable, code_of, table_of
from gangplan.model.verifier.reading import Change, OutcomesByJob, Reading, going_on, read_plan, unplanned
from gangplan.model.verifier.starts import Singles, present
from gangplan.model.verifier.violation import Violation


@dataclass(frozen=True, slots=True)
class Verification:
    """What the verifier found.

    Attributes:
        violations: every broken rule, sorted.
        objective: value of the plan, GPU-equivalents; says little when rules are broken.
        objective_by_term: weighted contribution of every term, by name; sums to ``objective``.
        outcomes: what the plan means for each job, by name.
        worth: by name of every job that does not simply wait: its weighted contribution by term.
    """

    violations: tuple[Violation, ...]
    objective: float
    objective_by_term: Mapping[str, float]
    outcomes: Mapping[str, Outcome]
    worth: Mapping[str, Mapping[str, float]]

    @property
    def valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def prepare(facts: RoundFacts) -> None:
    """Put together what the first plan asks of ``facts`` and later ones share: for who has time before it."""
    for compute in (job_columns, going_on, _worth_of_keeps):
        facts.once(compute)


def verify(round_: Round, plan: Plan, facts: RoundFacts | None = None) -> Verification:
    """Judge ``plan``.

    Args:
        round_: a valid round.
        plan: any plan.
        facts: ``round_facts(round_)``, when it is at hand: several plans of one round then cost less.
    """
    reading = read_plan(plan, facts or round_facts(round_))
    violations: list[Violation] = []
    for family in constraints():
        violations += family.violations(reading)
    worth = _worth(reading)
    by_term, beside = worth.by_term, worth_of_plan(reading)
    if beside.any():
        by_term = np.column_stack([by_term, beside])
    return Verification(
        violations=tuple(sorted(violations)),
        objective=math.fsum(by_term.ravel().tolist()),
        objective_by_term={
            name: math.fsum(values) for name, values in zip(names(), by_term.tolist(), strict=True)
        },
        outcomes=OutcomesByJob(reading.changes),
        worth=worth,
    )


class Worth(Mapping[str, Mapping[str, float]]):
    """What jobs contribute by term, by job name; put together when it is first asked for.

    Args:
        jobs: their names.
        by_term: contribution of each, shape (terms, jobs).
    """

    __slots__ = ("_found", "_jobs", "by_term")

    def __init__(self, jobs: Sequence[str], by_term: Floats) -> None:
        self._jobs = jobs
        self._found: dict[str, Mapping[str, float]] | None = None
        self.by_term = by_term

    @property
    def _by_name(self) -> dict[str, Mapping[str, float]]:
        if self._found is None:
            by_job = self.by_term.T.tolist()
            self._found = {
                job: dict(zip(names(), mine, strict=True))
                for job, mine in zip(self._jobs, by_job, strict=True)
            }
        return self._found

    def __getitem__(self, job: str) -> Mapping[str, float]:
        return self._by_name[job]

    def __iter__(self) -> Iterator[str]:
        return iter(self._jobs)

    def __len__(self) -> int:
        return len(self._jobs)


def _worth(reading: Reading) -> Worth:
    """What every job that does not wait contributes by term; that of kept jobs is known from the round."""
    facts = reading.facts
    running, present = facts.once(_worth_of_keeps)
    kept = [i for i, name in enumerate(running) if name not in reading.changed]
    found = [_worth_of(reading.changed, facts)]
    starting: list[str] = []
    if reading.starts is not None:
        starting = reading.starts.names
        singles = reading.starts.there
        found.append(contributions(_on_one_node(singles, Status.STARTED, starting, reading.changes, facts)))
    if len(kept) < len(running):
        running, present = [running[i] for i in kept], present[:, kept]
    return Worth([*running, *reading.changed, *starting], np.concatenate([present, *found], axis=1))


def _worth_of(changes: Mapping[str, Change], facts: RoundFacts) -> Floats:
    """What the jobs of ``changes`` contribute; those that do what they did in the plan before are known."""
    known = facts.once(_known_worth)
    new = [change.outcome for name, change in changes.items() if _is_new(change.outcome, known.get(name))]
    if new:
        for outcome, worth in zip(new, contributions(table_of(new, facts)).T, strict=True):
            known[outcome.job.name] = outcome, worth
    if not changes:
        return np.zeros((len(names()), 0))
    return np.array([known[name][1] for name in changes]).T


def _is_new(outcome: Outcome, known: tuple[Outcome, Floats] | None) -> bool:
    return known is None or known[0] is not outcome


def _known_worth(facts: RoundFacts) -> dict[str, tuple[Outcome, Floats]]:
    """The outcome of each changed job that was valued last and its worth, filled by :func:`_worth_of`."""
    return {}


def _worth_of_keeps(facts: RoundFacts) -> tuple[list[str], Floats]:
    """What every running job contributes where it is; what is forced off, as evicted."""
    others = {n: c.outcome for n, c in facts.once(going_on).items() if c.status is not Status.WAITING}
    names, found = list(others), contributions(table_of(list(others.values()), facts))
    there = facts.once(present)
    if there.there is None:
        return names, found
    table = _on_one_node(there.there, Status.KEPT, there.names, facts.once(unplanned), facts)
    return [*there.names, *names], np.concatenate([contributions(table), found], axis=1)


def _on_one_node(
    singles: Singles, status: Status, named: Sequence[str], changes: Mapping[str, Change], facts: RoundFacts
) -> OutcomeTable:
    """Outcomes of jobs on one node each, to all of which the same is done."""
    rows = len(singles)
    return OutcomeTable(
        facts=facts,
        columns=facts.once(job_columns),
        at=singles.job,
        status=np.full(rows, code_of(status)),
        chosen=np.ones(rows, dtype=np.bool_),
        scope=np.full(rows, facts.rank[NODE]),
        relative=singles.relative,
        throughput=singles.throughput,
        outcomes=lambda: [changes[name].outcome for name in named],
    )
