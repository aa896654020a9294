"""Apply the plan, plan again with the clock frozen: nothing moves (P7, decision 14)."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings

from gangplan.domain.job import OPEN, Component, Job, TaskGroup
from gangplan.domain.plan import Action, ActionKind, RoundResult
from gangplan.domain.round import Round
from gangplan.model.verifier.verify import verify
from gangplan.testing.apply import apply
from gangplan.testing.builders import at, group, job, node, round_of
from gangplan.testing.strategies import guaranteed, rounds

from .planned import DEFAULTS, closed, drawn, in_depth, planned

DISRUPTIONS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
each_backend = pytest.mark.parametrize("backend", DEFAULTS)


@in_depth
def depth():
    """Quick or deep."""


def voluntary(result: RoundResult) -> list[Action]:
    return [a for a in result.plan.actions if a.kind in DISRUPTIONS and a.forced is None]


def unhurried(round_: Round) -> Round:
    """A round whose next one has no choices that it lacks itself.

    With a limit on disruptions the next round goes on where this one had to stop, and a job that may not be
    moved or resized, or is left alone for a time, may, once it is stopped, start anywhere and in any size.
    One that has a claim must start there, and is as free as others a round later.
    One that runs behind a gate contends, and once it is stopped it does not: then all others weigh otherwise.
    """

    def free(old: Job) -> Job:
        calm = old.running and replace(old.running, next_safe_point=None, minimum_run_until=None)
        may = replace(old.capabilities, movable=True, resizable=True)
        gate = OPEN if old.running else old.gate
        return replace(old, capabilities=may, running=calm, gate=gate, disrupted_at=())

    policy = replace(
        round_.policy, disruption_limit=None, minimum_run_seconds=0.0, disruption_limit_per_job_hour=None
    )
    return replace(round_, jobs=tuple(map(free, round_.jobs)), policy=policy, claims=())


small = rounds("small").map(unhurried)


def assert_settled(first: RoundResult, again: RoundResult) -> None:
    """Nobody is disrupted again.

    A bundle that was taken back whole may hold a smaller one that is worth it, which the next round finds:
    then, and only then, there may be disruptions, of proved gain.
    """
    if first.statistics["taken_back_bundles"]:
        if voluntary(again):
            assert again.quality.objective > again.quality.keep_and_fill
    else:
        assert voluntary(again) == []


def hopeless(round_: Round) -> Job:
    """Fits nowhere; of the median weight, so that no coefficient changes where fairness has no power."""
    weights = round_.policy.priority_weights
    median = statistics.median(job.weight * weights.get(job.priority, 1.0) for job in round_.jobs)
    group = TaskGroup("worker", 10_000, (10_000,), 1)
    return Job("hopeless", Component((group,)), weight=median, priority=-7)


@each_backend
@drawn
@given(small)
def test_after_a_finished_plan_the_next_one_disrupts_nobody(backend, round_):
    first = planned(round_, backend)
    if closed(first):
        again = planned(apply(round_, first.plan), backend)
        assert_settled(first, again)


@settings(drawn, max_examples=settings().max_examples // 4)
@given(guaranteed("small").map(unhurried))
def test_nor_does_it_where_queues_are_guaranteed_devices(round_):
    first = planned(round_)
    if closed(first):
        again = planned(apply(round_, first.plan))
        assert_settled(first, again)
        assert again.quality.guarantees.value >= first.quality.guarantees.value - 1e-9


@drawn
@given(small)
def test_nor_does_it_when_a_job_that_fits_nowhere_comes_along(round_):
    round_ = replace(round_, policy=replace(round_.policy, fairness_power=0.0, queue_fairness_power=0.0))
    first = planned(round_)
    if closed(first):
        after = apply(round_, first.plan)
        again = planned(replace(after, jobs=(*after.jobs, hopeless(after))))
        assert_settled(first, again)
        assert "hopeless" in {verdict.job for verdict in again.verdicts}


@drawn
@given(small)
def test_what_a_plan_leaves_running_is_kept_by_the_next(round_):
    """Exactly: the same nodes, devices and counts, and whoever waits may only start."""
    first = planned(round_)
    if closed(first) and not first.statistics["taken_back_bundles"]:
        after = apply(round_, first.plan)
        again = planned(after)
        kept = {a.job: set(a.placements) for a in again.plan.actions if a.kind is ActionKind.KEEP}
        assert kept == {job.name: set(job.running.placements) for job in after.jobs if job.running}
        assert verify(after, again.plan).violations == ()


def test_no_way_round_is_cheaper_than_to_stop_a_job_at_once():
    """Elastic e (weight 1) holds all 4 devices, has 120 s left on them and restarts in 30 s; big wants 3 of
    them and small 1 (weights 1.5, which is the median).

    To stop e costs 30 * 4 / 120 = 1 and makes 3 + 1 of 4 * 2/3. Did it cost only 30 * 1 / 120 to leave it
    one device, e would shrink first, and be stopped for small by the next round for 30 * 1 / 480: less than
    small's 1 - 2/3.
    """
    e = job("e", group(count=1, counts=[1, 4]), running=at("a", range(4)), checkpoint_age=0.0)
    e = replace(e, restart_seconds=30.0, work_left=480.0)
    others = [job("big", gpus=3, weight=1.5), job("small", weight=1.5)]
    round_ = round_of([node("a", "H100", 4)], [e, *others], round_seconds=60.0, horizon_seconds=720.0)
    round_ = replace(round_, policy=replace(round_.policy, hysteresis=0.0))
    first = planned(round_)
    assert first.quality.objective == pytest.approx(3.0)
    assert [action.job for action in voluntary(first)] == ["e"]
    after = apply(round_, first.plan)
    again = planned(replace(after, jobs=(*after.jobs, hopeless(after))))
    assert voluntary(again) == []


def test_of_a_fixed_sample_nearly_all_are_finished_and_stay_fixed():
    """How often the properties above say something."""
    seen: Counter[str] = Counter()

    @settings(drawn, max_examples=30, derandomize=True, database=None)
    @given(small)
    def look(round_: Round) -> None:
        first = planned(round_)
        seen["rounds"] += 1
        seen["finished"] += closed(first)
        seen["with a disruption"] += bool(voluntary(first))
        seen["taken back"] += first.statistics["taken_back_bundles"] > 0

    look()
    print(dict(seen))
    assert seen["finished"] >= 0.9 * seen["rounds"]
    assert seen["with a disruption"] >= 0.3 * seen["rounds"]


# How a plan is applied


def test_apply_starts_moves_stops_and_leaves_alone():
    """kept stays as it was; light is stopped for heavy, which then runs since now."""
    nodes = [node("a", "H100", 2), node("b", "H100", 1)]
    jobs = [
        job("kept", running=at("b", [0]), started=5.0, checkpoint_age=70.0, weight=9.0),
        job("light", gpus=2, running=at("a", [0, 1]), checkpoint_age=0.0, weight=0.5),
        job("heavy", gpus=2, weight=8.0),
    ]
    round_ = round_of(nodes, jobs, now=1_000.0)
    after = {job.name: job for job in apply(round_, planned(round_).plan).jobs}
    assert after["kept"] == jobs[0]
    assert after["light"].running is None
    assert after["heavy"].running.placements == (at("a", [0, 1]),)
    assert (after["heavy"].running.started_at, after["heavy"].running.checkpoint_age_seconds) == (1_000.0, 0)


def test_apply_refuses_a_plan_for_another_round():
    round_ = round_of([node("a", "H100", 1)], [job("j")])
    with pytest.raises(KeyError, match="not jobs of the round"):
        apply(round_of([node("a", "H100", 1)], [job("k")]), planned(round_).plan)
