"""The independent verifier: a plan and its round in, every broken rule and the objective out.

It knows no solver and shares no code with the model; the two are checked against each other. A plan is
emitted only when this finds nothing. It takes any plan, however broken, and never raises on one.

Several plans of one round are judged with the same :class:`RoundFacts`. What depends on the round alone is
then computed once (:meth:`RoundFacts.once`), and each plan is judged by what it changes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.model.constraints import constraints
from gangplan.model.terms import terms, worth
from gangplan.model.verifier.facts import RoundFacts, round_facts
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.reading import Reading, read_plan, unplanned
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
    contributions = _worth(reading)
    by_term = {term.NAME: [each[term.NAME] for each in contributions.values()] for term in terms()}
    return Verification(
        violations=tuple(sorted(violations)),
        objective=math.fsum(itertools.chain.from_iterable(by_term.values())),
        objective_by_term={name: math.fsum(values) for name, values in by_term.items()},
        outcomes={name: change.outcome for name, change in reading.changes.items()},
        worth=contributions,
    )


def _worth(reading: Reading) -> dict[str, Mapping[str, float]]:
    """What every job that does not wait contributes by term; that of kept jobs is known from the round."""
    facts = reading.facts
    found: dict[str, Mapping[str, float]] = dict(facts.once(_worth_of_keeps))
    known = facts.once(_known_worth)
    for name, change in reading.changed.items():
        outcome, value = known.get(name, _UNKNOWN)
        if outcome is not change.outcome:
            value = worth(change.outcome, facts)
            known[name] = change.outcome, value
        found[name] = value
    return found


def _known_worth(facts: RoundFacts) -> dict[str, tuple[Outcome | None, Mapping[str, float]]]:
    """The outcome of each changed job that was valued last and its worth, filled by :func:`_worth`."""
    return {}


_UNKNOWN: tuple[Outcome | None, Mapping[str, float]] = (None, {})


def _worth_of_keeps(facts: RoundFacts) -> dict[str, Mapping[str, float]]:
    """What every running job contributes where it is; what is forced off, as evicted."""
    return {
        name: worth(change.outcome, facts)
        for name, change in facts.once(unplanned).items()
        if change.status is not Status.WAITING
    }
