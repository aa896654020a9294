"""Work that somebody waits for: its start counts, room is left for it, and idle work is stopped."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangplan.domain.job import Capabilities, Interactive, Job
from gangplan.domain.plan import ForcedReason, RoundResult
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.verify import verify
from gangplan.testing.apply import apply
from gangplan.testing.builders import at, job, node, round_of

H = "H100"
NOW = 10_000.0
PLAIN = Policy(fairness_power=0.0)


def planned(round_: Round, pipeline: str = "full") -> RoundResult:
    return plan_round(round_, PlanParameters(time_budget_seconds=600.0, solver="highs", pipeline=pipeline))


def kinds(result: RoundResult) -> dict[str, str]:
    return {action.job: action.kind.value for action in result.plan.actions}


def shell(name: str = "shell", gpus: int = 1, waited: float = 0.0, **fields: object) -> Job:
    fields.setdefault("interactive", Interactive(300.0))
    return job(name, gpus=gpus, submit_time=NOW - waited, **fields)


def crowd(number: int, **fields: object) -> list[Job]:
    return [job(f"batch-{i}", gpus=1, **fields) for i in range(number)]


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
@pytest.mark.parametrize(
    ("waited", "weight", "starts"),
    [
        (0.0, 1.9, "shell"),
        (0.0, 2.1, "batch-0"),
        (300.0, 1.9, "shell"),
        (450.0, 1.4, "shell"),
        (450.0, 1.6, "batch-0"),
        (600.0, 1.1, "batch-0"),
    ],
)
def test_a_start_in_time_is_worth_as_much_as_the_work(waited, weight, starts, pipeline):
    """One device. The shell counts 1 + U, which falls from 1 after 300 s to 0 after 600 s."""
    jobs = [*crowd(1, weight=weight), shell(waited=waited), shell("past", waited=9e3)]  # the median weighs 1
    result = planned(round_of([node("a", H, 1)], jobs, policy=PLAIN, now=NOW), pipeline)
    assert kinds(result) == {starts: "PLACE"}


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
@pytest.mark.parametrize(("headroom", "starts"), [(0, 4), (1, 3), (3, 1), (4, 0), (9, 0)])
def test_others_leave_the_headroom_free(headroom, starts, pipeline):
    policy = replace(PLAIN, headroom={H: headroom})
    result = planned(round_of([node("a", H, 2), node("b", H, 2)], crowd(5), policy=policy, now=NOW), pipeline)
    assert list(kinds(result).values()) == ["PLACE"] * starts
    waiting = {v.code for v in result.verdicts}
    assert ("HEADROOM" in waiting) == (headroom > 0)


def test_who_waits_for_the_headroom_is_told_so():
    result = planned(round_of([node("a", H, 4)], crowd(1), policy=replace(PLAIN, headroom={H: 4}), now=NOW))
    (verdict,) = result.verdicts
    assert (verdict.kind.value, verdict.code) == ("HELD_BY_POLICY", "HEADROOM")
    assert verdict.message == "is short of 1 device that are left for interactive jobs to start on"


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
def test_interactive_jobs_take_the_headroom(pipeline):
    policy = replace(PLAIN, headroom={H: 2})
    jobs = [*crowd(4), *(shell(f"shell-{i}") for i in range(3))]
    found = kinds(planned(round_of([node("a", H, 4)], jobs, policy=policy, now=NOW), pipeline))
    assert sorted(name[:5] for name in found) == ["batch", "shell", "shell", "shell"]


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
def test_nobody_is_stopped_for_the_headroom(pipeline):
    """All of it is taken by jobs that run: they go on, and no more of them start."""
    running = [job(f"run-{i}", gpus=1, running=at("a", [i])) for i in range(3)]
    policy = replace(PLAIN, headroom={H: 4})
    round_ = round_of([node("a", H, 4)], [*running, *crowd(2)], policy=policy, now=NOW)
    assert kinds(planned(round_, pipeline)) == {f"run-{i}": "KEEP" for i in range(3)}


def test_capacity_where_nothing_may_start_is_no_headroom():
    """Two devices of a cordoned node are free: the headroom is on the other, of which one may be taken."""
    held = job("held", gpus=2, running=at("cordoned", [0, 1]))
    nodes = [node("a", H, 2), node("cordoned", H, 4, cordoned=True)]
    policy = replace(PLAIN, headroom={H: 1})
    found = kinds(planned(round_of(nodes, [held, *crowd(2)], policy=policy, now=NOW)))
    assert sorted(found.values()) == ["KEEP", "PLACE"]


def test_a_queue_s_limit_holds_beside_the_headroom():
    jobs = [job(f"lab-{i}", gpus=1, queue="lab") for i in range(3)] + [shell(queue="lab")]
    policy = replace(PLAIN, headroom={H: 1})
    round_ = round_of([node("a", H, 4)], jobs, policy=policy, now=NOW, queues=(Queue("lab", device_limit=3),))
    found = kinds(planned(round_))
    assert found["shell"] == "PLACE"
    assert len(found) == 3


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
@pytest.mark.parametrize(("idle", "kind"), [(None, "KEEP"), (0.0, "KEEP"), (59.9, "KEEP"), (60.0, "EVICT")])
def test_idle_work_is_stopped_after_its_limit_and_not_before(idle, kind, pipeline):
    """Also where it may not be paused, is left alone, and nobody wants its place."""
    since = None if idle is None else NOW - idle
    unused = shell("unused", running=at("a", [0]), interactive=Interactive(300.0, 60.0, since))
    held = replace(unused.running, minimum_run_until=NOW + 1e6)
    unused = replace(unused, running=held, capabilities=Capabilities(pausable=False))
    result = planned(round_of([node("a", H, 4)], [unused], now=NOW), pipeline)
    (action,) = result.plan.actions
    assert (action.kind.value, action.forced) == (kind, ForcedReason.IDLE if kind == "EVICT" else None)
    if kind == "EVICT":
        (verdict,) = result.verdicts
        assert (verdict.kind.value, verdict.code) == ("HELD_BY_POLICY", "IDLE")


def test_idle_work_does_not_start_again_until_somebody_comes_back():
    unused = shell("unused", interactive=Interactive(300.0, 60.0, NOW - 60.0))
    assert kinds(planned(round_of([node("a", H, 4)], [unused], now=NOW))) == {}
    back = replace(unused, interactive=Interactive(300.0, 60.0))
    assert kinds(planned(round_of([node("a", H, 4)], [back], now=NOW))) == {"unused": "PLACE"}


def test_without_a_limit_it_may_be_idle_for_ever():
    unused = shell("unused", running=at("a", [0]), interactive=Interactive(300.0, None, 0.0))
    assert kinds(planned(round_of([node("a", H, 4)], [unused], now=NOW))) == {"unused": "KEEP"}


def test_idle_work_on_a_node_that_is_gone_does_not_start_elsewhere():
    unused = shell("unused", running=at("gone", [0]), interactive=Interactive(300.0, 60.0, NOW - 61.0))
    result = planned(round_of([node("a", H, 4)], [unused], now=NOW))
    assert [(a.kind.value, a.forced) for a in result.plan.actions] == [("EVICT", ForcedReason.NODE_GONE)]


def test_one_start_is_no_reason_to_stop_another():
    """Five rounds: a shell that runs is worth as much as one that could start in its place."""
    round_ = round_of(
        [node("a", H, 1)],
        [shell("runs", running=at("a", [0]), waited=3_600.0), shell("waits")],
        policy=PLAIN,
        now=NOW,
    )
    for _ in range(5):
        result = planned(round_)
        assert kinds(result) == {"runs": "KEEP"}
        round_ = apply(round_, result.plan)


def test_the_verifier_refuses_a_start_in_the_headroom():
    free = round_of([node("a", H, 4)], crowd(3), policy=PLAIN, now=NOW)
    plan = planned(free).plan
    tight = replace(free, policy=replace(PLAIN, headroom={H: 2}))
    assert [v.rule for v in verify(tight, plan).violations] == ["headroom.taken"]
