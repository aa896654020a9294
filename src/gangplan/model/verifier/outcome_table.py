"""Outcomes of jobs as columns, so that a term is evaluated for all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.model.verifier.columns import Bools, Floats, Ints, JobColumns, job_columns
from gangplan.model.verifier.facts import RoundFacts
from gangplan.model.verifier.outcome import Outcome, Status

_STATUSES = tuple(Status)
_RESTARTED = (Status.MOVED, Status.RESIZED)
_STOPPED = (Status.EVICTED, *_RESTARTED)


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeTable:
    """Outcomes, one row each; every array has the shape (rows,).

    Attributes:
        facts: the round's constants.
        columns: of all jobs of the round.
        at: the row's job, by its place in the round.
        status: what is done to it, by its place in :class:`Status`.
        chosen: that was the planner's choice.
        scope: rank of the narrowest level that holds all its tasks; -1 where it does not run.
        relative: relative throughput; 0 where it does not run.
        throughput: work units per second; 0 where it does not run.
        outcomes: the same as objects, made when called.
    """

    facts: RoundFacts
    columns: JobColumns
    at: Ints
    status: Ints
    chosen: Bools
    scope: Ints
    relative: Floats
    throughput: Floats
    outcomes: Callable[[], Sequence[Outcome]]

    def __len__(self) -> int:
        return len(self.at)

    def done(self, *statuses: Status) -> Bools:
        """Rows to which one of ``statuses`` is done."""
        found = np.zeros(len(self), dtype=np.bool_)
        for status in statuses:
            found |= self.status == code_of(status)
        return found

    @property
    def restarted(self) -> Bools:
        """Rows that are moved or resized."""
        return self.done(*_RESTARTED)

    @property
    def stopped(self) -> Bools:
        """Rows that are evicted, moved or resized by choice."""
        return self.done(*_STOPPED) & self.chosen

    def earned(self) -> Floats:
        """What each job is worth under the policy's forms of fairness, per unit of its full value."""
        if self.columns.claims is None:
            return self.columns.weight[self.at] * self.relative
        claims = self.columns.claims
        earned = [
            claims[i].earns(relative)
            for i, relative in zip(self.at.tolist(), self.relative.tolist(), strict=True)
        ]
        return np.array(earned, dtype=np.float64)


def code_of(status: Status) -> int:
    """The number by which a table tells a status."""
    return _STATUSES.index(status)


def table_of(outcomes: Sequence[Outcome], facts: RoundFacts) -> OutcomeTable:
    """``outcomes``, of jobs of the round of ``facts``, as a table."""
    columns = facts.once(job_columns)
    ranks = facts.rank
    return OutcomeTable(
        facts,
        columns,
        np.array([columns.index[one.job.name] for one in outcomes], dtype=np.int64),
        np.array([code_of(one.status) for one in outcomes], dtype=np.int64),
        np.array([not one.forced for one in outcomes], dtype=np.bool_),
        np.array([ranks[one.scope] if one.scope else -1 for one in outcomes], dtype=np.int64),
        np.array([one.relative_throughput for one in outcomes], dtype=np.float64),
        np.array([one.throughput for one in outcomes], dtype=np.float64),
        lambda: outcomes,
    )
