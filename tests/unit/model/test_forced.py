"""Which running jobs are forced off, and why."""

import itertools

import pytest

from gangplan.domain.cluster import NodeHealth, Toleration
from gangplan.domain.plan import ForcedReason
from gangplan.model.verifier.forced import forced_reasons
from gangplan.testing.builders import at, group, job, node, round_of, taint

SICK = {"health": NodeHealth.UNHEALTHY}


def reason(nodes, running, **fields):
    given = {"gpus": 2, **fields}
    return forced_reasons(round_of(nodes, [job("j", running=running, **given)], now=100.0)).get("j")


@pytest.mark.parametrize(
    ("nodes", "running", "expected"),
    [
        ([node("a", "H", 2)], at("a", [0, 1]), None),
        ([node("b", "H", 2)], at("a", [0, 1]), "NODE_GONE"),
        ([node("a", "H", 2, **SICK)], at("a", [0, 1]), "NODE_UNHEALTHY"),
        ([node("a", "H", 2, drain_time=100.0)], at("a", [0, 1]), "NODE_DRAINED"),
        ([node("a", "H", 2, drain_time=101.0)], at("a", [0, 1]), None),
        ([node("a", "H", 2, taints=(taint("t", execute=True),))], at("a", [0, 1]), "NODE_TAINTED"),
        ([node("a", "H", 2, taints=(taint("t"),))], at("a", [0, 1]), None),
        ([node("a", "H", 2, cordoned=True)], at("a", [0, 1]), None),
        ([node("a", "H", 3, unhealthy=[1])], at("a", [0, 1]), "DEVICE_UNHEALTHY"),
        ([node("a", "H", 3, unhealthy=[2])], at("a", [0, 1]), None),
        ([node("a", "H", 2)], at("a", [1, 2]), "DEVICE_UNHEALTHY"),
        ([node("a", "H", 3, others=[0])], at("a", [0, 1]), "DEVICE_LOST_TO_OTHERS"),
        ([node("a", "H", 2)], at("a", [0]), "GANG_BROKEN"),
        ([node("a", "H", 2)], at("a", [0], tasks=2), "GANG_BROKEN"),
        ([node("a", "H", 2)], at("a", [0, 1], group="other"), "GANG_BROKEN"),
        ([node("a", "H", 2, count_only=True)], at("a", [0, 1]), "GANG_BROKEN"),
        ([node("a", "H", 2, count_only=True)], at("a", tasks=2), None),
        ([node("a", "H", 1), node("b", "V", 1)], [at("a", [0]), at("b", [0])], "GANG_BROKEN"),
        ([node("a", "H", 1), node("b", "H", 1)], [at("a", [0]), at("b", [0])], None),
        ([node("a", "H", 2)], [], "GANG_BROKEN"),
    ],
)
def test_reasons(nodes, running, expected):
    found = reason(nodes, running)
    assert (found and found.value) == expected


def test_a_tolerated_taint_forces_nobody():
    nodes = [node("a", "H", 2, taints=(taint("t", execute=True),))]
    assert reason(nodes, at("a", [0, 1]), tolerations=(Toleration("t"),)) is None


def test_a_gang_without_one_of_its_groups_is_broken():
    gang = job("j", group("leader", gpus=0, cpu=1), group("worker"), running=at("a", [0]))
    assert forced_reasons(round_of([node("a", "H", 1)], [gang])) == {"j": ForcedReason.GANG_BROKEN}


def test_the_first_reason_in_order_is_named_whatever_the_order_of_placements():
    nodes = [node("a", "H", 1, **SICK), node("b", "H", 1, unhealthy=[0])]
    placements = [at("a", [0]), at("b", [0]), at("gone", [0])]
    for some in itertools.permutations(placements):
        assert reason(nodes, list(some), gpus=3) is ForcedReason.NODE_GONE
    for some in itertools.permutations(placements[:2]):
        assert reason(nodes, list(some)) is ForcedReason.NODE_UNHEALTHY


@pytest.mark.parametrize(
    ("started", "losers"),
    [
        pytest.param({"a": 10.0, "b": 20.0, "c": 30.0}, {"c"}, id="the latest start"),
        pytest.param({"a": None, "b": 20.0, "c": 30.0}, {"a"}, id="an unknown start is the latest"),
        pytest.param({"a": 10.0, "b": 10.0, "c": 10.0}, {"c"}, id="then the largest name"),
    ],
)
def test_who_loses_on_a_node_that_only_counts(started, losers):
    """Six devices, two of them broken; three jobs hold two each: one must go."""
    nodes = [node("n", "H", 6, count_only=True, unhealthy=2)]
    jobs = [job(name, gpus=2, running=at("n", tasks=2), started=at_) for name, at_ in started.items()]
    for some in itertools.permutations(jobs):
        found = forced_reasons(round_of(nodes, some))
        assert found == dict.fromkeys(losers, ForcedReason.DEVICE_UNHEALTHY)


def test_who_is_forced_off_anyway_makes_room_on_a_node_that_only_counts():
    nodes = [node("n", "H", 4, count_only=True, unhealthy=2), node("sick", "H", 1, **SICK)]
    old = job("old", gpus=2, running=at("n", tasks=2), started=1.0)
    torn = job("torn", gpus=3, running=[at("n", tasks=2), at("sick", [0])], started=0.0)
    assert forced_reasons(round_of(nodes, [old, torn])) == {"torn": ForcedReason.NODE_UNHEALTHY}


def test_a_loser_makes_room_on_all_its_nodes():
    """x is the latest and spreads over both nodes that are short: when it goes, nobody else must."""
    nodes = [node(name, "H", 2, count_only=True, unhealthy=1) for name in ("m", "n")]
    jobs = [
        job("x", gpus=2, running=[at("m"), at("n")], started=9.0),
        job("y", running=at("m"), started=8.0),
        job("z", running=at("n"), started=7.0),
    ]
    assert forced_reasons(round_of(nodes, jobs)) == {"x": ForcedReason.DEVICE_UNHEALTHY}
