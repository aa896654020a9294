"""The window programme against raw enumeration, and against what policies reach."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Component, Job, TaskGroup
from gangplan.domain.round import Round
from gangplan.model.program import SolveParameters
from gangplan.planning import policies
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import play
from gangplan.planning.window import Follow, Goal, Grain, Window, judge, plan_window, window_of
from gangplan.planning.window.programme import formulate, lay_out
from gangplan.planning.window.ways import WindowJob
from gangplan_solvers import catalog

D = 100.0
CLOSE = 1e-5
FAMILIES = {"one_way", "capacity", "starts", "progress", "worst_rho", "deadline"}


@st.composite
def tiny(draw: st.DrawFn, *, jobs: int, sizes: tuple[int, ...] = (1, 1, 2), rounds: int = 2) -> History:
    """One or two nodes of one or two devices, and a few short jobs."""
    kinds = draw(st.lists(st.sampled_from(["fast", "slow"]), min_size=1, max_size=2))
    nodes = tuple(
        Node(f"n{i}", accelerator_type=kind, device_count=draw(st.integers(1, 2)))
        for i, kind in enumerate(kinds)
    )
    largest = max(sum(n.device_count for n in nodes if n.accelerator_type == kind) for kind in kinds)
    arrivals = []
    for index in range(draw(st.integers(2, jobs))):
        count = min(draw(st.sampled_from(sizes)), largest)
        job = Job(
            f"j{index}",
            component=Component((TaskGroup(count=count, allowed_counts=(count,)),)),
            weight=draw(st.sampled_from([1.0, 2.0])),
            submit_time=draw(st.sampled_from([0.0, 0.0, 50.0, D])),
            restart_seconds=draw(st.sampled_from([0.0, 20.0, 60.0])),
            deadline=draw(st.sampled_from([None, 150.0, 200.0, 260.0])),
        )
        arrivals.append(Arrival(job, count * draw(st.integers(1, 10 * rounds)) * D / 10))
    template = Round(
        now=0.0,
        round_seconds=D,
        horizon_seconds=4 * D,
        cluster=Cluster(nodes=nodes),
        accelerators=(AcceleratorType("fast", 1.0), AcceleratorType("slow", 0.5)),
    )
    return History(template, tuple(arrivals))


def by_hand(window: Window, goal: Goal) -> float:
    """The best of all schedules, looked at one by one; shares nothing with the programme but the ways."""
    per_round = []
    for t in range(window.rounds):
        choices = [[None, *job.ways] if t >= job.arrives else [None] for job in window.jobs]
        fitting = []
        for combination in itertools.product(*choices):
            used: dict[tuple[str, str], int] = {}
            for way in combination:
                for resource, amount in () if way is None else way.use:
                    used[resource] = used.get(resource, 0) + amount
            if all(amount <= window.capacity[resource] for resource, amount in used.items()):
                fitting.append(combination)
        per_round.append(fitting)
    values = (
        score(
            window, goal, [_life(window, job, [r[i] for r in schedule]) for i, job in enumerate(window.jobs)]
        )
        for schedule in itertools.product(*per_round)
    )
    return max(values) if goal is Goal.DEADLINES else min(values)


def _life(window: Window, job: WindowJob, ways: list[object]) -> tuple[int, bool]:
    """Rounds until it is done, one more than there are if it is not; and whether it meets its deadline."""
    left, before, met, rounds = job.work, None, False, window.rounds - job.arrives + 1
    for t in range(job.arrives, window.rounds):
        way = ways[t]
        if way is not None and left > CLOSE:
            delay = min(D, job.restart_seconds) if way != before else 0.0
            needed = left / way.throughput  # type: ignore[attr-defined]
            if needed + delay <= D + CLOSE:
                left, rounds = 0.0, t - job.arrives + 1
                met = job.due_seconds is not None and t * D + delay + needed <= job.due_seconds + CLOSE
            else:
                left -= way.throughput * (D - delay)  # type: ignore[attr-defined]
        before = way
    return rounds, met


def score(window: Window, goal: Goal, lives: list[tuple[int, bool]]) -> float:
    if goal is Goal.DEADLINES:
        return sum(met for _, met in lives)
    if goal is Goal.COMPLETION:
        return sum(job.weight * rounds for job, (rounds, _) in zip(window.jobs, lives, strict=True))
    return max(
        (job.waits_seconds + rounds * D) / job.fair_seconds
        for job, (rounds, _) in zip(window.jobs, lives, strict=True)
    )


@given(tiny(jobs=2), st.sampled_from(Goal))
@settings(max_examples=30)
def test_the_optimum_is_that_of_raw_enumeration(history: History, goal: Goal) -> None:
    window = window_of(history, 3)
    found = plan_window(window, goal)
    best, sign = by_hand(window, goal), 1 if goal is Goal.DEADLINES else -1
    assert sign * found.value <= sign * best + CLOSE <= sign * found.bound + 2e-4
    if found.proved:  # a solver may stop a hair short of its proof
        assert found.value == pytest.approx(best, abs=CLOSE)


@given(tiny(jobs=3, rounds=1), st.sampled_from([Goal.COMPLETION, Goal.WORST_RHO]))
@settings(max_examples=15)
def test_types_are_never_tighter_than_nodes(history: History, goal: Goal) -> None:
    exact = plan_window(window_of(history, 4), goal)
    loose = plan_window(window_of(history, 4, Grain.TYPE), goal)
    assert loose.value <= exact.value + CLOSE


@given(tiny(jobs=3, rounds=1))
@settings(max_examples=8)
def test_no_policy_is_better_than_the_bound_and_the_schedule_can_be_followed(history: History) -> None:
    names = ("fifo", "shortest-remaining", "myopic", "tracking")
    played = {name: play(history, policies.make(name)) for name in names}
    rounds = max(found.state.totals.rounds for found in played.values())
    window = window_of(history, rounds)
    start = played["fifo"]
    best, fairest = (
        plan_window(window, goal, start=start, time_limit_seconds=2.0)
        for goal in (Goal.COMPLETION, Goal.WORST_RHO)
    )
    for found in played.values():
        judged = judge(window, found)
        assert judged.weighted_rounds >= best.bound - CLOSE
        assert judged.worst_rho >= fairest.bound - CLOSE
    # Nothing is lost at a stop here, so following it reaches it; what is filled in may end sooner.
    followed = [judge(window, play(history, Follow(each, history.template.now))) for each in (best, fairest)]
    assert followed[0].weighted_rounds <= best.value + CLOSE
    assert followed[1].worst_rho <= fairest.value + CLOSE


def test_two_jobs_that_each_need_most_of_the_time_cannot_both_meet_their_deadline() -> None:
    """Decision 32's example: five devices each of eight, three quarters of the time each. NO is confirmed."""
    job = Job(
        "a", component=Component((TaskGroup(count=5, allowed_counts=(5,)),)), submit_time=0.0, deadline=4 * D
    )
    arrivals = tuple(Arrival(replace(job, name=name), 5 * 3 * D) for name in ("a", "b"))
    template = Round(
        now=0.0,
        round_seconds=D,
        cluster=Cluster(nodes=(Node("n", accelerator_type="A", device_count=8),)),
        accelerators=(AcceleratorType("A"),),
    )
    for grain in Grain:
        found = plan_window(window_of(History(template, arrivals), 6, grain), Goal.DEADLINES)
        assert (found.value, found.bound, found.proved) == (1.0, pytest.approx(1.0), True)


