"""Guarantees: a queue gets what it is guaranteed before anything else counts, and no more (property P16)."""

from __future__ import annotations

import pytest

from gangplan.domain.job import Capabilities, Job
from gangplan.domain.plan import RoundResult
from gangplan.domain.policy import Policy, Tier
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.testing.builders import at, job, node, round_of

H = "H100"


def planned(round_: Round, pipeline: str) -> RoundResult:
    return plan_round(round_, PlanParameters(time_budget_seconds=600.0, solver="highs", pipeline=pipeline))


def kinds(result: RoundResult) -> dict[str, str]:
    return {action.job: action.kind.value for action in result.plan.actions}


def one_node(*jobs: Job, queues: tuple[Queue, ...], devices: int = 4, policy: Policy | None = None) -> Round:
    return round_of([node("n", H, devices)], jobs, queues=queues, policy=policy or Policy())


both = pytest.mark.parametrize("pipeline", ["greedy", "full"])
OWED = (Queue("mine", device_guarantee=2), Queue("others"))


@both
def test_a_guarantee_goes_before_what_is_worth_more(pipeline):
    jobs = job("light", gpus=2, weight=0.01, queue="mine"), job("heavy", gpus=4, weight=100.0, queue="others")
    result = planned(one_node(*jobs, queues=OWED), pipeline)
    assert kinds(result) == {"light": "PLACE"}
    assert result.plan.guarantee_floors == {"mine": 2.0}
    assert result.notices == ()
    assert (result.quality.guarantees.value, result.quality.guarantees.bound) == pytest.approx((2.0, 2.0))
    plain = planned(one_node(*jobs, queues=(Queue("mine"), Queue("others"))), pipeline)
    assert kinds(plain) == {"heavy": "PLACE"}
    assert plain.quality.guarantees is None


@both
def test_no_more_than_the_guarantee_counts_first(pipeline):
    light = [job(f"l{i}", gpus=1, weight=0.01, queue="mine") for i in range(4)]
    heavy = [job(f"h{i}", gpus=1, weight=100.0, queue="others") for i in range(4)]
    found = kinds(planned(one_node(*light, *heavy, queues=OWED), pipeline))
    assert sum(name.startswith("l") for name in found) == 2
    assert sum(name.startswith("h") for name in found) == 2


@both
def test_who_borrows_gives_back_and_that_is_not_taken_back(pipeline):
    lent = [
        job(f"h{i}", gpus=2, weight=9.0, queue="others", running=at("n", [2 * i, 2 * i + 1])) for i in (0, 1)
    ]
    light = job("light", gpus=2, weight=0.01, queue="mine")
    found = kinds(planned(one_node(*lent, light, queues=OWED), pipeline))
    assert sorted(found.values()) == ["EVICT", "KEEP", "PLACE"]
    assert found["light"] == "PLACE"


@both
def test_a_queue_within_its_own_guarantee_gives_nothing(pipeline):
    queues = Queue("mine", device_guarantee=2), Queue("others", device_guarantee=4)
    mine = job("holder", gpus=4, weight=0.01, queue="others", running=at("n", range(4)))
    result = planned(one_node(mine, job("light", gpus=2, weight=9.0, queue="mine"), queues=queues), pipeline)
    assert kinds(result) == {"holder": "KEEP"}
    assert result.quality.guarantees.value == pytest.approx(4.0)
    (notice,) = result.notices
    assert (notice.code, notice.field) == ("GUARANTEE_UNMET", "queues[0].device_guarantee")
    assert notice.message == (
        "queue mine has 0 of 2 devices that it is guaranteed, and its jobs ask for more; "
        "together queues have 4 devices of their guarantees, and no plan gives them more"
    )


@both
def test_an_over_served_queue_yields_to_an_under_served_one(pipeline):
    queues = Queue("mine", device_guarantee=2), Queue("others", device_guarantee=2)
    held = [job(f"h{i}", gpus=1, weight=9.0, queue="others", running=at("n", [i])) for i in range(4)]
    light = job("light", gpus=2, weight=0.01, queue="mine")
    result = planned(one_node(*held, light, queues=queues), pipeline)
    assert sorted(kinds(result).values()) == ["EVICT", "EVICT", "KEEP", "KEEP", "PLACE"]
    assert result.plan.guarantee_floors == {"mine": 2.0, "others": 2.0}


@both
def test_the_guarantee_of_a_parent_is_for_all_below_it(pipeline):
    queues = Queue("team", device_guarantee=2), Queue("mine", "team"), Queue("others")
    jobs = job("light", gpus=2, weight=0.01, queue="mine"), job("heavy", gpus=4, weight=100.0, queue="others")
    assert kinds(planned(one_node(*jobs, queues=queues), pipeline)) == {"light": "PLACE"}


@both
def test_guarantees_go_before_tiers(pipeline):
    jobs = job("light", gpus=2, queue="mine"), job("high", gpus=4, queue="others", priority=9)
    policy = Policy(tiers=(Tier((9,)),))
    assert kinds(planned(one_node(*jobs, queues=OWED, policy=policy), pipeline)) == {"light": "PLACE"}


@both
def test_who_may_not_be_stopped_keeps_what_it_holds(pipeline):
    holder = job(
        "holder",
        gpus=4,
        queue="others",
        running=at("n", range(4)),
        capabilities=Capabilities(pausable=False, movable=False),
    )
    result = planned(one_node(holder, job("light", gpus=2, queue="mine"), queues=OWED), pipeline)
    assert kinds(result) == {"holder": "KEEP"}
    assert [notice.code for notice in result.notices] == ["GUARANTEE_UNMET"]
    assert result.quality.guarantees.value == 0.0
    assert result.plan.guarantee_floors == {}
