"""What is taken back leaves a plan that earns at least as much, every cost counted once."""

import pytest

from gangplan.domain.plan import TerminationReason
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.planning.generate import generate_named


@pytest.mark.parametrize("name", ["S/steady/50/seed3", "S/steady/85/seed0"])
def test_exchanges_that_make_room_for_others_are_not_taken_back(name: str) -> None:
    """Four bundles of S/steady/50/seed3 lose on their own members; without them 6 % of the plan is lost."""
    result = plan_round(
        generate_named(name), PlanParameters(time_budget_seconds=60.0, pipeline="full", solver="highs")
    )
    assert result.reason is TerminationReason.OPTIMAL, result.detail
    assert result.statistics["taken_back_actions"] == 0
