"""Generated instances: the same for the same seed, of the promised size, mix, occupancy and rho."""

import math
import statistics
from collections import Counter
from dataclasses import replace

import pytest

from gangplan.domain.job import TaskSplit
from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.errors import InvalidInputError
from gangplan.model.verifier.verify import verify
from gangplan.planning.generate import SIZES, TYPES, InstanceName, Size, generate, generate_named

SCOPES = ("node", "rack", "spine", "cluster")


def devices(round_: Round) -> int:
    return sum(node.device_count for node in round_.cluster.nodes)


def held(round_: Round) -> int:
    return sum(
        len(placement.devices)
        for job in round_.jobs
        if job.running is not None
        for placement in job.running.placements
    )


def unserved_rho(round_: Round) -> list[float]:
    """Decision 11, word by word: the ratio of each job that gets nothing this round."""
    by_type: Counter[str] = Counter()
    for node in round_.cluster.nodes:
        by_type[str(node.accelerator_type)] += node.usable_device_count
    cells = {profile.name: profile.throughput for profile in round_.profiles}
    weight = {job.name: round_.policy.priority_weights[job.priority] * job.weight for job in round_.jobs}
    contending = sum(weight.values())
    ratios = []
    for job in round_.jobs:
        (group,) = job.component.task_groups
        packed: dict[tuple[str, int], tuple[int, float]] = {}
        for (kind, count, scope), throughput in cells[str(group.profile)].items():
            here = (SCOPES.index(scope), throughput)
            packed[kind, count] = min(packed.get((kind, count), here), here)
        alone = max(
            throughput * min(1.0, by_type[kind] * weight[job.name] / contending / count)
            for (kind, count), (_, throughput) in packed.items()
        )
        assert job.submit_time is not None
        assert job.work_left is not None
        age = round_.now - job.submit_time
        rate = (job.work_done + alone * round_.round_seconds) / (age + round_.round_seconds)
        finish = round_.round_seconds + job.work_left / rate
        if job.fair_finish_age is None:
            frozen, left = age, max(0.0, job.work_done + job.work_left - job.fair_progress)
        else:
            frozen, left = job.fair_finish_age, 0.0
        ratios.append((age + finish) / (frozen + left / alone))
    return ratios


@pytest.mark.parametrize(
    ("size", "wanted_devices", "wanted_nodes", "wanted_jobs"),
    [("S", 64, 8, 60), ("M", 544, 72, 400), ("L", 2176, 288, 1500)],
)
def test_size_is_that_of_the_published_instances(size, wanted_devices, wanted_nodes, wanted_jobs):
    round_ = generate(size)
    assert devices(round_) == wanted_devices
    assert len(round_.cluster.nodes) == wanted_nodes
    assert len(round_.jobs) == wanted_jobs


@pytest.mark.parametrize("start", ["steady", "random"])
@pytest.mark.parametrize("size", ["S", "M"])
def test_same_seed_same_round_and_another_seed_another_round(size, start):
    assert generate(size, start=start, seed=3) == generate(size, start=start, seed=3)
    assert generate(size, start=start, seed=3) != generate(size, start=start, seed=4)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("occupancy", [0.5, 0.85])
@pytest.mark.parametrize("size", ["S", "M", "L"])
def test_occupancy_is_reached_and_not_exceeded(size, occupancy, seed):
    round_ = generate(size, occupancy=occupancy, seed=seed)
    share = held(round_) / devices(round_)
    largest = SIZES[size].largest_job / devices(round_)
    assert occupancy - largest <= share <= occupancy


def test_no_device_is_held_twice_and_every_queue_is_within_its_limit():
    for seed in range(5):
        round_ = generate("M", occupancy=0.85, seed=seed)
        taken: Counter[tuple[str, int]] = Counter()
        by_queue: Counter[str] = Counter()
        for job in round_.jobs:
            for placement in job.running.placements if job.running else ():
                taken.update((placement.node, device) for device in placement.devices)
                by_queue[str(job.queue)] += len(placement.devices)
        assert max(taken.values()) == 1
        assert all(by_queue[queue.name] <= (queue.device_limit or 0) for queue in round_.queues)


