"""Who takes whose place, along chains of jobs that moved."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gangplan.engine.successors import Successors
from gangplan.model.packing.assignment import Placed

Places = dict[int, tuple[int, ...]]
"""The nodes of each job."""


def placed(places: Places) -> dict[int, Placed]:
    return {j: Placed(0, tuple((node, (1,)) for node in nodes)) for j, nodes in places.items()}


def nearest(before: Places, after: Places, j: int) -> set[int]:
    """Who takes the place of ``j``, level by level for this one job."""
    coming = {i: nodes for i, nodes in after.items() if before.get(i) != nodes}
    asked, seen = {j}, {j}
    while asked:
        nodes = {node for i in asked for node in before[i]}
        there = {i for i, mine in coming.items() if nodes & set(mine)} - seen
        if gaining := {i for i in there if i not in before}:
            return gaining
        seen |= there
        asked = there
    return set()


def together(jobs: Places, links: list[tuple[int, int]]) -> set[frozenset[int]]:
    """The sets of jobs that links put together."""
    group = {j: {j} for j in jobs}
    for one, other in links:
        if group[one] is not group[other]:
            group[one] |= group[other]
            for j in group[other]:
                group[j] = group[one]
    return {frozenset(members) for members in group.values()}


def test_a_chain_leads_to_who_starts_in_the_later_plan_only():
    before = {0: (0,), 1: (1,), 2: (2,), 3: (9,)}
    after = {0: (1,), 1: (2,), 2: (3,), 3: (9,), 4: (0,), 5: (4,)}
    found = Successors(placed(before), placed(after))
    assert found.elsewhere == [0, 1, 2]
    assert found.of(2) == [4]  # 1 is where 2 was, 0 where 1 was, 4 where 0 was
    assert found.of(3) == []


def test_the_nearest_gain_ends_the_walk():
    before = {0: (0, 1), 1: (2,)}
    after = {0: (2,), 1: (0,), 4: (1,), 5: (2,)}
    assert Successors(placed(before), placed(after)).of(0) == [4]


def test_a_cycle_in_which_nobody_gains_ends():
    before: Places = {0: (0,), 1: (1,)}
    after: Places = {0: (1,), 1: (0,)}
    found = Successors(placed(before), placed(after))
    assert [found.of(j) for j in found.elsewhere] == [[], []]


nodes = st.lists(st.integers(0, 7), min_size=1, max_size=3, unique=True).map(lambda each: tuple(sorted(each)))
plans = st.dictionaries(st.integers(0, 11), nodes, max_size=12)


@given(plans, plans, st.data())
def test_whoever_is_asked_for_the_same_are_together(before, after, data):
    found = Successors(placed(before), placed(after))
    asked = data.draw(st.permutations(found.elsewhere))
    asked = asked[: data.draw(st.integers(0, len(asked)))]
    named = {j: found.of(j) for j in asked}
    truth = {j: nearest(before, after, j) for j in asked}
    assert all(set(named[j]) <= set(after) - set(before) for j in asked)
    assert {j for j in asked if named[j]} == {j for j in asked if truth[j]}
    links = [(j, i) for j in asked for i in named[j]]
    assert together(after, links) == together(after, [(j, i) for j in asked for i in truth[j]])
