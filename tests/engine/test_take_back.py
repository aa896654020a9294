"""What is taken back, and what is not: disruptions by choice are judged by what they cost and earn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from gangplan.domain.plan import ActionKind
from gangplan.domain.queue import Queue
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.testing.builders import at, group, job, node, round_of
from gangplan.testing.strategies import rounds


def kinds(result):
    return {action.job: action.kind for action in result.plan.actions}


@pytest.mark.parametrize("restart", [0.0, 86_400.0])
def test_what_a_forced_eviction_loses_is_not_held_against_others_in_its_queue(restart):
    """Queue q may hold the 4 devices of node a. lost was on a node that is gone and fits nowhere any more,
    whatever it has to redo. heavy (weight 4) is worth the place of light (weight 0.5).
    """
    light = job("light", gpus=4, weight=0.5, queue="q", running=at("a", range(4)), checkpoint_age=0.0)
    heavy = job("heavy", gpus=4, weight=4.0, queue="q")
    lost = job("lost", gpus=4, queue="q", running=at("gone", range(4)), restart_seconds=restart)
    round_ = round_of([node("a", "H100", 4)], [light, heavy, lost], queues=(Queue("q", None, 4),))
    result = plan_round(round_, PlanParameters(solver="highs"))
    assert kinds(result) == {
        "light": ActionKind.EVICT,
        "lost": ActionKind.EVICT,
        "heavy": ActionKind.PLACE,
    }
    assert result.statistics["taken_back_actions"] == 0


@settings(suppress_health_check=list(HealthCheck))
@given(rounds("small"))
def test_what_a_forced_eviction_loses_changes_no_plan(round_):
    """One more job in every queue, on a node that is gone, and too large to run ever again."""
    plans = []
    for restart in (0.0, 86_400.0):
        lost = [
            job(
                f"lost-{queue}",
                group(count=10_000),
                queue=queue,
                running=at("gone", range(4)),
                restart_seconds=restart,
            )
            for queue in (None, *(queue.name for queue in round_.queues))
        ]
        with_lost = replace(round_, jobs=(*round_.jobs, *lost))
        plans.append(plan_round(with_lost, PlanParameters(solver="highs", time_budget_seconds=600.0)).plan)
    assert plans[0] == plans[1]
