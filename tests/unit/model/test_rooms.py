"""Rooms by domain, kept right as nodes change: always what looking at every node anew would say."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gangplan.model.instance.instance import build_instance
from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.rooms import Rooms
from gangplan.planning.generate import generate_named


@given(
    domain_at=st.lists(st.integers(NO_DOMAIN, 4), min_size=1, max_size=12),
    asked=st.data(),
)
def test_rooms_are_those_of_all_nodes_looked_at_anew(domain_at: list[int], asked: st.DataObject) -> None:
    everybody = range(len(domain_at))
    nodes = np.array(sorted(asked.draw(st.sets(st.sampled_from(everybody)))), dtype=np.int64)
    at = np.array(domain_at, dtype=np.int64)
    free = np.array(asked.draw(st.lists(st.integers(-2, 9), min_size=len(at), max_size=len(at))))
    log: list[int] = []
    rooms = Rooms(nodes, at, lambda some: free[some], 0)
    for _ in range(3):
        for node in asked.draw(st.lists(st.sampled_from(everybody), max_size=6)):
            free[node] = asked.draw(st.integers(-2, 9))
            log.append(node)
        rooms.look(log, lambda some: free[some])
        multiplicity = asked.draw(st.integers(1, 12))
        room = {
            domain: sum(max(0, int(free[n])) for n in nodes.tolist() if domain_at[n] == domain)
            for domain in range(5)
        }
        enough = sorted((room[domain], domain) for domain in room if room[domain] >= multiplicity)
        assert rooms.enough(multiplicity) == [domain for _, domain in enough]
        for domain in range(6):
            assert rooms.within(domain).tolist() == [n for n in nodes.tolist() if domain_at[n] == domain]


def test_an_occupancy_that_was_used_says_of_domains_what_a_new_one_says() -> None:
    """Through filling, taking, giving back, leaving and staying."""
    instance = build_instance(generate_named("M/deep-tree/50/seed0"))
    kept = np.flatnonzero(instance.kept).tolist()
    used = Occupancy(instance, kept)
    scopes = range(1, instance.nodes.domain_at.shape[1] - 1)
    blocks = range(len(instance.blocks))

    def agree() -> None:
        anew = Occupancy(instance, kept)
        anew.free[:] = used.free
        for block in blocks:
            for scope in scopes:
                mine = [nodes.tolist() for nodes in used.domains(scope, block, 2)]
                assert mine == [nodes.tolist() for nodes in anew.domains(scope, block, 2)]

    agree()
    for placed in list(keep_and_fill(instance).placed.items())[::7]:
        used.take_placed(*placed)
    agree()
    taken = [
        (block, used.take(block, 3, used.block_nodes(block), fit, together=together))
        for block in blocks
        for fit, together in ((Fit.FIRST, False), (Fit.BEST, True))
    ]
    assert any(some for _, some in taken)
    agree()
    for block, some in taken[::2]:
        used.give_back(block, some)
    used.leave(kept[0])
    used.leave(kept[1])
    used.stay(kept[0])
    agree()
