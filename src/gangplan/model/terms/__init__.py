"""The terms of the objective, one file each, found by scanning this folder.

Every term reports a raw value in its own unit and a weight in GPU-equivalents per unit; the objective is
the sum over jobs and terms of weight times raw value (decision 1). A term of which not all is a matter of
single jobs offers ``evaluate_plan(reading)`` beside, the raw value of the plan as a whole (``residual``).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from gangplan.model.terms import deadline
from gangplan.model.verifier.outcome_table import table_of

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.outcome import Outcome
    from gangplan.model.verifier.outcome_table import OutcomeTable
    from gangplan.model.verifier.reading import Reading


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

    def evaluate(self, table: OutcomeTable) -> FloatArray:
        """Raw values by row of the table of outcomes, by the verifier's own arithmetic, shape (rows,); 0 for
        a job that waits.
        """
        ...


@cache
def terms() -> tuple[Term, ...]:
    """All terms, in the order of their module names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(cast("Term", importlib.import_module(f"{__name__}.{name}")) for name in names)


@cache
def names() -> tuple[str, ...]:
    """Names of all terms, in their order."""
    return tuple(term.NAME for term in terms())


def contributions(table: OutcomeTable) -> FloatArray:
    """What outcomes are worth, weighted, in GPU-equivalents; the verifier's arithmetic. Shape (terms, rows).

    Once a strict deadline is lost, no term counts but what a change costs (see ``deadline``). A term that
    counts for nothing under the policy is not even looked at.
    """
    round_ = table.facts.round
    found = np.zeros((len(terms()), len(table)))
    for own, term in zip(found, terms(), strict=True):
        weight = term.weight(round_)
        if weight:
            own[:] = weight * term.evaluate(table)
    lost = deadline.lost(table)
    if lost.any():
        for own, term in zip(found, terms(), strict=True):
            if not term.SPREAD_OVER_HORIZON:
                own[lost] = 0.0
    return found


def worth(outcome: Outcome, facts: RoundFacts) -> dict[str, float]:
    """What one job's outcome is worth by term, weighted, in GPU-equivalents."""
    return dict(zip(names(), contributions(table_of([outcome], facts))[:, 0].tolist(), strict=True))


def worth_of_plan(reading: Reading) -> FloatArray:
    """What a plan is worth as a whole by term, weighted: of terms with ``evaluate_plan``. Shape (terms,)."""
    found = np.zeros(len(terms()))
    for at, term in enumerate(terms()):
        evaluate_plan: Callable[[Reading], float] | None = getattr(term, "evaluate_plan", None)
        if evaluate_plan is not None and (weight := term.weight(reading.facts.round)):
            found[at] = weight * evaluate_plan(reading)
    return found


def rates(outcomes: Sequence[Outcome], facts: RoundFacts) -> list[float]:
    """What each outcome is worth in every round, weighted, in GPU-equivalents.

    What is paid once and spread over the horizon is not in it.
    """
    found = contributions(table_of(outcomes, facts))
    rate = np.zeros(len(outcomes))
    for own, term in zip(found, terms(), strict=True):
        if not term.SPREAD_OVER_HORIZON:
            rate += own
    every: list[float] = rate.tolist()
    return every
