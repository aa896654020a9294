"""What a caller is told of its own input: as it follows from the round, with what was kept as without."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.domain.cluster import Node
from gangplan.domain.job import Job, TaskGroup
from gangplan.domain.round import Round
from gangplan.kept import Kept
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.words.notices import notices
from gangplan.testing.strategies import rounds

OF_PLACES = ("NODE_OVER_CAPACITY", "QUEUE_OVER_LIMIT", "RUNS_WHERE_NOT_ADMITTED")


def told(instance: Instance) -> Counter[tuple[str, str]]:
    """Code and field of what is to be said of nodes, queues and places, one placement after the other."""
    round_, found = instance.round, Counter[tuple[str, str]]()
    nodes = {node.name: node for node in round_.cluster.nodes}
    parent = {queue.name: queue.parent for queue in round_.queues}
    held: dict[str, Counter[str]] = {name: Counter() for name in nodes}
    by_queue: Counter[str] = Counter()
    for j, placements in instance.placements.items():
        groups = {group.name: group for group in instance.jobs[j].component.task_groups}
        for place in placements:
            group, tasks = groups[place.group], place.tasks
            held[place.node]["devices"] += tasks * group.device_milli
            held[place.node]["cpu"] += tasks * group.resources_per_task.cpu_milli
            held[place.node]["memory"] += tasks * group.resources_per_task.memory_bytes
            queue = instance.jobs[j].queue
            while queue is not None:
                by_queue[queue] += tasks * group.device_milli
                queue = parent[queue]
    for i, node in enumerate(round_.cluster.nodes):
        usable = node.usable_resources
        limits = {
            "devices": 1000 * node.usable_device_count,
            "cpu": usable.cpu_milli,
            "memory": usable.memory_bytes,
        }
        over = sum(held[node.name][name] > limit for name, limit in limits.items())
        found["NODE_OVER_CAPACITY", f"cluster.nodes[{i}]"] = over
    for i, each in enumerate(round_.queues):
        over = each.device_limit is not None and by_queue[each.name] > 1000 * each.device_limit
        found["QUEUE_OVER_LIMIT", f"queues[{i}].device_limit"] = int(over)
    for i, job in enumerate(round_.jobs):
        groups = {group.name: group for group in job.component.task_groups}
        there = instance.placements.get(instance.job_index[job.name], ()) if job.running else ()
        strange = any(not welcome(nodes[place.node], groups[place.group]) for place in there)
        found["RUNS_WHERE_NOT_ADMITTED", f"jobs[{i}].running"] = int(strange)
    return +found


def welcome(node: Node, group: TaskGroup) -> bool:
    wanted = set(group.node_selector.items()) <= set(node.labels.items())
    return wanted and all(any(t.tolerates(taint) for t in group.tolerations) for taint in node.taints)


def edited(round_: Round, rng: random.Random) -> Round:
    """A job is asked for anew, or a node changes so that what is there is too much, or a stranger."""

    def other(node: Node) -> Node:
        which = rng.randrange(3)
        if which == 0:
            return replace(node, labels={})
        if which == 1:
            return replace(node, taints=rng.choice(round_.cluster.nodes).taints)
        return replace(node, resources=replace(node.resources, cpu_milli=node.resources.cpu_milli // 2))

    def again(job: Job) -> Job:
        return replace(job, weight=rng.choice([0.5, 1.0, 3.0]))

    jobs = [again(job) if rng.random() < 0.3 else job for job in round_.jobs]
    if rng.random() < 0.5:
        return replace(round_, jobs=tuple(jobs))
    nodes = [other(node) if rng.random() < 0.3 else node for node in round_.cluster.nodes]
    return replace(round_, jobs=tuple(jobs), cluster=replace(round_.cluster, nodes=tuple(nodes)))


@settings(max_examples=40)
@given(rounds("medium"), st.integers(0, 10_000))
def test_notices_are_what_follows_from_the_round(round_: Round, seed: int) -> None:
    rng, kept = random.Random(seed), Kept()
    for _ in range(4):
        instance = build_instance(round_, kept)
        said = notices(instance, kept)
        assert said == notices(instance)
        found = Counter((notice.code, notice.field) for notice in said if notice.code in OF_PLACES)
        assert found == told(instance)
        round_ = edited(round_, rng)
