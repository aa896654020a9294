"""Strict and soft deadlines decide what runs, and what is lost is worth nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.job import DeadlineKind, Job
from gangplan.domain.plan import ActionKind, RoundResult
from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import act, at, job, node, plan_of, round_of

H = "H100"
NOW = 10_000.0
LENGTH = 300.0
HOUR = 3_600.0
STRICT, SOFT, TARGET = DeadlineKind.STRICT, DeadlineKind.SOFT, DeadlineKind.TARGET


def planned(round_: Round, pipeline: str = "full") -> RoundResult:
    return plan_round(round_, PlanParameters(time_budget_seconds=600.0, solver="highs", pipeline=pipeline))


def kinds(result: RoundResult) -> dict[str, str]:
    return {action.job: action.kind.value for action in result.plan.actions}


def due(
    name: str, seconds: float, work: float, kind: DeadlineKind, decay: float = 0.0, **fields: object
) -> Job:
    """A job that wants four devices and has ``work`` device-seconds left."""
    deadline = {"deadline": NOW + seconds, "deadline_kind": kind, "deadline_decay_seconds": decay}
    return job(name, gpus=4, work_left=work, **{**deadline, **fields})


def one_node(*jobs: Job) -> Round:
    """Four devices; a full-speed job does four device-seconds a second."""
    return round_of([node("n", H, 4)], jobs, now=NOW, round_seconds=LENGTH, horizon_seconds=HOUR)


def worth(job_: Job) -> float:
    """What running ``job_`` is worth, by the verifier."""
    placed = act(ActionKind.PLACE, job_.name, at("n", range(4)), scope="node", throughput=4.0)
    judged = verify(one_node(job_), plan_of(placed))
    assert judged.valid, judged.violations
    return judged.objective


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
def test_a_strict_deadline_that_is_lost_is_worth_nothing(pipeline):
    result = planned(one_node(due("late", HOUR, 4 * HOUR + 1, STRICT), job("small", gpus=1)), pipeline)
    assert kinds(result) == {"small": "PLACE"}
    (verdict,) = result.verdicts
    assert (verdict.job, verdict.kind.value, verdict.code) == ("late", "NOT_CHOSEN", "DEADLINE_LOST")


@pytest.mark.parametrize(
    ("seconds", "work", "kind", "decay", "expected"),
    [
        pytest.param(HOUR, 4 * HOUR, STRICT, 0.0, 6.0, id="met exactly: 4 at work, 2 for it"),
        pytest.param(HOUR, 4 * HOUR + 1, STRICT, 0.0, 0.0, id="a second too much"),
        pytest.param(-1.0, 1.0, STRICT, 0.0, 0.0, id="past"),
        pytest.param(-1.0, 0.0, STRICT, 0.0, 4.0, id="past, but nothing is left: not lost, not rewarded"),
        pytest.param(100.0, 400.0, STRICT, 0.0, 6.0, id="within this round"),
        pytest.param(100.0, 401.0, STRICT, 0.0, 0.0, id="within this round, too late"),
        pytest.param(HOUR, 4 * HOUR + 1, TARGET, 0.0, 4.0, id="a target only costs its reward"),
        pytest.param(HOUR, 4 * HOUR, SOFT, HOUR, 6.0, id="on time"),
        pytest.param(HOUR, 4 * 1.25 * HOUR, SOFT, HOUR, 5.5, id="a quarter of the decay late"),
        pytest.param(HOUR, 4 * 2 * HOUR, SOFT, HOUR, 4.0, id="all of it late"),
        pytest.param(-HOUR / 2, 4 * HOUR / 4, SOFT, HOUR, 4.5, id="past, and three quarters gone at the end"),
    ],
)
def test_what_a_deadline_is_worth(seconds, work, kind, decay, expected):
    one = due("j", seconds, work, kind, decay)
    assert worth(one) == pytest.approx(expected)
    assert planned(one_node(one)).quality.objective == pytest.approx(expected)


def test_unknown_work_is_not_judged():
    assert worth(due("j", -1.0, None, STRICT)) == 4.0


@given(late=st.floats(0.0, 2.0), more=st.floats(0.0, 1.0))
def test_a_soft_reward_never_rises_with_lateness(late, more):
    early, later = (due("j", HOUR, 4 * HOUR * (1 + x), SOFT, HOUR) for x in (late, late + more))
    assert worth(later) <= worth(early) + 1e-9
    assert 4.0 <= worth(early) <= 6.0


def test_a_doomed_job_goes_on_until_its_place_is_wanted_and_its_stop_costs_nothing():
    doomed = due("doomed", 60.0, 1_000.0, STRICT, running=at("n", range(4)), restart_seconds=100.0)
    assert kinds(planned(one_node(doomed))) == {"doomed": "KEEP"}
    result = planned(one_node(doomed, job("tiny", gpus=1, weight=0.01)))
    assert kinds(result) == {"doomed": "EVICT", "tiny": "PLACE"}
    assert result.quality.objective_by_term["switching"] == 0.0


def test_an_option_after_which_it_is_lost_is_worth_nothing_and_one_that_saves_it_all():
    slow, fast = node("s", "A", 4), node("f", H, 4)
    one = due("j", HOUR, 4 * HOUR - 100.0, STRICT, running=at("s", range(4)), checkpoint_age=0.0)
    round_ = round_of(
        [slow, fast], [one], types={"A": 0.5, H: 1.0}, now=NOW, round_seconds=LENGTH, horizon_seconds=HOUR
    )
    assert kinds(planned(round_)) == {"j": "MIGRATE"}
    # Half speed for a round loses 600 of the 100 units that there are to spare: KEEP is worth nothing.
    keep = act(ActionKind.KEEP, "j", at("s", range(4)), scope="node", throughput=2.0)
    assert verify(round_, plan_of(keep)).objective == 0.0
    ample = replace(one, deadline=NOW + 2 * HOUR)
    assert verify(replace(round_, jobs=(ample,)), plan_of(keep)).objective == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("urgency", "seconds", "kind", "expected"),
    [
        pytest.param(0.0, HOUR / 4, STRICT, 6.0, id="0: the same however near"),
        pytest.param(1.0, HOUR, STRICT, 6.0, id="a horizon away: as with 0"),
        pytest.param(1.0, HOUR / 4, STRICT, 12.0, id="a quarter of it: 4 at work, 2 x 4 for it"),
        pytest.param(1.0, 4 * HOUR, TARGET, 4.5, id="four of it: 2 / 4"),
        pytest.param(2.0, HOUR / 2, STRICT, 12.0, id="squared"),
        pytest.param(1.0, 100.0, STRICT, 28.0, id="sooner than a round: as if a round away, 2 x 12"),
        pytest.param(1.0, -HOUR / 4, SOFT, 16.0, id="a soft one that has passed: 2 x 12, of it half"),
    ],
)
def test_a_deadline_is_worth_more_the_nearer_it_is_by_its_urgency(urgency, seconds, kind, expected):
    policy = Policy(deadline_urgency=urgency)
    late = HOUR / 4 if kind is SOFT else 0.0  # ends a quarter of an hour from now, half of the decay late
    round_ = replace(
        one_node(due("j", seconds, 4 * late or 40.0, kind, HOUR if late else 0.0)), policy=policy
    )
    placed = act(ActionKind.PLACE, "j", at("n", range(4)), scope="node", throughput=4.0)
    judged = verify(round_, plan_of(placed))
    assert judged.valid, judged.violations
    assert judged.objective == pytest.approx(expected)
    result = planned(round_)
    assert (kinds(result), result.quality.objective) == ({"j": "PLACE"}, pytest.approx(expected))


@pytest.mark.parametrize(("urgency", "runs"), [(0.0, set("abcd")), (1.0, {"near"})])
def test_who_nears_its_deadline_keeps_its_worth_for_each_device_with_urgency(urgency, runs):
    """One that now needs all four devices, on time in a quarter of an hour, beside four who have ten hours.

    It asked for one device and runs at the rate of two on four. Without urgency it is worth 2 + 4, the others
    1 + 4 each; with it 2 + 4 x 4 = 18, and the others 1 + 4 / 10 each, 5.6 together.
    """
    near = job("near", gpus=1, counts=(1, 4), profile="p", deadline=NOW + HOUR / 4, work_left=2 * HOUR / 4)
    others = [job(name, deadline=NOW + 10 * HOUR, work_left=10 * HOUR) for name in "abcd"]
    profile = {(H, 1, "node"): 1.0, (H, 4, "node"): 2.0}
    round_ = round_of(
        [node("n", H, 4)],
        [near, *others],
        profiles={"p": profile},
        now=NOW,
        round_seconds=LENGTH,
        horizon_seconds=HOUR,
        policy=Policy(deadline_urgency=urgency, deadline_weight=4.0, fairness_power=0.0),
    )
    assert {action.job for action in planned(round_).plan.actions} == runs
