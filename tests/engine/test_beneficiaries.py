"""Disruptions name who has the good of them, and nobody else: no good plan is lost over its reasons."""

from __future__ import annotations

import pytest

from gangplan.domain.plan import ActionKind, RoundResult
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.testing.builders import at, group, job, node, round_of

URGENT = Policy(priority_weights={1: 100.0})


def planned(round_: Round) -> RoundResult:
    result = plan_round(round_, PlanParameters(pipeline="full", time_budget_seconds=30.0))
    assert not result.detail
    return result


@pytest.mark.parametrize("count_only", [False, True])
def test_who_shrinks_beside_an_eviction_is_not_who_it_is_for(*, count_only: bool) -> None:
    """``low`` leaves and ``elastic`` shrinks, both for ``urgent``; a node of 8 CPUs holds not all at once."""

    def held(first: int, last: int) -> range:
        return range(0) if count_only else range(first, last)

    round_ = round_of(
        [node("n", "H100", 8, cpu=8, count_only=count_only)],
        [
            job(
                "low",
                group(count=2, cpu=1),
                weight=0.1,
                running=at("n", held(0, 2), tasks=2),
                checkpoint_age=0.0,
            ),
            job(
                "elastic",
                group(count=4, counts=(2, 4, 6), cpu=1),
                weight=3.0,
                running=at("n", held(2, 8), tasks=6),
                checkpoint_age=0.0,
            ),
            job("urgent", group(count=6, cpu=1), priority=1),
        ],
        policy=URGENT,
    )
    actions = {action.job: action for action in planned(round_).plan.actions}
    assert {name: action.kind for name, action in actions.items()} == {
        "low": ActionKind.EVICT,
        "elastic": ActionKind.RESIZE,
        "urgent": ActionKind.PLACE,
    }
    assert actions["low"].beneficiaries == ("urgent",)
    assert actions["elastic"].beneficiaries == ("urgent",)


def test_who_grows_into_the_quota_of_another_is_who_it_is_for() -> None:
    """Of the queue's 4 devices ``urgent`` grows from 2 to 4 on its own node, so ``low`` gives up its 2."""
    round_ = round_of(
        [node("m", "H100", 8), node("n", "H100", 8)],
        [
            job("low", gpus=2, queue="team", running=at("n", range(2)), checkpoint_age=0.0),
            job(
                "urgent",
                group(count=4, counts=(2, 4)),
                queue="team",
                priority=1,
                running=at("m", range(2)),
                checkpoint_age=0.0,
            ),
        ],
        policy=URGENT,
        queues=(Queue("team", device_limit=4),),
    )
    actions = {action.job: action for action in planned(round_).plan.actions}
    assert actions["urgent"].kind is ActionKind.RESIZE
    assert actions["low"].kind is ActionKind.EVICT
    assert actions["low"].beneficiaries == ("urgent",)
