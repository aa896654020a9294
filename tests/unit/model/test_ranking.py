"""Tournaments say the same as looking at every node, and look at few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.model.packing.ranking import Nodes, Rankings, best_node, catch_up
from gangplan.model.program import IntArray


def _plainly(nodes: Nodes, block: int, *, least: bool) -> int:
    node_start, node, free, demand = nodes
    mine = node[node_start[block] : node_start[block + 1]].tolist()
    able = [n for n in mine if (free[n] >= demand[block]).all()]
    return min(able, key=lambda n: (*free[n], n) if least else n, default=-1)


def _nodes(free: IntArray, demand: IntArray, members: list[list[int]]) -> Nodes:
    node_start = np.cumsum([0, *(len(some) for some in members)])
    return node_start, np.array([n for some in members for n in some], dtype=np.int64), free, demand


@given(st.data(), st.booleans())
def test_the_best_node_is_that_of_a_look_at_all(data: st.DataObject, least: bool) -> None:  # noqa: FBT001
    count = data.draw(st.integers(1, 9))
    amounts = st.lists(st.integers(0, 3), min_size=2, max_size=2)
    free = np.array(data.draw(st.lists(amounts, min_size=count, max_size=count)), dtype=np.int64)
    demand = np.array(data.draw(st.lists(amounts, min_size=1, max_size=3)), dtype=np.int64)
    some = st.sets(st.integers(0, count - 1)).map(sorted)
    nodes = _nodes(free, demand, [data.draw(some) for _ in demand])
    rankings = Rankings.of(nodes[0], nodes[1], free)
    touched = [0]  # whoever is named may be as before
    for _ in range(data.draw(st.integers(1, 6))):
        catch_up(rankings, nodes, np.array(touched, dtype=np.int64), least)
        for block in data.draw(st.lists(st.integers(0, len(demand) - 1), max_size=3)):
            assert best_node(rankings, nodes, block, least) == _plainly(nodes, block, least=least)
        touched = data.draw(st.lists(st.integers(0, count - 1), max_size=3))
        for changed in touched:
            free[changed] = data.draw(amounts)


@pytest.mark.parametrize("count", [1, 100, 1_000])
def test_filling_all_nodes_compares_as_many_pairs_as_the_nodes_times_their_logarithm(count: int) -> None:
    free, demand = np.full((count, 1), 4, dtype=np.int64), np.array([[1]], dtype=np.int64)
    nodes = _nodes(free, demand, [list(range(count))])
    rankings = Rankings.of(nodes[0], nodes[1], free)
    placed = 0
    while (node := best_node(rankings, nodes, 0, True)) >= 0:
        free[node] -= 1
        catch_up(rankings, nodes, np.array([node], dtype=np.int64), True)
        placed += 1
    assert placed == 4 * count
    assert rankings.played[0] <= 2 * count + placed * np.ceil(np.log2(max(count, 2)))
