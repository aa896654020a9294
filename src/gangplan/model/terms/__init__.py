"""The terms of the objective, one file each, found by scanning this folder.

Every term reports a raw value in its own unit and a weight in GPU-equivalents per unit; the objective is
the sum over jobs and terms of weight times raw value (decision 1).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from gangplan.domain.job import DeadlineKind
from gangplan.model.terms import deadline

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.outcome import Outcome


class Term(Protocol):
    """What the module of a term offers."""

    NAME: str
    """Key in ``objective_by_term``."""
    UNIT: str
    """What a raw value counts."""

    SPREAD_OVER_HORIZON: bool
    """Whether it is a cost paid once and spread over the horizon H (decision 13)."""

    def weight(self, round_: Round) -> float:
        """GPU-equivalents per unit, by the round's policy."""
        ...

    def coefficients(self, table: OptionTable) -> FloatArray:
        """Raw values by row of the option table, shape (rows,)."""
        ...

    def evaluate(self, outcome: Outcome, facts: RoundFacts) -> float:
        """Raw value of one job's outcome, by the verifier's own arithmetic; 0 for a job that waits."""
        ...


@cache
def terms() -> tuple[Term, ...]:
    """All terms, in the order of their module names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(cast("Term", importlib.import_module(f"{__name__}.{name}")) for name in names)


def worth(outcome: Outcome, facts: RoundFacts) -> dict[str, float]:
    """What one job's outcome is worth by term, weighted, in GPU-equivalents; the verifier's arithmetic.

    Once a strict deadline is lost, no term counts but what a change costs (see ``deadline``).
    """
    weighted = facts.once(_weighted)
    if outcome.job.deadline_kind is not DeadlineKind.STRICT or not deadline.lost(outcome, facts):
        return {name: weight * evaluate(outcome, facts) for name, weight, evaluate, _ in weighted}
    return {
        name: weight * evaluate(outcome, facts) if spread else 0.0
        for name, weight, evaluate, spread in weighted
    }


def rate(outcome: Outcome, facts: RoundFacts) -> float:
    """What an outcome is worth in every round, without what is paid once and spread over the horizon."""
    if outcome.job.deadline_kind is DeadlineKind.STRICT and deadline.lost(outcome, facts):
        return 0.0
    return sum(
        [
            weight * evaluate(outcome, facts)
            for _, weight, evaluate, spread in facts.once(_weighted)
            if not spread
        ]
    )


def _weighted(facts: RoundFacts) -> list[tuple[str, float, Callable[[Outcome, RoundFacts], float], bool]]:
    """Name, weight under the round's policy, evaluation, and whether it is paid once, of every term.

    What a term is worth that counts for nothing under the policy is not even looked at.
    """
    weights = [(term, term.weight(facts.round)) for term in terms()]
    return [
        (term.NAME, weight, term.evaluate if weight else _nothing, term.SPREAD_OVER_HORIZON)
        for term, weight in weights
    ]


def _nothing(outcome: Outcome, facts: RoundFacts) -> float:
    del outcome, facts
    return 0.0
