"""Where CPU or memory runs out before devices do: the inflated programme binds, and its bound is no bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.round import Round
from gangplan.engine import exact
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.inflate import FULL, HALF, inflate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.instance import instance as building
from gangplan.model.instance.instance import build_instance, count_alike_nodes
from gangplan.model.packing.bind import bind
from gangplan.model.packing.fill import keep_only
from gangplan.model.program import SolveParameters
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, group, job, node, round_of
from gangplan.testing.strategies import rounds
from gangplan_solvers import catalog

from .planned import closed, drawn, in_depth, planned, slack

FEASIBLE = 1e-6


@in_depth
def depth():
    """Quick or deep."""


@pytest.fixture
def counted(monkeypatch):
    """Alike nodes are never told apart, as in a round too large for that."""
    monkeypatch.setattr(building, "SPLIT_COLUMNS", 0)
    monkeypatch.setattr(building, "SMALL_PROGRAMME", 0)


@st.composite
def crowded(draw: st.DrawFn) -> Round:
    """Alike nodes of eight devices and 64 CPUs; jobs of a power of two of devices and of any share of CPU.

    Some nodes hold one job, which may stay.
    """
    share = st.integers(1, 24)
    nodes = [node(f"n{n}", "H100", 8, cpu=64) for n in range(draw(st.integers(2, 3)))]
    jobs = []
    for n in range(draw(st.integers(0, len(nodes)))):
        devices = draw(st.sampled_from([1, 2, 4]))
        cpu = min(64, devices * draw(share))
        jobs.append(
            job(f"runs-{n}", group(gpus=devices, cpu=cpu), running=at(f"n{n}", range(devices), tasks=1))
        )
    for i in range(draw(st.integers(2, 7))):
        devices = draw(st.sampled_from([1, 2, 4, 8]))
        cpu = min(64, devices * draw(share))
        weight = draw(st.sampled_from([1.0, 1.5, 2.0]))
        jobs.append(job(f"waits-{i:02}", group(gpus=devices, cpu=cpu), weight=weight, required="node"))
    return round_of(nodes, jobs)


@drawn
@given(crowded())
def test_at_full_weight_every_gang_binds(counted, round_):
    layout = build_layout(build_instance(round_))
    program = inflate(layout, formulate(layout), FULL)
    solution = catalog.load("highs").solve(program, SolveParameters())
    assert solution.values is not None
    assert bind(layout, solution.values).unbound == 0


@drawn
@given(rounds("small"), st.sampled_from([HALF, FULL]))
def test_what_runs_may_go_on_in_the_inflated_programme(round_, weight):
    instance = build_instance(round_)
    layout = build_layout(instance)
    program = inflate(layout, formulate(layout), weight)
    values = encode(layout, keep_only(instance))
    for name, start, stop in layout.families:
        if name in ("room", "gang_room"):
            values[start:stop] = 0.0  # nobody needs the room beside them
    assert program.worst_violation(values) <= FEASIBLE


@drawn
@given(rounds("small"))
def test_counting_alike_nodes_changes_no_option(round_):
    instance = build_instance(round_)
    fine, coarse = build_layout(instance), build_layout(count_alike_nodes(instance))
    assert np.array_equal(fine.option_column, coarse.option_column)
    assert np.array_equal(fine.keep_column, coarse.keep_column)


@drawn
@given(crowded())
def test_the_bound_is_that_of_the_whole_programme(monkeypatch, counted, round_):
    monkeypatch.setattr(exact, "_CROWDED_COLUMNS", 0)
    result = planned(round_)
    assert verify(round_, result.plan).violations == ()
    monkeypatch.undo()
    truth = planned(round_)
    if closed(truth):
        assert result.quality.bound >= truth.quality.objective - slack(truth.quality.objective)


def test_heavy_jobs_crowd_and_inflated_they_do_not(counted):
    """Two nodes of 8 devices and 64 CPUs: in all three jobs of about 40 CPUs fit, on nodes two. So they count
    as five devices of eight each, and there are no blocks of a size between that and a node.
    """
    heavy = [job(f"heavy-{cpu}", group(gpus=2, cpu=cpu), required="node") for cpu in (38, 39, 40)]
    round_ = round_of([node("a", "H100", 8, cpu=64), node("b", "H100", 8, cpu=64)], heavy)
    layout = build_layout(build_instance(round_))
    program = formulate(layout)
    unbound = []
    for one in (program, inflate(layout, program, FULL)):
        solution = catalog.load("highs").solve(one, SolveParameters())
        assert solution.values is not None
        unbound.append(bind(layout, solution.values).unbound)
    assert unbound == [1, 0]
    assert "inflated" in [stage.name for stage in planned(round_).stages]


def test_nodes_without_devices_have_limits_too():
    """Two nodes of 4 CPUs take two jobs of 3 or 4, though two of either kind would fit alone."""
    jobs = [job(f"j-{cpu}-{i}", group(gpus=0, cpu=cpu)) for cpu in (3, 4) for i in range(2)]
    result = planned(round_of([node("a", cpu=4), node("b", cpu=4)], jobs))
    assert len(result.plan.actions) == 2
    assert closed(result)
