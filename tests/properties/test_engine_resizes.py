"""Jobs that may be resized but not moved, against the raw enumerator: all nested sets count (decision 18)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.job import Capabilities, Job, TaskSplit
from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.instance import instance as building
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.adopt import adopt
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, group, job, node, round_of, topology
from gangplan.testing.enumerate import best_plan

from .planned import closed, drawn, in_depth, planned, reached, slack

FEASIBLE = 1e-6


@in_depth
def depth():
    """Quick or deep."""


@pytest.fixture
def counted(monkeypatch):
    """Alike nodes are never told apart, as in a round too large for that."""
    monkeypatch.setattr(building, "SPLIT_COLUMNS", 0)
    monkeypatch.setattr(building, "SMALL_PROGRAMME", 0)


def elastic(draw: st.DrawFn, name: str, free: list[list[int]]) -> Job | None:
    """A job on some of the free devices that may have other counts, but not move."""
    held = [[devices.pop(0) for _ in range(min(len(devices), draw(st.integers(0, 2))))] for devices in free]
    count = sum(map(len, held))
    if not count:
        return None
    counts = sorted({count, *draw(st.sets(st.integers(1, count + 3), max_size=2))})
    worker = group(count=draw(st.sampled_from(counts)), counts=counts, cpu=draw(st.sampled_from([0, 2])))
    if sum(map(bool, held)) == 1 and draw(st.booleans()):
        worker = replace(worker, split=TaskSplit.WHOLE_NODES)
    return job(
        name,
        worker,
        running=tuple(at(f"n{n}", devices) for n, devices in enumerate(held) if devices),
        checkpoint_age=draw(st.sampled_from([0.0, 60.0])),
        weight=draw(st.sampled_from([1.0, 2.0, 5.0])),
        capabilities=Capabilities(movable=False, pausable=draw(st.booleans())),
    )


@st.composite
def spread(draw: st.DrawFn) -> Round:
    """Two or three small nodes, one or two jobs spread over them that may not move, and others that wait."""
    sizes = draw(st.lists(st.sampled_from([2, 4]), min_size=2, max_size=3))
    free = [list(range(size)) for size in sizes]
    running = [elastic(draw, name, free) for name in ("first", "second")[: draw(st.integers(1, 2))]]
    asked = st.sampled_from(draw(st.sampled_from([(1, 2, 4), (1, 2, 3, 4)])))
    waiting = [
        job(
            f"waiting-{i}",
            group(count=draw(asked), cpu=draw(st.sampled_from([0, 3]))),
            weight=draw(st.sampled_from([1.0, 3.0, 8.0])),
            required=draw(st.sampled_from([None, "node", "rack"])),
        )
        for i in range(draw(st.integers(0, 2)))
    ]
    nodes = [
        node(
            f"n{n}",
            "H100",
            size,
            domain=draw(st.sampled_from(["left", "right"])),
            cordoned=draw(st.integers(0, 5)) == 0,
            cpu=draw(st.sampled_from([8, 64])),
        )
        for n, size in enumerate(sizes)
    ]
    jobs = [one for one in running if one is not None] + waiting
    return round_of(nodes, jobs, topology=topology("rack", left="rack", right="rack"))


@drawn
@given(spread())
def test_resizes_in_place_are_exact(round_):
    best, result = best_plan(round_), planned(round_)
    assert verify(round_, result.plan).violations == ()
    assert closed(result)
    assert reached(result) == pytest.approx(best.objective, abs=slack(best.objective))


@drawn
@given(spread())
def test_the_best_plan_is_a_solution_of_the_programme(round_):
    instance = build_instance(round_)
    adopted = adopt(instance, best_plan(round_).plan)
    layout = build_layout(instance)
    assert adopted.dropped == 0
    assert formulate(layout).worst_violation(encode(layout, adopted.assignment)) <= FEASIBLE


@drawn
@given(spread())
def test_where_nodes_are_only_counted_the_bound_holds_and_the_answer_is_a_plan(counted, round_):
    best, result = best_plan(round_), planned(round_)
    assert verify(round_, result.plan).violations == ()
    assert reached(result) <= best.objective + slack(best.objective)
    assert best.objective <= result.quality.bound + slack(best.objective)


def test_what_it_gives_up_is_where_it_is_wanted():
    """first holds two devices on each node and may go on with two: on one node, so that the other is free."""
    first = job(
        "first",
        group(count=4, counts=[2, 4]),
        running=(at("a", [0, 1]), at("b", [0, 1])),
        checkpoint_age=0.0,
        capabilities=Capabilities(movable=False),
    )
    whole = job("whole", gpus=4, weight=9.0, required="node")
    result = planned(round_of([node("a", "H100", 4), node("b", "H100", 4)], [first, whole]))
    kinds = {action.job: action for action in result.plan.actions}
    assert kinds["first"].kind is ActionKind.RESIZE
    assert {p.node for p in kinds["first"].placements}.isdisjoint(p.node for p in kinds["whole"].placements)
    assert closed(result)


def test_it_grows_beside_what_it_has():
    """first grows to four: two more on the other node, since one of its own devices more is all a has."""
    first = job(
        "first",
        group(count=4, counts=[1, 4]),
        running=at("a", [0]),
        checkpoint_age=0.0,
        capabilities=Capabilities(movable=False),
    )
    result = planned(round_of([node("a", "H100", 2), node("b", "H100", 4)], [first]))
    (action,) = result.plan.actions
    assert action.kind is ActionKind.RESIZE
    assert {p.node: p.tasks for p in action.placements} in ({"a": 1, "b": 3}, {"a": 2, "b": 2})
    assert closed(result)
