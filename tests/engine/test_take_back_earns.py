"""What is taken back leaves a plan that earns at least as much, every cost counted once."""

import pytest
from hypothesis import HealthCheck, given, settings
from tests.engine.test_hold import begun

from gangplan.domain.plan import TerminationReason
from gangplan.domain.round import Round
from gangplan.engine.bundles import looking, weigh
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.take_back import take_back
from gangplan.planning.generate import generate_named
from gangplan.testing.strategies import rounds


def earns_more(judge: Judge, candidate: Candidate, other: Candidate) -> bool:
    """Whether ``candidate`` pays over ``other`` for all whose lot differs."""
    mine, theirs = candidate.verification.outcomes, other.verification.outcomes
    names = [job.name for job in judge.instance.jobs if job.name in mine and job.name in theirs]
    with looking(judge):
        return weigh(judge, candidate, other, [n for n in names if mine[n] != theirs[n]]).pays


def taken_back(round_: Round) -> tuple[Judge, Candidate, Candidate] | None:
    """The greedy's plan, and the same without what does not pay; None where that is all or nothing."""
    holding, _, candidate = begun(round_)
    if candidate is None:
        return None
    left = take_back(holding.judge, candidate, holding.floor).candidate
    if left is candidate or left is holding.floor:
        return None
    return holding.judge, candidate, left


def test_a_gang_that_most_jobs_make_room_for_is_not_taken_back_part_by_part() -> None:
    """The plan is worth 1,422, without the gang 1,288, and 1,343 with everybody where it is."""
    found = taken_back(generate_named("M/steady/85/seed7"))
    assert found is None or not earns_more(*found)


@settings(suppress_health_check=list(HealthCheck))
@given(rounds("small"))
def test_what_is_taken_back_does_not_earn_more_than_what_is_left(round_: Round) -> None:
    found = taken_back(round_)
    assert found is None or not earns_more(*found)


@pytest.mark.parametrize("name", ["S/steady/50/seed3", "S/steady/85/seed0"])
def test_exchanges_that_make_room_for_others_are_not_taken_back(name: str) -> None:
    """Four bundles of S/steady/50/seed3 lose on their own members; without them 6 % of the plan is lost."""
    result = plan_round(
        generate_named(name), PlanParameters(time_budget_seconds=60.0, pipeline="full", solver="highs")
    )
    assert result.reason is TerminationReason.OPTIMAL, result.detail
    assert result.statistics["taken_back_actions"] == 0