@pytest.mark.parametrize("start", ["steady", "random"])
def test_running_gangs_take_whole_nodes_of_one_type_in_a_count_they_allow(start):
    for seed in range(5):
        round_ = generate("M", start=start, occupancy=0.5, seed=seed)
        nodes = {node.name: node for node in round_.cluster.nodes}
        gangs = 0
        for job in round_.jobs:
            (group,) = job.component.task_groups
            assert group.split is TaskSplit.WHOLE_NODES
            assert group.count in group.allowed_counts
            if job.running is None:
                continue
            placements = job.running.placements
            assert sum(placement.tasks for placement in placements) in group.allowed_counts
            assert len({nodes[placement.node].accelerator_type for placement in placements}) == 1
            if len(placements) > 1:
                gangs += 1
                assert all(nodes[p.node].device_count == len(p.devices) for p in placements)
        assert gangs >= 1


def test_running_jobs_have_a_cell_in_their_profile():
    round_ = generate("L", occupancy=0.85)
    cells = {profile.name: profile.throughput for profile in round_.profiles}
    nodes = {node.name: node for node in round_.cluster.nodes}
    for job in round_.jobs:
        if job.running is not None:
            (group,) = job.component.task_groups
            kind = nodes[job.running.placements[0].node].accelerator_type
            count = sum(placement.tasks for placement in job.running.placements)
            assert any(cell[:2] == (kind, count) for cell in cells[str(group.profile)])


@pytest.mark.parametrize("host_limits", [False, True])
@pytest.mark.parametrize(("start", "occupancy"), [("steady", 0.5), ("steady", 0.85), ("random", 0.5)])
def test_the_present_state_breaks_no_rule_and_can_be_kept(start, occupancy, host_limits):
    for size in ("S", "M"):
        round_ = generate(size, start=start, occupancy=occupancy, seed=7, host_limits=host_limits)
        bare = [
            Action(job.name, ActionKind.KEEP, job.name, job.running.placements)
            for job in round_.jobs
            if job.running is not None
        ]
        outcomes = verify(round_, Plan(tuple(bare))).outcomes
        named = [
            replace(action, scope=outcomes[action.job].scope, throughput=outcomes[action.job].throughput)
            for action in bare
        ]
        judged = verify(round_, Plan(tuple(named)))
        assert judged.violations == ()
        assert all(outcomes[action.job].relative_throughput > 0 for action in bare)
        assert judged.objective > 0


def test_mix_is_the_stated_one():
    round_ = generate("L", seed=1)
    groups = [job.component.task_groups[0] for job in round_.jobs]
    requests = Counter(group.count for group in groups)
    total = len(groups)
    assert requests[1] / total == pytest.approx(0.70, abs=0.04)
    assert requests[2] / total == pytest.approx(0.10, abs=0.025)
    assert requests[4] / total == pytest.approx(0.08, abs=0.025)
    assert requests[8] / total == pytest.approx(0.08, abs=0.025)
    assert sum(requests[count] for count in (16, 32, 64, 128, 256)) / total == pytest.approx(0.04, abs=0.02)
    assert sum(len(group.allowed_counts) > 1 for group in groups) / total == pytest.approx(0.4, abs=0.04)
    assert sum(job.deadline is not None for job in round_.jobs) / total == pytest.approx(0.2, abs=0.04)
    priorities = Counter(job.priority for job in round_.jobs)
    # Departures take the urgent first, and those who come in their place are drawn anew.
    assert priorities[0] / total == pytest.approx(0.73, abs=0.05)
    assert priorities[2] / total == pytest.approx(0.08, abs=0.04)
    by_type = Counter()
    for node in round_.cluster.nodes:
        by_type[node.accelerator_type] += node.device_count
    for kind, share in zip(TYPES, (0.4, 0.3, 0.2, 0.1), strict=True):
        assert by_type[kind] / devices(round_) == pytest.approx(share, abs=0.08)
    ones = [profile for profile, group in zip(round_.profiles, groups, strict=True) if group.count == 1]
    for kind in TYPES[1:]:
        missing = sum((kind, 1, "node") not in profile.throughput for profile in ones)
        assert missing / len(ones) == pytest.approx(0.1, abs=0.035)
    assert 1.5 <= sum(group.count for group in groups) / devices(round_) <= 4


