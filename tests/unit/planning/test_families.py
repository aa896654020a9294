"""The hard families: each is what its name says, and none starts with a broken rule."""

import statistics
from collections import Counter

import pytest

from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.model.verifier.verify import verify
from gangplan.planning.generate import generate_named
from gangplan.planning.generate.families import FAMILIES
from gangplan.service.wire import read_round_request, write_round


def named(family: str, size: str = "M") -> Round:
    return generate_named(f"{size}/{family}/50/seed1")


def keeps(round_: Round) -> Plan:
    return Plan(
        tuple(
            Action(job.name, ActionKind.KEEP, job.name, job.running.placements)
            for job in round_.jobs
            if job.running is not None
        )
    )


@pytest.mark.parametrize("size", ["S", "M"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_wire_takes_it_and_everything_can_stay(family, size):
    round_ = named(family, size)
    read, _ = read_round_request(write_round(round_, PlanParameters(), compact=True))
    assert len(read.jobs) == len(round_.jobs)
    assert any(job.running for job in round_.jobs)
    plain = generate_named(f"{size}/steady/50/seed1")
    # A bare KEEP leaves out its scope and throughput; nothing else may be missing, and no limit broken.
    unsaid = {violation.rule for violation in verify(plain, keeps(plain)).violations}
    assert {violation.rule for violation in verify(round_, keeps(round_)).violations} <= unsaid


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_name_is_the_same_round(family):
    assert named(family, "S") == named(family, "S")
    assert named(family, "S") != generate_named("S/steady/50/seed1")


def test_all_counts_has_counts_that_are_no_powers_of_two():
    asked = Counter(job.component.task_groups[0].count for job in named("all-counts").jobs)
    assert {3, 5, 6, 7} <= set(asked)
    assert all(count <= 8 or count % 8 == 0 for count in asked)
    assert any(count > 8 and count & (count - 1) for count in asked)
    for job in named("all-counts").jobs:
        group = job.component.task_groups[0]
        assert group.count in group.allowed_counts


def test_cpu_heavy_jobs_ask_for_more_than_their_devices_share():
    heavy = [job.component.task_groups[0].resources_per_task.cpu_milli for job in named("cpu-heavy").jobs]
    assert 0.2 <= sum(cpu > 12_000 for cpu in heavy) / len(heavy) <= 0.5


def test_nvlink_domains_are_eighteen_nodes_of_four():
    round_ = named("nvlink-18x4")
    assert {node.device_count for node in round_.cluster.nodes} == {4}
    assert set(Counter(node.domain for node in round_.cluster.nodes).values()) == {18}


def test_the_deep_tree_has_five_levels_of_unequal_fan_out():
    round_ = named("deep-tree", "L")
    topology = round_.cluster.topology
    assert topology.levels == ("hall", "spine", "pod", "row", "rack")
    levels = {domain.name: domain.level for domain in topology.domains}
    above = dict(zip(topology.levels[1:], topology.levels, strict=False))
    for domain in topology.domains:
        if domain.parent:
            assert levels[domain.parent] == above[domain.level]
    children = Counter(domain.parent for domain in topology.domains if domain.level == "rack")
    assert len(set(children.values())) > 1
    assert {node.domain for node in round_.cluster.nodes} == {
        n for n, level in levels.items() if level == "rack"
    }


def test_throughput_in_the_deep_tree_never_grows_with_spread():
    order = ("node", "rack", "row", "pod", "spine", "hall", "cluster")
    for profile in named("deep-tree", "L").profiles[:300]:
        by_option: dict[tuple[str, int], list[tuple[int, float]]] = {}
        for (kind, count, scope), value in profile.throughput.items():
            by_option.setdefault((kind, count), []).append((order.index(scope), value))
        for cells in by_option.values():
            values = [value for _, value in sorted(cells)]
            assert values == sorted(values, reverse=True)


def test_tight_topology_requires_a_rack_of_gangs_only():
    jobs = named("tight-topology", "L").jobs
    strict = [job for job in jobs if job.component.required_level == "rack"]
    soft = [job for job in jobs if job.component.preferred_level == "rack"]
    assert strict
    assert soft
    assert all(job.component.task_groups[0].count > 8 for job in strict + soft)


def test_dear_restarts_are_minutes_and_lost_work_is_no_longer_than_the_run():
    round_ = named("dear-restarts")
    assert 200 <= statistics.median(job.restart_seconds for job in round_.jobs) <= 400
    for job in round_.jobs:
        if job.running is not None:
            assert job.running.started_at is not None
            assert job.running.checkpoint_age_seconds is not None
            assert 0 <= job.running.checkpoint_age_seconds <= round_.now - job.running.started_at
