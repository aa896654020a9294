"""Without a wall limit the answer hangs on the round alone: twenty times, in another order each time."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from gangplan.bench.permute import permute_round
from gangplan.domain.job import Job
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.planning.generate import generate_named
from gangplan.testing.builders import group, job, node, round_of

REPEATS = 20


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.parametrize("name", ["S/steady/85/seed0", "S/random/50/seed1"])
def test_twenty_times_in_another_order_the_plan_is_the_same(name: str, solver: str) -> None:
    round_ = generate_named(name)
    how = PlanParameters(time_budget_seconds=None, pipeline="full", solver=solver)
    first = plan_round(round_, how)
    for seed in range(REPEATS):
        again = plan_round(permute_round(round_, seed), how)
        assert again.plan == first.plan
        assert again.verdicts == first.verdicts
        assert again.quality.objective == first.quality.objective


def test_jobs_that_list_their_types_in_another_order_are_alike() -> None:
    """Two classes of them would fill differently from one."""
    nodes = [node("a", "H", 2), node("b", "V", 2)]

    def listed(types: tuple[str, ...], number: int) -> Job:
        return job(f"j{number}", group(types=types))

    one = plan_round(round_of(nodes, [listed(("H", "V"), n) for n in range(6)]))
    jobs = [listed(("H", "V") if n % 2 else ("V", "H"), n) for n in range(6)]
    other = plan_round(round_of(nodes, jobs))
    assert other.plan == one.plan
    assert other.statistics["classes"] == one.statistics["classes"] == 1


def test_a_node_limit_cuts_at_the_same_place() -> None:
    round_ = replace(generate_named("S/random/85/seed2"))
    how = PlanParameters(time_budget_seconds=None, pipeline="full", solver="highs", node_limit=1)
    plans = [plan_round(permute_round(round_, random.Random(n).randrange(99)), how).plan for n in range(4)]
    assert plans.count(plans[0]) == len(plans)