@pytest.mark.parametrize(("start", "occupancy"), [("steady", 0.5), ("steady", 0.85), ("random", 0.5)])
def test_rho_by_the_formula_is_log_normal_between_its_clips(start, occupancy):
    ratios = unserved_rho(generate("L", start=start, occupancy=occupancy, seed=2))
    assert min(ratios) >= 0.3 - 1e-9
    assert max(ratios) <= 4.0 + 1e-9
    assert statistics.median(ratios) == pytest.approx(1.0, abs=0.12)
    assert statistics.stdev(map(math.log, ratios)) == pytest.approx(0.5, abs=0.06)


def test_waiting_jobs_with_high_rho_never_ran():
    round_ = generate("M", seed=5)
    fresh = [job for job in round_.jobs if job.running is None and job.work_done == 0.0]
    assert len(fresh) >= 40
    assert all(job.submit_time is not None and job.submit_time <= round_.now for job in fresh)


def test_checkpoints_are_no_older_than_the_run():
    for job in generate("L", occupancy=0.85).jobs:
        if job.running is not None:
            assert job.running.checkpoint_age_seconds is not None
            assert job.running.started_at is not None
            assert 0 <= job.running.checkpoint_age_seconds <= 1_767_225_600.0 - job.running.started_at + 1e-6


def test_the_wire_carries_it_unchanged():
    from gangplan.service.wire import read_round_request, write_round

    for start in ("steady", "random"):
        round_ = generate("M", start=start, seed=1, host_limits=True)
        assert read_round_request(write_round(round_))[0] == round_


def test_host_limits_leave_the_present_state_within_every_node():
    round_ = generate("M", occupancy=0.85, host_limits=True)
    nodes = {node.name: node for node in round_.cluster.nodes}
    cpu: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    hungry = 0
    for job in round_.jobs:
        (group,) = job.component.task_groups
        hungry += group.resources_per_task.cpu_milli > 12_000
        for placement in job.running.placements if job.running else ():
            cpu[placement.node] += group.resources_per_task.cpu_milli * placement.tasks
            memory[placement.node] += group.resources_per_task.memory_bytes * placement.tasks
    assert 0.03 <= hungry / len(round_.jobs) <= 0.15
    assert all(used <= nodes[name].resources.cpu_milli for name, used in cpu.items())
    assert all(used <= nodes[name].resources.memory_bytes for name, used in memory.items())


def test_a_size_of_your_own():
    round_ = generate(Size("tiny", 8, 5, 1, 2, largest_job=8))
    assert devices(round_) >= 8
    assert len(round_.jobs) == 5


def test_names_are_read_and_written_alike():
    name = InstanceName.parse("M/steady/85/seed3")
    assert name == InstanceName("M", "steady", 85, 3)
    assert str(name) == "M/steady/85/seed3"
    assert generate_named("S/random/50/seed1") == generate("S", start="random", seed=1)


@pytest.mark.parametrize(
    "text", ["Q/steady/50/seed0", "S/steady/50", "S/calm/50/seed0", "S/steady/101/seed0"]
)
def test_a_wrong_name_is_refused_with_the_form(text):
    with pytest.raises(InvalidInputError, match="SIZE/START/OCCUPANCY/seedN"):
        InstanceName.parse(text)


def test_wrong_arguments_are_all_named_at_once():
    with pytest.raises(InvalidInputError) as caught:
        generate("Q", start="calm", occupancy=1.5, seed=-1)
    assert [violation.field for violation in caught.value.violations] == [
        "size",
        "start",
        "occupancy",
        "seed",
    ]
