"""Room by exchange: nothing is broken by it, and what fits in all mostly fits on nodes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from gangplan.model.instance import instance as building
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.exchange import Exchange
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.occupancy import Occupancy
from gangplan.model.packing.order import make_plan
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import group, job, node, round_of
from gangplan.testing.strategies import rounds

from .planned import closed, drawn, in_depth, planned


@in_depth
def depth():
    """Quick or deep."""


def _beside(instance, assignment: Assignment) -> Occupancy:
    """What is free beside a plan."""
    kept = {int(instance.class_of_job[j]) for j in assignment.kept}
    occupancy = Occupancy(instance, kept)
    for j, where in assignment.placed.items():
        occupancy.take_placed(j, where)
    return occupancy


@drawn
@given(rounds("small"))
def test_whoever_changes_places_the_plan_stays_valid_and_worth_the_same(round_):
    instance = build_instance(round_)
    before = keep_and_fill(instance)
    placed = dict(before.placed)
    occupancy = _beside(instance, before)
    exchange = Exchange(occupancy, placed)
    for block in range(len(instance.blocks)):
        target = exchange.make_room(block)
        if target >= 0:
            demand = np.array(instance.blocks[block].demand)
            assert target in occupancy.block_nodes(block)
            assert ((occupancy.free[target, :3] >= demand) | (demand == 0)).all()
            assert occupancy.copies(block, np.array([target])).all()
    after = Assignment(before.kept, placed)
    assert np.array_equal(occupancy.free, _beside(instance, after).free)
    one, other = (verify(round_, make_plan(instance, each)) for each in (before, after))
    assert not one.violations
    assert not other.violations
    assert {j: where.option for j, where in placed.items()} == {
        j: where.option for j, where in before.placed.items()
    }
    assert other.objective == pytest.approx(one.objective)


def test_one_swap_makes_the_room():
    """Nodes of 3 devices and 12 CPUs. Largest first, 6, 4 | 4, 4, 3 leaves a device where 2 CPUs are left for
    the last job of 3; with a 4 and a 3 exchanged, 6, 3, 3 | 4, 4, 4 takes all.
    """
    nodes = [node(name, "H100", 3, cpu=12) for name in "ab"]
    jobs = [job(f"{i}-of-{cpu}", group(gpus=1, cpu=cpu)) for i, cpu in enumerate((6, 4, 4, 4, 3, 3))]
    instance = build_instance(round_of(nodes, jobs))
    placed = {}
    occupancy = Occupancy(instance, ())
    for j, at in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 1)):
        k = instance.classes[int(instance.class_of_job[j])].start
        placed[j] = Placed(k, ((at, (1,)),))
        occupancy.take_placed(j, placed[j])
    last = instance.classes[int(instance.class_of_job[5])].start
    block = instance.block_index[instance.option_at(last).demands[0].block]
    assert not occupancy.copies(block, occupancy.block_nodes(block)).any()
    assert Exchange(occupancy, placed).make_room(block) == 0
    assert sorted(placed[j].spots[0][0] for j in (1, 4)) == [0, 1]


@pytest.mark.parametrize("seed", range(8))
def test_what_fills_alike_nodes_is_packed(monkeypatch, seed):
    """Twenty alike nodes of 4 devices and 32 CPUs, filled with jobs to all but two CPUs each.

    Counted nodes say that all jobs fit; so does the plan. Placed by decreasing share alone they did not.
    """
    monkeypatch.setattr(building, "SPLIT_COLUMNS", 0)
    monkeypatch.setattr(building, "SMALL_PROGRAMME", 0)
    rng = np.random.default_rng(seed)
    nodes = [node(f"n{n:02}", "H100", 4, cpu=32) for n in range(20)]
    cuts = np.sort(rng.integers(1, 30, (20, 3)), axis=1)
    cpus = np.diff(cuts, axis=1, prepend=0, append=30).ravel()
    jobs = [job(f"j-{i:02}", group(gpus=1, cpu=max(1, int(cpu)))) for i, cpu in enumerate(cpus)]
    result = planned(round_of(nodes, jobs))
    assert closed(result)
