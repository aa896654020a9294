"""How answers look: two small clusters drawn in full, and what must hold for any."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console, RenderableType
from syrupy.assertion import SnapshotAssertion

from gangplan.cli.render import figures
from gangplan.cli.render.answer import answer
from gangplan.cli.render.cluster_map import EVERY_NODE, SAMPLE
from gangplan.cli.render.labels import label_jobs
from gangplan.cli.render.occupancy import Vacancy, occupancy, placements_after
from gangplan.cli.render.situation import situation
from gangplan.domain.cluster import Cluster, DeviceReporting, Node, OtherUse, Resources
from gangplan.domain.job import Component, Job, Running, TaskGroup, TaskPlacement
from gangplan.domain.plan import (
    Action,
    ActionKind,
    ForcedReason,
    Notice,
    Plan,
    Quality,
    RoundResult,
    Stage,
    TerminationLimit,
    TerminationReason,
    Verdict,
    VerdictKind,
)
from gangplan.domain.round import Round
from gangplan.domain.topology import Domain, Topology

HOST = Resources(cpu_milli=64_000, memory_bytes=512 * 2**30)


def job(name: str, tasks: int, devices: int, running: tuple[TaskPlacement, ...] = ()) -> Job:
    group = TaskGroup("worker", tasks, (tasks,), devices, Resources(4_000, 16 * 2**30))
    return Job(name, Component((group,)), running=Running(running) if running else None)


def at(node: str, tasks: int = 1, devices: tuple[int, ...] = ()) -> TaskPlacement:
    return TaskPlacement("worker", node, tasks, devices)


def result(plan: Plan, verdicts: tuple[Verdict, ...] = (), notices: tuple[Notice, ...] = ()) -> RoundResult:
    return RoundResult(
        plan=plan,
        verdicts=verdicts,
        notices=notices,
        quality=Quality(
            objective=11.25,
            bound=11.3,
            absolute_gap=0.05,
            relative_gap=0.0044,
            gap_of_gain=0.125,
            keep_and_fill=10.9,
            objective_by_term={"throughput": 12.0, "fairness": 0.5, "switching": -1.25, "locality": 0.0},
        ),
        reason=TerminationReason.FEASIBLE,
        limit=TerminationLimit.TIME,
        stages=(
            Stage("keep_and_fill", 0.012, 10.9, None),
            Stage("greedy", 0.03, None, 11.9),
            Stage("exact", 0.8, 11.25, 11.3),
        ),
        seconds_by_phase={"read": 0.002, "solve": 0.77},
        solver="highs 1.16.0",
        statistics={"columns": 1679, "rows": 88},
    )


def with_topology() -> tuple[Round, RoundResult]:
    """Racks, an nvlink domain, a count-only node, a broken device, use by others, a node that is gone."""
    topology = Topology(
        ("rack", "nvlink"), (Domain("r1", "rack"), Domain("r2", "rack"), Domain("r2/a", "nvlink", "r2"))
    )
    nodes = (
        Node("n1", "r1", "H100-80GB", 8, HOST),
        Node("n2", "r1", "H100-80GB", 8, HOST, unhealthy_devices=frozenset({7}), unhealthy_device_count=1),
        Node("n3", "r2/a", "A100", 4, HOST, device_reporting=DeviceReporting.COUNT_ONLY, cordoned=True),
        Node("n4", "r2", "A100", 4, HOST, used_by_others=OtherUse(frozenset({0, 1}), 2, Resources(4_000))),
        Node("cpu", None, None, 0, HOST),
    )
    jobs = (
        job("train", 2, 4),
        job("bert", 1, 4, (at("n3"),)),
        job("old", 2, 2, (at("n1", 2, (0, 1, 2, 3)),)),
        job("etl", 5, 0),
        job("moved", 1, 2, (at("n1", 1, (6, 7)),)),
        job("gone", 1, 1, (at("lost", 1, (0,)),)),
        job("big-1", 9, 8),
        job("big-2", 9, 8),
    )
    plan = Plan(
        (
            Action("evict/old", ActionKind.EVICT, "old", beneficiaries=("train",)),
            Action("evict/gone", ActionKind.EVICT, "gone", forced=ForcedReason.NODE_GONE),
            Action(
                "migrate/moved",
                ActionKind.MIGRATE,
                "moved",
                (at("n4", 1, (2, 3)),),
                "node",
                1.0,
                beneficiaries=("train",),
            ),
            Action(
                "place/train",
                ActionKind.PLACE,
                "train",
                (at("n1", 2, tuple(range(8))),),
                "node",
                8.0,
                depends_on=("evict/old", "migrate/moved"),
            ),
            Action("place/etl", ActionKind.PLACE, "etl", (at("cpu", 3), at("n2", 2)), "cluster", 5.0),
            Action("keep/bert", ActionKind.KEEP, "bert", (at("n3"),), "node", 1.0),
        )
    )
    short = "4 of 9 tasks fit; short of 40 devices"
    verdicts = (
        Verdict("big-1", VerdictKind.NEVER_FITS, "GANG_TOO_LARGE", short, "devices", "cluster", 40),
        Verdict("big-2", VerdictKind.NEVER_FITS, "GANG_TOO_LARGE", short, "devices", "cluster", 40),
        Verdict("gone", VerdictKind.NO_FIT_NOW, "NO_ROOM", "no node has room"),
        Verdict("old", VerdictKind.NOT_CHOSEN, "EVICTED", "gives its place away", regret=1.5),
    )
    notices = (Notice("OVER_LIMIT", "queues[0]", "team-a holds more than its limit"),)
    return Round(cluster=Cluster(topology, nodes), jobs=jobs), result(plan, verdicts, notices)


def plain() -> tuple[Round, RoundResult]:
    """One node, one job that stays."""
    kept = (at("n", 1, (0, 1)),)
    round_ = Round(cluster=Cluster(nodes=(Node("n", None, "T4", 2),)), jobs=(job("a", 1, 2, kept),))
    return round_, result(Plan((Action("keep/a", ActionKind.KEEP, "a", kept, "node", 1.0),)))


def large(nodes: int, jobs: int) -> tuple[Round, RoundResult]:
    """Eight-device nodes; each job takes one device of the next node, as long as there are any."""
    cluster = Cluster(nodes=tuple(Node(f"node-{n:05}", None, "H100", 8, HOST) for n in range(nodes)))
    actions = tuple(
        Action(
            f"a{n}",
            ActionKind.PLACE,
            f"job-{n}",
            (at(f"node-{n % nodes:05}", 1, (n // nodes,)),),
            "node",
            1.0,
        )
        for n in range(min(jobs, nodes * 8))
    )
    verdicts = tuple(
        Verdict(f"job-{n}", VerdictKind.NO_FIT_NOW, f"CODE_{n % 40}", f"short of {n} devices")
        for n in range(len(actions), jobs)
    )
    round_ = Round(cluster=cluster, jobs=tuple(job(f"job-{n}", 1, 1) for n in range(jobs)))
    return round_, result(Plan(actions), verdicts)


def text_of(renderable: RenderableType, width: int = 110) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, emoji=False, markup=False)
    with console.capture() as captured:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


@pytest.mark.parametrize("draw", [with_topology, plain])
def test_an_answer_looks_like_this(
    draw: Callable[[], tuple[Round, RoundResult]], snapshot: SnapshotAssertion
) -> None:
    assert text_of(answer(*draw(), title="a cluster")) == snapshot


def test_a_situation_looks_like_this(snapshot: SnapshotAssertion) -> None:
    assert text_of(situation(with_topology()[0], title="a cluster")) == snapshot


@pytest.mark.parametrize("width", [40, 60, 80, 110, 200])
def test_lines_keep_to_the_width(width: int) -> None:
    for draw in (with_topology, plain, lambda: large(300, 3_000), lambda: large(60, 400)):
        lines = text_of(answer(*draw()), width).splitlines()
        assert max(map(len, lines)) <= width


def test_without_colour_every_job_on_the_map_can_be_told_apart() -> None:
    round_, found = with_topology()
    text = text_of(answer(round_, found))
    drawn = {line.split()[-3] for line in text.splitlines() if line.split()[1:2] == ["n1"]}
    assert "AAAAAAAA" in text
    assert drawn
    labels = label_jobs([f"job-{n}" for n in range(1_500)], frozenset(f"job-{n}" for n in range(700)))
    assert len({label.text for label in labels.values()}) == 1_500
    assert len({len(label.text) for label in labels.values()}) == 1


@pytest.mark.parametrize(("nodes", "jobs"), [(EVERY_NODE + 1, 10), (1_523, 8_152), (5_000, 30_000)])
def test_a_large_cluster_fits_on_two_screens(nodes: int, jobs: int) -> None:
    lines = text_of(answer(*large(nodes, jobs))).splitlines()
    assert len(lines) < 120
    assert f"A sample, {SAMPLE} of {nodes:,} nodes" in lines


def test_many_reasons_are_counted_and_the_rest_is_named() -> None:
    text = text_of(answer(*large(10, 10 * 8 + 4_000)))
    assert "waiting: 4,000 jobs" in text
    assert "and 25 more reasons: 2,500 jobs" in text


def test_a_plan_without_jobs_or_nodes_can_be_shown() -> None:
    text = text_of(answer(Round(), result(Plan())))
    assert "The cluster has no nodes." in text
    assert "Nothing to do." in text


def test_an_answer_that_is_not_verified_says_so() -> None:
    import dataclasses

    round_, found = plain()
    assert "NOT VERIFIED" in text_of(answer(round_, dataclasses.replace(found, verified=False)))


def test_a_gap_that_is_rounding_is_no_share_of_a_gain() -> None:
    import dataclasses

    round_, found = plain()
    quality = dataclasses.replace(found.quality, relative_gap=3e-8, gap_of_gain=1.0)
    text = text_of(answer(round_, dataclasses.replace(found, quality=quality)))
    assert "under 0.0001 % relative, which is rounding" in text
    assert "of the gain" not in text


def test_every_device_has_one_holder_after_the_plan() -> None:
    round_, found = with_topology()
    nodes = {here.node.name: here for here in occupancy(round_, placements_after(round_, found.plan))}
    assert nodes["n1"].devices == ("train",) * 8
    assert nodes["n2"].devices == (Vacancy.FREE,) * 7 + (Vacancy.OUT_OF_ORDER,)
    assert nodes["n3"].devices == ("bert",) * 4
    assert nodes["n4"].devices == (Vacancy.OTHERS,) * 2 + ("moved",) * 2
    assert nodes["cpu"].cpu_tasks == {"etl": 3}
    assert nodes["cpu"].used == Resources(12_000, 48 * 2**30)


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.0, "0 %"),
        (1e-12, "0 %"),
        (1e-8, "under 0.0001 %"),
        (0.0044, "0.44 %"),
        (0.125, "12.5 %"),
        (-0.2, "-20.0 %"),
    ],
)
def test_shares(fraction: float, text: str) -> None:
    assert figures.share(fraction) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0004, "0.4 ms"), (0.012, "12 ms"), (0.9999, "1.00 s"), (3.684, "3.68 s"), (12.04, "12.0 s")],
)
def test_seconds(seconds: float, text: str) -> None:
    assert figures.seconds(seconds) == text


@pytest.mark.parametrize(
    ("indices", "text"), [((), ""), ((3,), "3"), ((0, 1, 2, 3), "0-3"), ((6, 0, 1, 3), "0-1,3,6")]
)
def test_ranges(indices: tuple[int, ...], text: str) -> None:
    assert figures.ranges(indices) == text


@pytest.mark.parametrize(
    ("number", "text"), [(-0.0001, "0.000"), (-1.25, "-1.250"), (8398.7371, "8,398.737")]
)
def test_values(number: float, text: str) -> None:
    assert figures.value(number) == text
