"""What a plan means for every job, recomputed from the round and the plan alone."""

from __future__ import annotations

from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.model.verifier.facts import RoundFacts, round_facts
from gangplan.model.verifier.outcome import Outcome
from gangplan.model.verifier.reading import OutcomesByJob, read_plan


def outcomes(round_: Round, plan: Plan, facts: RoundFacts | None = None) -> dict[str, Outcome]:
    """The outcome of every job of ``round_`` under ``plan``, by job name.

    Args:
        round_: the round.
        plan: any plan, however broken; placements that make no sense count as not there.
        facts: ``round_facts(round_)``, when it is at hand.
    """
    reading = read_plan(plan, facts or round_facts(round_))
    return dict(OutcomesByJob(reading.changes))
