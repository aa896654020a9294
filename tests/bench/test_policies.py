"""Rows of policies on published workloads, and the tables of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangplan.bench import suites
from gangplan.bench.policies.measure import figures, measure, with_deadlines
from gangplan.bench.policies.reach import deadlines_in_reach
from gangplan.bench.policies.workloads import workload
from gangplan.bench.published.measure import settings as published
from gangplan.bench.report.sections import on_the_front
from gangplan.bench.report.sections.policies import against_best, interval, section
from gangplan.bench.runs import Row, Run, Status
from gangplan.bench.selection import Selection
from gangplan.domain.job import DeadlineKind
from gangplan.errors import InvalidInputError
from gangplan.planning import policies
from gangplan.planning.metrics import measure as measured
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import Settings, play
from gangplan.testing import builders

DATA = Path(os.environ.get("GANGPLAN_DATA", "none"))


def run(instance: str, who: str, seed: int = 0, **options: object) -> Run:
    return Run("policies", "policies", instance, who=who, seed=seed, transport="in_process", options=options)


def row(policy: str, seed: int, **figures: float) -> Row:
    given = {"mean_jct_s": 3600.0, "deadlines": 0, "deadlines_met": 0, "restarts": 0, "unfinished": 0}
    asked = run(f"made/8/20/seed{seed}", policy, seed)
    named = {"workload": "made/8/20", "policy": policy, "told": "exact", "jobs": 20, "decision_s": 0.0}
    return asked.head() | named | given | figures


def test_a_row_is_a_workload_under_a_policy_told_so_much() -> None:
    found = measure(run("made/16/40/seed1", "tiresias", 1, told="noisy", drop=0.2))
    assert (found["status"], found["workload"], found["told"]) == (
        Status.FEASIBLE.value,
        "made/16/40",
        "±30%",
    )
    assert 20 < found["jobs"] < 40
    assert found["unfinished"] == 0
    assert found["makespan_s"] > found["p99_jct_s"] >= found["mean_jct_s"] > 0
    assert 0 <= found["fragmentation"] < found["allocated"] + found["fragmentation"] <= 1
    assert 0 < found["decision_s"] * found["decisions"] <= found["cpu_s"]


def test_a_made_workload_is_the_same_again_and_its_seed_leaves_out_others() -> None:
    first, again = workload("made/16/40", DATA), workload("made/16/40", DATA)
    assert first == again
    assert (first.history.devices, len(first.history.arrivals)) == (16, 40)
    one, two = (measure(run(f"made/16/40/seed{s}", "fifo", s, drop=0.3)) for s in (1, 2))
    assert one["mean_jct_s"] != two["mean_jct_s"]


@pytest.mark.parametrize("kind", list(DeadlineKind)[:2])
def test_whose_deadline_is_lost_runs_all_the_same_where_deadlines_are_targets(kind: DeadlineKind) -> None:
    """Two jobs of two rounds on one device, both due after two: one is lost, and given up if strict."""
    jobs = [
        builders.job(name, submit_time=0.0, deadline=600.0, deadline_kind=DeadlineKind.STRICT)
        for name in "ab"
    ]
    template = builders.round_of([builders.node("n", "H", 1)], [], now=0.0, round_seconds=300.0)
    history = History(template, tuple(Arrival(job, 600.0) for job in jobs))
    policy = policies.make("gangplan-deadline", policies.How(pipeline="greedy"))
    played = play(with_deadlines(history, kind), policy, Settings(most_rounds=50))
    ended = sum(state.finished is not None for state in played.state.jobs.values())
    assert ended == (2 if kind is DeadlineKind.TARGET else 1)


SPANS = st.tuples(st.floats(0.0, 900.0), st.floats(1.0, 900.0), st.floats(1.0, 2_000.0), st.floats(0.0, 60.0))
"""Seconds: submission, work, time until the deadline, restart."""


def due(spans: Sequence[tuple[float, float, float, float]]) -> History:
    """Jobs of one device that have deadlines as targets, on one device."""
    arrivals = [
        Arrival(
            builders.job(f"j{n}", submit_time=at, deadline=at + within, restart_seconds=restart),
            work,
        )
        for n, (at, work, within, restart) in enumerate(spans)
    ]
    template = builders.round_of([builders.node("n", "H", 1)], [], now=0.0, round_seconds=300.0)
    return History(template, tuple(arrivals))


def met(history: History, policy: str) -> int:
    played = play(history, policies.make(policy, policies.How(pipeline="greedy")), Settings(most_rounds=200))
    return int(figures(measured(played))["deadlines_met"])


@pytest.mark.parametrize(
    ("spans", "reach"),
    [
        ((0.0, 300.0, 300.0, 0.0), 1),
        ((10.0, 300.0, 590.0, 0.0), 1),  # it begins with the second round
        ((10.0, 300.0, 589.0, 0.0), 0),
        ((10.0, 300.0, 590.0, 1.0), 0),
    ],
)
def test_a_deadline_is_in_reach_from_the_next_round_on_with_the_start_paid(
    spans: tuple[float, float, float, float], reach: int
) -> None:
    assert deadlines_in_reach(due([spans])) == reach


@given(SPANS)
def test_who_is_alone_meets_its_deadline_exactly_if_it_is_in_reach(
    spans: tuple[float, float, float, float],
) -> None:
    history = due([spans])
    assert met(history, "fifo") == deadlines_in_reach(history)


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(
    st.lists(SPANS, min_size=1, max_size=5),
    st.sampled_from(["fifo", "elasticflow-singly", "gangplan-deadline"]),
)
def test_nobody_meets_more_deadlines_than_are_in_reach(
    spans: list[tuple[float, float, float, float]], policy: str
) -> None:
    history = due(spans)
    assert met(history, policy) <= deadlines_in_reach(history)


@pytest.mark.parametrize("name", ["nowhere/1", "made", "made/none/3", "elasticflow/fig9"])
def test_a_workload_that_there_is_none_of_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="no workload"):
        workload(name, DATA)


@pytest.mark.parametrize("name", ["policies", "policies-full", "simulation-speed"])
def test_every_run_of_the_suites_names_a_policy_that_there_is(name: str) -> None:
    runs = list(suites.load(name).runs())
    assert {one.who for one in runs} <= set(policies.names())
    assert {one.kind for one in runs} == {"policies"}


def test_published_workloads_need_their_folder_and_made_ones_do_not() -> None:
    with pytest.raises(InvalidInputError, match="--data DIR"):
        Selection(suite="policies").runs()
    assert Selection(suite="simulation-speed").runs()


@pytest.mark.skipif(not DATA.is_dir(), reason="GANGPLAN_DATA names no folder of data sets")
@pytest.mark.parametrize(
    ("name", "jobs", "devices"),
    [
        ("gavel/max_min_fairness/96/8", 96, 108),
        ("sia/pollux-1", 160, 64),
        ("sia-rigid/pollux-1", 160, 64),
        ("shockwave/jobs120", 120, 32),
        ("elasticflow/fig8a", 195, 64),
        ("itp/cluster10/50", 50, None),
    ],
)
def test_published_workloads_are_those_of_the_papers(name: str, jobs: int, devices: int | None) -> None:
    found = workload(name, DATA)
    assert len(found.history.arrivals) == jobs
    assert devices in (None, found.history.devices)


@pytest.mark.skipif(not DATA.is_dir(), reason="GANGPLAN_DATA names no folder of data sets")
def test_sias_published_setting_is_elastic_for_sia_and_rigid_for_gavel() -> None:
    setting = published()["sia"]
    counts = {}
    for policy in setting.FIGURES:
        groups = [
            a.job.component.task_groups[0]
            for a in setting.prepare(DATA, ["pollux-1"], policy).history.arrivals
        ]
        counts[policy] = len(groups), sum(len(group.allowed_counts) > 1 for group in groups)
    assert counts == {"sia": (160, 160), "gavel-total-throughput": (160, 0)}


def test_gangplan_is_set_beside_the_best_other_pair_by_pair() -> None:
    """Three seeds: sia is better than fifo, and the preset .5, .4 and .6 h sooner: .5 ± 4.303 * .1 / 3^.5."""
    rows = [row("fifo", seed, mean_jct_s=9_000.0) for seed in range(3)]
    rows += [row("sia", seed, mean_jct_s=7_200.0) for seed in range(3)]
    for seed, sooner in enumerate((1800.0, 1440.0, 2160.0)):
        rows.append(row("gangplan-efficiency", seed, mean_jct_s=7_200.0 - sooner))
    found = against_best(rows)
    assert found is not None
    assert found.table.lines == (
        (
            "made/8/20",
            "exact",
            "mean completion",
            "sia 2 h",
            "gangplan-efficiency 1.5 h",
            "-0.5 ± 0.25",
            "3",
            "better",
        ),
    )
    table = section(rows)
    assert table is not None
    assert [line[2] for line in table.table.lines] == ["fifo", "sia", "gangplan-efficiency"]


def test_the_front_is_who_nobody_beats_in_all_on_the_seeds_that_both_have() -> None:
    """Efficiency trades makespan for completion; deadline, behind sia on seed 1, has no other."""
    rows = [row("fifo", seed, mean_jct_s=9.0, makespan_s=20.0) for seed in range(2)]
    rows += [row("sia", seed, mean_jct_s=8.0, makespan_s=(10.0, 20.0)[seed]) for seed in range(2)]
    rows += [row("gangplan-efficiency", seed, mean_jct_s=7.0, makespan_s=21.0) for seed in range(2)]
    rows += [row("gangplan-deadline", 1, mean_jct_s=8.0, makespan_s=20.5)]
    rows += [row("gangplan-interactive", 1, mean_jct_s=1.0, makespan_s=1.0, unfinished=1)]
    found = on_the_front.section(rows)
    assert found is not None
    behind = "gangplan-deadline behind sia; gangplan-interactive: unfinished jobs"
    assert found.table.lines == (("made/8/20", "exact", "sia, gangplan-efficiency", behind),)
    counts = "gangplan-deadline on 0 of 1, gangplan-efficiency on 1 of 1, gangplan-interactive on 0 of 1."
    assert found.text.endswith(counts)


def test_deadlines_are_set_beside_what_is_in_reach_where_every_row_says_it() -> None:
    told = [row("fifo", seed, deadlines=9, deadlines_met=4, deadlines_in_reach=7) for seed in range(2)]
    older = row("sia", 0, deadlines=9, deadlines_met=5)
    found = section([*told, older, row("themis", 0)])
    assert found is not None
    assert [line[10] for line in found.table.lines] == ["8 of 18, 14 in reach", "5 of 9", ""]


def test_an_interval_of_one_value_has_no_width() -> None:
    assert interval([2.0]) == (2.0, None)
    assert interval([1.0, 3.0]) == (2.0, pytest.approx(12.706))
