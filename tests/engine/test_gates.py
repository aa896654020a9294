"""Jobs behind their gate do not start; jobs that are left alone are not disturbed (decisions 9, 11, 14)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangplan.domain.job import Gate
from gangplan.domain.plan import RoundResult
from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.facts import round_facts
from gangplan.testing.apply import apply
from gangplan.testing.builders import at, job, node, round_of

H = "H100"
NOW = 10_000.0
DEFAULT = Policy()


def planned(round_: Round, pipeline: str = "full") -> RoundResult:
    return plan_round(round_, PlanParameters(time_budget_seconds=600.0, solver="highs", pipeline=pipeline))


def kinds(result: RoundResult) -> dict[str, str]:
    return {action.job: action.kind.value for action in result.plan.actions}


def verdicts(result: RoundResult) -> dict[str, tuple[str, str, str]]:
    return {v.job: (v.kind.value, v.code, v.message) for v in result.verdicts}


def contended(policy: Policy = DEFAULT, **running: object) -> Round:
    """A light job holds the only node; a heavy one wants it."""
    holder = job("light", gpus=4, weight=0.1, running=at("a", range(4)), checkpoint_age=0.0)
    holder = replace(holder, running=replace(holder.running, **running))
    return round_of([node("a", H, 4)], [holder, job("heavy", gpus=4, weight=5.0)], policy=policy, now=NOW)


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
def test_what_is_not_left_alone_gives_way(pipeline):
    assert kinds(planned(contended(started_at=NOW - 60.0), pipeline)) == {"light": "EVICT", "heavy": "PLACE"}


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
@pytest.mark.parametrize(
    ("policy", "running"),
    [
        (Policy(minimum_run_seconds=61.0), {"started_at": NOW - 60.0}),
        (Policy(), {"minimum_run_until": NOW + 1.0}),
        (Policy(), {"next_safe_point": NOW + 1.0}),
        (Policy(disruption_limit_per_job_hour=0), {}),
    ],
)
def test_a_job_is_left_alone(policy, running, pipeline):
    result = planned(contended(policy, **running), pipeline)
    assert kinds(result) == {"light": "KEEP"}
    message = "0 of 4 tasks fit in the cluster beside work that is left alone for now; short of 4 devices"
    assert verdicts(result) == {"heavy": ("HELD_BY_POLICY", "MINIMUM_RUN_TIME", message)}


@pytest.mark.parametrize(
    ("policy", "running"),
    [
        (Policy(minimum_run_seconds=60.0), {"started_at": NOW - 60.0}),
        (Policy(minimum_run_seconds=60.0), {"started_at": None}),
        (Policy(), {"minimum_run_until": NOW}),
        (Policy(), {"next_safe_point": NOW}),
    ],
)
def test_and_no_longer(policy, running):
    assert kinds(planned(contended(policy, **running)))["light"] == "EVICT"


def test_a_job_is_disturbed_so_often_in_an_hour_and_no_more():
    policy = Policy(disruption_limit_per_job_hour=2)
    for times, kind in [((60.0,), "EVICT"), ((60.0, 3_599.0), "KEEP"), ((60.0, 3_600.0), "EVICT")]:
        round_ = contended(policy)
        holder = replace(round_.jobs[0], disrupted_at=tuple(NOW - time for time in times))
        assert kinds(planned(replace(round_, jobs=(holder, round_.jobs[1]))))["light"] == kind


def test_a_disturbed_job_remembers_it():
    after = apply(contended(), planned(contended()).plan)
    assert {j.name: j.disrupted_at for j in after.jobs} == {"light": (NOW,), "heavy": ()}


def test_who_is_forced_off_is_not_left_alone():
    round_ = contended(minimum_run_until=NOW + 1.0)
    sick = replace(round_.cluster.nodes[0], drain_time=NOW)
    result = planned(replace(round_, cluster=replace(round_.cluster, nodes=(sick,))))
    assert kinds(result) == {"light": "EVICT"}


GATES = {
    "held": (Gate(held=True), "HELD", "is held by its owner"),
    "not yet": (Gate(not_before=NOW + 90.5), "NOT_BEFORE", "may not start for another 91 s"),
    "after another": (Gate(after_jobs=("a", "gone")), "AFTER_JOBS", "starts only after a"),
}


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
@pytest.mark.parametrize(("gate", "code", "message"), GATES.values(), ids=GATES)
def test_a_gate_keeps_a_job_from_starting(gate, code, message, pipeline):
    round_ = round_of([node("n", H, 4)], [job("a"), job("j", gate=gate)], now=NOW)
    result = planned(round_, pipeline)
    assert kinds(result) == {"a": "PLACE"}
    assert verdicts(result) == {"j": ("HELD_BY_POLICY", code, message)}


@pytest.mark.parametrize("gate", [Gate(not_before=NOW), Gate(after_jobs=("gone",)), Gate(held_seconds=5.0)])
def test_an_open_gate_keeps_nobody(gate):
    assert kinds(planned(round_of([node("n", H, 4)], [job("j", gate=gate)], now=NOW))) == {"j": "PLACE"}


def test_who_runs_behind_a_gate_goes_on_but_is_not_started_again():
    slow, fast = node("s", "A", 1), node("f", H, 1)
    runs = job("j", running=at("s", [0]), checkpoint_age=0.0)
    speeds = {"A": 0.1, H: 1.0}
    free = round_of([slow, fast], [runs], types=speeds)
    assert kinds(planned(free)) == {"j": "MIGRATE"}
    held = round_of([slow, fast], [replace(runs, gate=Gate(held=True))], types=speeds)
    assert kinds(planned(held)) == {"j": "KEEP"}


def test_a_held_job_does_not_contend_nor_age():
    common = {"submit_time": NOW - 7_200.0, "work_left": 3_600.0}
    jobs = [job("a", **common), job("b", **common), job("h", gate=Gate(held=True), **common)]
    facts = round_facts(round_of([node("n", H, 1)], jobs, now=NOW))
    assert facts.jobs["h"].rho == 1.0
    assert facts.jobs["a"].isolated == pytest.approx(0.5)  # two contend for one device
    late = job("a", gate=Gate(not_before=NOW - 3_600.0, held_seconds=1_800.0), **common)
    young = job("a", submit_time=NOW - 1_800.0, work_left=3_600.0)
    rho = [
        round_facts(round_of([node("n", H, 1)], [j, *jobs[1:]], now=NOW)).jobs["a"].rho for j in (late, young)
    ]
    assert rho[0] == rho[1]
