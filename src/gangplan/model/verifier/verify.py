"""The independent verifier: a plan and its round in, every broken rule and the objective out.

It knows no solver and shares no code with the model; the two are checked against each other. A plan is
emitted only when this finds nothing. It takes any plan, however broken, and never raises on one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.model.constraints import constraints
from gangplan.model.terms import terms
from gangplan.model.verifier.facts import RoundFacts, round_facts
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.reading import read_plan
from gangplan.model.verifier.violation import Violation


@dataclass(frozen=True, slots=True)
class Verification:
    """What the verifier found.

    Attributes:
        violations: every broken rule, sorted.
        objective: value of the plan, GPU-equivalents; says little when rules are broken.
        objective_by_term: weighted contribution of every term, by name; sums to ``objective``.
        outcomes: what the plan means for each job, by name.
    """

    violations: tuple[Violation, ...]
    objective: float
    objective_by_term: Mapping[str, float]
    outcomes: Mapping[str, Outcome]

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
    outcomes = {name: change.outcome for name, change in reading.changes.items()}
    contributions: dict[str, list[float]] = {}
    at_stake = [outcome for outcome in outcomes.values() if outcome.status is not Status.WAITING]
    for term in terms():
        weight = term.weight(round_.policy)
        contributions[term.NAME] = [weight * term.evaluate(outcome, reading.facts) for outcome in at_stake]
    return Verification(
        violations=tuple(sorted(violations)),
        objective=math.fsum(value for values in contributions.values() for value in values),
        objective_by_term={name: math.fsum(values) for name, values in contributions.items()},
        outcomes=outcomes,
    )