def alone(*, devices: tuple[int, ...] = (1,), jobs: int = 1, work: float = 1.0, **more: float) -> Window:
    """Alike jobs of one device, so many rounds of work each, on nodes of one type; three rounds."""
    nodes = tuple(Node(f"n{i}", accelerator_type="A", device_count=count) for i, count in enumerate(devices))
    template = Round(round_seconds=D, cluster=Cluster(nodes=nodes), accelerators=(AcceleratorType("A"),))
    arrivals = tuple(Arrival(Job(f"j{i}", submit_time=0.0, **more), work * D) for i in range(jobs))
    return window_of(History(template, arrivals), 3)


@pytest.mark.parametrize(
    ("family", "goal", "window"),
    [
        ("one_way", Goal.COMPLETION, alone(devices=(1, 1), work=2.0)),
        ("capacity", Goal.COMPLETION, alone(jobs=2)),
        ("starts", Goal.COMPLETION, alone(restart_seconds=20.0)),
        ("progress", Goal.COMPLETION, alone(work=2.0)),
        ("worst_rho", Goal.WORST_RHO, alone(jobs=2)),
        ("deadline", Goal.DEADLINES, alone(jobs=2, work=1.5, deadline=2 * D)),
    ],
)
def test_each_family_of_rows_is_needed(family: str, goal: Goal, window: Window) -> None:
    layout = lay_out(window, goal)
    program = formulate(window, goal, layout)
    assert {each.name for each in program.row_families} <= FAMILIES
    assert plan_window(window, goal).value == pytest.approx(by_hand(window, goal))
    rows = next(each for each in program.row_families if each.name == family)
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    lower[rows.start : rows.stop], upper[rows.start : rows.stop] = -np.inf, 1e6
    without = replace(program, row_lower=lower, row_upper=upper)
    best, loose = (catalog.usable("highs").solve(each, SolveParameters()) for each in (program, without))
    assert best.objective is not None
    assert loose.objective is not None
    assert loose.objective > best.objective + 0.5 * (goal is not Goal.WORST_RHO) + CLOSE
