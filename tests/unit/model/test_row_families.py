"""Every family of rows is needed: without it the programme promises more than any plan can give.

Each worked example has its optimum from the raw enumerator, and its programme reaches exactly that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from gangplan.domain.job import Capabilities, Gate, TaskSplit
from gangplan.domain.outlook import Reservation
from gangplan.domain.policy import Policy, Tier
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.model.constraints import capacity, row_families
from gangplan.model.constraints import topology as topology_rows
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.instance.instance import build_instance
from gangplan.model.program import Family, Program, SolveParameters
from gangplan.testing.builders import at, group, job, node, round_of, topology
from gangplan.testing.enumerate import best_plan
from gangplan_solvers import catalog

H = "H100"
RACKS = topology("rack", r1="rack", r2="rack")


def fixed(name: str, *placements, **fields):
    """A job that may neither be stopped nor moved."""
    return job(
        name,
        running=placements,
        capabilities=Capabilities(pausable=False, movable=False, resizable=False),
        checkpoint_age=0.0,
        **fields,
    )


EXAMPLES: dict[str, tuple[Round, float]] = {
    # One or two tasks, not both: 2, where one and two together would be 3 of the 4 devices.
    "structure": (round_of([node("a", H, 4)], [job("j", group(count=2, counts=[1, 2]))]), 2.0),
    # Two gangs of two on one node of two: 2; gangs whose blocks lie nowhere would make 4.
    "gang": (round_of([node("a", H, 2)], [job("j", gpus=2), job("k", gpus=2)]), 2.0),
    # One gang of three in a rack, two racks of two nodes with 2 and 1: only one fits by rack.
    "topology": (
        round_of(
            [node(f"{r}{i}", H, n, domain=r) for r in ("r1", "r2") for i, n in enumerate((2, 1))],
            [job(name, gpus=3, required="rack") for name in "jkl"],
            topology=RACKS,
        ),
        6.0,
    ),
    # A task of two and a task of one on two devices.
    "capacity": (round_of([node("a", H, 2)], [job("j", group(gpus=2)), job("k")]), 2.0),
    # A queue may hold one of four devices.
    "quota": (
        round_of(
            [node("a", H, 4)], [job("j", queue="q"), job("k", queue="q")], queues=(Queue("q", None, 1),)
        ),
        1.0,
    ),
    # Nobody may be disturbed, however much heavier the other is: bases 1 and 9, median 5.
    "disruption": (
        round_of(
            [node("a", H, 1)],
            [job("light", running=at("a", [0]), checkpoint_age=0.0), job("heavy", weight=9.0)],
            policy=Policy(disruption_limit=0),
        ),
        0.2,
    ),
}


def solve(program: Program) -> float:
    solution = catalog.load("highs").solve(program, SolveParameters(), None)
    assert solution.objective is not None
    return solution.objective


def without(program: Program, family: str) -> Program:
    """``program`` with the rows of one family emptied."""
    keep = np.ones(program.rows, dtype=np.bool_)
    for here in program.row_families:
        if here.name == family:
            keep[here.start : here.stop] = False
    assert not keep.all(), f"no rows of {family}"
    length = np.diff(program.row_start)
    entry = np.repeat(keep, length)
    return replace(
        program,
        row_start=np.concatenate(([0], np.cumsum(length[keep]))),
        column_index=program.column_index[entry],
        value=program.value[entry],
        row_lower=program.row_lower[keep],
        row_upper=program.row_upper[keep],
        row_families=(Family("rest", 0, int(keep.sum())),),
    )


def programme(round_: Round) -> Program:
    return formulate(build_layout(build_instance(round_)))


def test_every_family_of_rows_has_an_example():
    assert {*EXAMPLES, "tier", "guarantee"} == {name for name, _ in row_families()}


def test_without_its_floor_a_tier_yields_to_what_is_heavier():
    """One device; bases 1 and 9, median 5: the job of the tier is worth 0.2, the other 1.8."""
    policy = Policy(tiers=(Tier((1,)),))
    jobs = [job("urgent", priority=1), job("heavy", weight=9.0)]
    instance = build_instance(round_of([node("a", H, 1)], jobs, policy=policy))
    program = formulate(build_layout(replace(instance, floors=(1.0,))))
    assert solve(program) == pytest.approx(0.2)
    assert solve(without(program, "tier")) == pytest.approx(1.8)


def test_without_its_floor_a_guarantee_yields_to_what_is_heavier():
    """The same two jobs; the light one is in a queue that is guaranteed the device."""
    jobs = [job("owed", queue="q"), job("heavy", weight=9.0)]
    instance = build_instance(
        round_of([node("a", H, 1)], jobs, queues=(Queue("q", device_guarantee=1),), policy=Policy())
    )
    program = formulate(build_layout(replace(instance, guarantee_floors={"q": 1.0})))
    assert solve(program) == pytest.approx(0.2)
    assert solve(without(program, "guarantee")) == pytest.approx(1.8)


def test_without_what_a_limit_keeps_for_a_promise_others_are_promised_it():
    """Two of the four devices that a queue may hold are promised to one behind a gate: two of three start."""
    owed = job("owed", gpus=2, queue="q", gate=Gate(held=True))
    promise = Reservation("owed", None, 1e3, 1e6, placements=(at("a", [0, 1]),))
    jobs = [owed, *(job(name, queue="q", checkpoint_seconds=0.0) for name in "jkl")]
    queues = (Queue("q", None, 4),)
    round_ = replace(
        round_of([node("a", H, 2), node("b", H, 4)], jobs, queues=queues), reservations=(promise,)
    )
    assert best_plan(round_).objective == pytest.approx(2.0)
    assert solve(programme(round_)) == pytest.approx(2.0)
    assert solve(without(programme(round_), "quota")) == pytest.approx(3.0)


@pytest.mark.parametrize("family", EXAMPLES)
def test_with_all_rows_the_programme_s_optimum_is_the_enumerated_one(family):
    round_, optimum = EXAMPLES[family]
    assert best_plan(round_).objective == pytest.approx(optimum)
    assert solve(programme(round_)) == pytest.approx(optimum)


@pytest.mark.parametrize("family", EXAMPLES)
def test_without_its_rows_the_programme_promises_too_much(family):
    round_, optimum = EXAMPLES[family]
    assert solve(without(programme(round_), family)) > optimum + 0.1


# Nested rows


def alike_nodes_with_a_tenant(tenants: int) -> Round:
    """Two alike nodes of 4, with ``tenants`` fixed jobs of one device on each; tasks of 4, 2 and 2 wait."""
    nodes = [node(name, H, 4) for name in "ab"]
    held = [fixed(f"{n}{d}", at(n, [d])) for n in "ab" for d in range(tenants)]
    waiting = [job("four", group(gpus=4)), job("two", group(gpus=2)), job("more", group(gpus=2))]
    return round_of(nodes, [*held, *waiting])


@pytest.mark.parametrize(("tenants", "optimum"), [(1, 6.0), (2, 8.0), (3, 6.0)])
def test_nested_rows_count_what_fits_beside_jobs_that_stay(tenants, optimum):
    """1 held on each: 3 + 3 are free, which take 2 + 2; 2 held: 2 + 2 take both; 3 held: 1 + 1 take none."""
    round_ = alike_nodes_with_a_tenant(tenants)
    instance = build_instance(round_)
    assert instance.pools.count == 1, "the pool is counted, not split"
    assert solve(programme(round_)) == pytest.approx(optimum)
    assert best_plan(round_).objective == pytest.approx(optimum)


def test_cut_down_to_sums_the_programme_promises_a_place_that_there_is_not(monkeypatch):
    """One device is held on each of two nodes of 4: 6 are free in all, yet no 4 on one node."""
    round_ = alike_nodes_with_a_tenant(1)
    monkeypatch.setattr(capacity, "_nested_row", lambda *_: None)
    assert solve(programme(round_)) > 6.0 + 0.1


def test_a_gang_that_is_faster_apart_is_not_promised_where_it_would_lie_together():
    """10 a second over two nodes, 2 on one, which is the reference: worth 2 * 10 / 2 apart and 2 together."""
    cells = {(H, 2, "cluster"): 10.0, (H, 2, "node"): 2.0}
    one = round_of([node("a", H, 2)], [job("j", gpus=2, profile="p")], profiles={"p": cells})
    two = round_of([node("a", H, 1), node("b", H, 1)], one.jobs, profiles={"p": cells})
    for round_, optimum in ((one, 2.0), (two, 10.0)):
        assert best_plan(round_).objective == pytest.approx(optimum)
        assert solve(programme(round_)) == pytest.approx(optimum)
    assert solve(without(programme(one), "topology")) > 2.0 + 0.1


# Rows inside the family "topology"


def relaxed(program: Program) -> float:
    solution = catalog.load("highs").solve(program, SolveParameters(relax=True), None)
    assert solution.objective is not None
    return solution.objective


def racks_of_nodes(size: int, gangs: Sequence[int], *running) -> Round:
    """Two racks of ``size`` nodes of two devices; gangs of so many whole nodes, each within a rack."""
    nodes = [node(f"{rack}n{k}", H, 2, domain=rack) for rack in ("r1", "r2") for k in range(size)]
    jobs = [
        job(f"g{i}", group(count=count, gpus=2, split=TaskSplit.WHOLE_NODES), required="rack")
        for i, count in enumerate(gangs)
    ]
    return round_of(nodes, [*running, *jobs], topology=RACKS)


def test_without_rooms_for_gangs_the_relaxation_cuts_gangs_to_pieces(monkeypatch):
    """A rack of five nodes takes one gang, of four or of three, 8 devices at most; by sums one of three and
    half of one of four.
    """
    round_ = racks_of_nodes(5, [4, 4, 3, 3])
    assert relaxed(programme(round_)) == pytest.approx(16.0)
    nothing = topology_rows._Lifts(0, 0, np.zeros(0, dtype=np.int64), np.zeros(0))
    monkeypatch.setattr(topology_rows, "_gang_room_rows", lambda *_: nothing)
    assert relaxed(programme(round_)) == pytest.approx(20.0)


def test_without_lifted_rows_the_relaxation_keeps_a_job_and_starts_the_gang_in_its_place(monkeypatch):
    """Racks of six nodes take two gangs of three, 12, or one of them and a job on a single device, of weight
    5 (the median is 1), 6 + 5. By sums it is the job and 5/3 gangs, 15.
    """
    rooted = Capabilities(movable=False)
    running = [
        job(f"k{r}", weight=5.0, running=at(f"{r}n0", [0]), checkpoint_age=0.0, capabilities=rooted)
        for r in ("r1", "r2")
    ]
    round_ = racks_of_nodes(6, [3, 3, 3, 3], *running)
    assert relaxed(programme(round_)) == pytest.approx(24.0)
    monkeypatch.setattr(topology_rows, "LIFTED_ROWS", 0)
    assert relaxed(programme(round_)) == pytest.approx(30.0)


def test_without_rows_for_gangs_apart_they_are_promised_where_they_lie_together(monkeypatch):
    """As above: worth 2 on one node, and 10 over two."""
    cells = {(H, 2, "cluster"): 10.0, (H, 2, "node"): 2.0}
    round_ = round_of([node("a", H, 2)], [job("j", gpus=2, profile="p")], profiles={"p": cells})
    monkeypatch.setattr(topology_rows, "_apart_rows", lambda *_: None)
    assert solve(programme(round_)) > 2.0 + 0.1
