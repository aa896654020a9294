"""Named properties of every answer, each counted anew from the round and the plan, without the verifier."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.cluster import DeviceReporting, Node, NodeHealth
from gangplan.domain.job import WHOLE_DEVICE, Job, TaskGroup, TaskPlacement
from gangplan.domain.plan import Action, ActionKind
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.testing.builders import at, job, node, round_of, taint
from gangplan.testing.strategies import rounds

from .planned import drawn, in_depth, planned

STOPS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
STARTS = (ActionKind.PLACE, ActionKind.MIGRATE, ActionKind.RESIZE)

Use = Counter[tuple[str, str]]
"""What is held, by (node, resource)."""


@in_depth
def depth():
    """Quick or deep."""


def groups_of(job: Job) -> dict[str, TaskGroup]:
    return {group.name: group for group in job.component.task_groups}


def use_of(job: Job, placements: tuple[TaskPlacement, ...]) -> Use:
    found: Use = Counter()
    for p in placements:
        group = groups_of(job).get(p.group)
        if group is not None:
            found[p.node, "devices"] += p.tasks * group.device_milli
            for device in p.devices:
                found[p.node, f"device {device}"] += group.device_milli // group.devices_per_task
            found[p.node, "cpu"] += p.tasks * group.resources_per_task.cpu_milli
            found[p.node, "memory"] += p.tasks * group.resources_per_task.memory_bytes
    return found


def usable(round_: Round) -> Use:
    found: Use = Counter()
    for n in round_.cluster.nodes:
        broken = len(n.unhealthy_devices | n.used_by_others.devices)
        if n.device_reporting is DeviceReporting.COUNT_ONLY:
            broken = n.unhealthy_device_count + n.used_by_others.device_count
        found[n.name, "devices"] = max(0, n.device_count - broken) * WHOLE_DEVICE
        for device in range(n.device_count):
            found[n.name, f"device {device}"] = WHOLE_DEVICE
        other = n.used_by_others.resources
        found[n.name, "cpu"] = max(0, n.resources.cpu_milli - other.cpu_milli)
        found[n.name, "memory"] = max(0, n.resources.memory_bytes - other.memory_bytes)
    return found


def present_use(round_: Round, actions: dict[str, Action]) -> Use:
    """What the running jobs that are not forced off hold now."""
    found: Use = Counter()
    for j in round_.jobs:
        if j.running is not None and actions[j.name].forced is None:
            found += use_of(j, j.running.placements)
    return found


def added(j: Job, action: Action) -> list[TaskPlacement]:
    """Tasks that ``action`` starts: all of them, or what a RESIZE adds."""
    if action.kind is ActionKind.KEEP:
        return []
    if action.kind is not ActionKind.RESIZE:
        return list(action.placements)
    before = {(p.group, p.node): p for p in j.running.placements}
    fresh = []
    for p in action.placements:
        had = before.get((p.group, p.node))
        more = p.tasks - (had.tasks if had else 0)
        if more > 0:
            devices = tuple(d for d in p.devices if had is None or d not in had.devices)
            fresh.append(TaskPlacement(p.group, p.node, more, devices))
    return fresh


def answer(round_: Round) -> tuple[dict[str, Job], dict[str, Action], dict[str, Node]]:
    plan = planned(round_).plan
    actions = {action.job: action for action in plan.actions}
    assert len(actions) == len(plan.actions)
    return {j.name: j for j in round_.jobs}, actions, {n.name: n for n in round_.cluster.nodes}


@drawn
@given(rounds("small"))
def test_p1_a_gang_runs_whole_or_not_at_all(round_):
    jobs, actions, _ = answer(round_)
    assert {name for name, j in jobs.items() if j.running} <= actions.keys()
    for name, action in actions.items():
        counts = Counter()
        for p in action.placements:
            assert p.tasks >= 1
            counts[p.group] += p.tasks
        if action.kind is ActionKind.EVICT:
            assert not counts
        else:
            assert counts.keys() == groups_of(jobs[name]).keys()
            for group in jobs[name].component.task_groups:
                assert counts[group.name] in group.allowed_counts


@drawn
@given(rounds("small"))
def test_p2_no_node_holds_more_than_it_has_or_holds_now(round_):
    jobs, actions, _ = answer(round_)
    held: Use = Counter()
    for name, action in actions.items():
        held += use_of(jobs[name], action.placements)
    limit, now = usable(round_), present_use(round_, actions)
    for where, amount in held.items():
        assert amount <= max(limit[where], now[where]), where


@drawn
@given(rounds("small"))
def test_p3_every_device_has_one_holder_or_parts_of_it_have_and_it_works(round_):
    jobs, actions, nodes = answer(round_)
    holders: dict[tuple[str, int], set[str]] = defaultdict(set)
    held: Counter[tuple[str, int]] = Counter()
    fresh = {
        name: {(p.node, d) for p in added(jobs[name], a) for d in p.devices} for name, a in actions.items()
    }
    for name, action in actions.items():
        for p in action.placements:
            per_task = groups_of(jobs[name])[p.group].devices_per_task
            exact = nodes[p.node].device_reporting is DeviceReporting.EXACT
            part = groups_of(jobs[name])[p.group].device_share
            assert len(set(p.devices)) == len(p.devices) == (p.tasks * per_task if exact else 0)
            assert p.shares == (() if part is None else (part,) * len(p.devices))
            for device in p.devices:
                holders[p.node, device].add(name)
                held[p.node, device] += WHOLE_DEVICE if part is None else part.compute_milli
    for place, milli in held.items():
        if milli > WHOLE_DEVICE:  # held too often already: tolerated, but nobody new comes
            assert not any(place in fresh[name] for name in holders[place])
    for places in fresh.values():
        for name, device in places:
            n = nodes[name]
            assert device in range(n.device_count)
            assert device not in n.unhealthy_devices | n.used_by_others.devices


def random_run(round_: Round, jobs: dict[str, Job], actions: dict[str, Action], seed: int) -> Iterator[Use]:
    """Steps in an order that respects ``depends_on`` and nothing else: what is held after each start."""
    rng = random.Random(seed)
    held = present_use(round_, actions)
    by_id = {a.id: a for a in actions.values()}
    todo = [("stop", a) for a in actions.values() if a.kind in STOPS]
    todo += [("start", a) for a in actions.values() if a.kind in STARTS]
    done: set[tuple[str, str]] = set()
    while todo:
        ready = [
            (what, a)
            for what, a in todo
            if what == "stop"
            or (
                all(("stop", other) in done for other in a.depends_on)
                and (a.kind is ActionKind.PLACE or ("stop", a.id) in done)
            )
        ]
        assert ready, "a cycle"
        what, a = rng.choice(sorted(ready, key=lambda step: (step[0] == seed % 2, step[1].id)))
        todo.remove((what, a))
        done.add((what, a.id))
        assert all(by_id[other].kind in STOPS for other in a.depends_on)
        j = jobs[a.job]
        before = use_of(j, j.running.placements) if j.running and a.forced is None else Counter()
        after = use_of(j, a.placements)
        if what == "stop":
            held = held - (before - after if a.kind is ActionKind.RESIZE else before)
        else:
            held = held + (after - before if a.kind is ActionKind.RESIZE else after)
            yield Counter(held)


@drawn
@given(rounds("small"), st.lists(st.integers(0, 2**32), min_size=5, max_size=5))
def test_p4_no_order_that_respects_the_dependencies_overfills_a_node(round_, seeds):
    jobs, actions, _ = answer(round_)
    limit, now = usable(round_), present_use(round_, actions)
    for seed in seeds:
        for held in random_run(round_, jobs, actions, seed):
            for where, amount in held.items():
                assert amount <= max(limit[where], now[where]), where


@drawn
@given(rounds("small"))
def test_p9_what_must_be_together_is_by_full_path(round_):
    jobs, actions, nodes = answer(round_)
    parents = {d.name: d for d in round_.cluster.topology.domains}

    def domain_at(name: str, level: str) -> str | None:
        here = nodes[name].domain
        while here is not None and parents[here].level != level:
            here = parents[here].parent
        return here

    for name, action in actions.items():
        required = jobs[name].component.required_level
        if required in (None, "cluster") or not added(jobs[name], action):
            continue
        places = {p.node for p in action.placements}
        if required == "node":
            assert len(places) == 1
        else:
            found = {domain_at(place, required) for place in places}
            assert len(found) == 1
            assert found != {None} or len(places) == 1


@drawn
@given(rounds("small"))
def test_p12_new_tasks_go_only_where_they_may(round_):
    jobs, actions, nodes = answer(round_)
    for name, action in actions.items():
        for p in added(jobs[name], action):
            group, n = groups_of(jobs[name])[p.group], nodes[p.node]
            assert n.health is NodeHealth.HEALTHY
            assert not n.cordoned
            assert n.drain_time is None or n.drain_time > round_.now
            assert dict(n.labels).items() >= dict(group.node_selector).items()
            for mark in n.taints:
                assert any(
                    t.key in (None, mark.key)
                    and t.value in (None, mark.value)
                    and t.effect in (None, mark.effect)
                    for t in group.tolerations
                )
            if group.devices_per_task:
                assert n.accelerator_type in (
                    group.accelerator_types or {a.name for a in round_.accelerators}
                )


@drawn
@given(rounds("small"))
def test_p14_every_number_of_an_answer_is_finite_and_every_count_is_whole(round_):
    result = planned(round_)
    quality = result.quality
    for value in (
        quality.objective,
        quality.bound,
        quality.absolute_gap,
        quality.relative_gap,
        quality.gap_of_gain,
        quality.keep_and_fill,
        *quality.objective_by_term.values(),
        *result.statistics.values(),
        *result.seconds_by_phase.values(),
    ):
        assert math.isfinite(value)
    assert 0.0 <= quality.gap_of_gain <= 1.0 + 1e-9
    assert quality.absolute_gap >= 0.0
    for action in result.plan.actions:
        assert math.isfinite(action.throughput)
        assert action.throughput >= 0.0
        for p in action.placements:
            assert type(p.tasks) is int
            assert all(type(d) is int for d in p.devices)
    for verdict in result.verdicts:
        assert verdict.shortfall is None or (type(verdict.shortfall) is int and verdict.shortfall > 0)


@pytest.mark.parametrize(("limit", "placed"), [(None, 3), (0, 0), (1, 1), (2, 2), (9, 3)])
def test_p14_unset_zero_and_unlimited_differ(limit, placed):
    """Three jobs of one device in one queue, four devices."""
    jobs = [job(name, queue="q") for name in "abc"]
    round_ = round_of([node("n", "H100", 4)], jobs, queues=(Queue("q", None, limit),))
    assert len(planned(round_).plan.actions) == placed
    typed = replace(round_, queues=(Queue("q", None, None, {} if limit is None else {"H100": limit}),))
    assert len(planned(typed).plan.actions) == placed


@drawn
@given(rounds("small"))
def test_quotas_hold_along_the_tree_or_get_no_worse(round_):
    jobs, actions, nodes = answer(round_)
    parents = {q.name: q.parent for q in round_.queues}
    held: dict[tuple[str, str | None], list[int]] = defaultdict(lambda: [0, 0])
    for name, action in actions.items():
        j = jobs[name]
        before = j.running.placements if j.running and action.forced is None else ()
        for when, placements in enumerate((before, action.placements)):
            for p in placements:
                devices = p.tasks * groups_of(j)[p.group].device_milli
                queue = j.queue
                while queue is not None:
                    held[queue, None][when] += devices
                    held[queue, nodes[p.node].accelerator_type][when] += devices
                    queue = parents[queue]
    for q in round_.queues:
        limits = {**({} if q.device_limit is None else {None: q.device_limit}), **q.device_limit_by_type}
        for kind, limit in limits.items():
            now, then = held[q.name, kind]
            assert then <= max(limit * WHOLE_DEVICE, now)


# P25: input that is broken already


def test_p25_a_queue_over_its_limit_keeps_what_it_has_and_gets_no_more():
    jobs = [job("runs", gpus=3, queue="q", running=at("n", range(3))), job("waits", queue="q", weight=0.1)]
    result = planned(round_of([node("n", "H100", 8)], jobs, queues=(Queue("q", None, 2),)))
    assert [(a.job, a.kind) for a in result.plan.actions] == [("runs", ActionKind.KEEP)]
    assert [n.code for n in result.notices] == ["QUEUE_OVER_LIMIT"]
    assert result.verdicts[0].code == "QUEUE_LIMIT"


def test_p25_a_node_over_its_memory_keeps_what_it_has_and_gets_no_more():
    """Two jobs hold 20 of 16 GiB; a third would fit by its CPU and its device."""
    jobs = [
        job("a", running=at("n", [0]), memory=10),
        job("b", running=at("n", [1]), memory=10),
        job("c", memory=1, weight=0.1),
    ]
    result = planned(round_of([node("n", "H100", 4, memory=16)], jobs))
    assert {(a.job, a.kind) for a in result.plan.actions} == {("a", ActionKind.KEEP), ("b", ActionKind.KEEP)}
    assert "NODE_OVER_CAPACITY" in {n.code for n in result.notices}


def test_p25_who_runs_where_it_now_may_not_stays_and_is_reported():
    host = node("n", "H100", 2, cordoned=True, taints=(taint("team"),))
    result = planned(round_of([host], [job("a", running=at("n", [0])), job("b")]))
    assert [(a.job, a.kind) for a in result.plan.actions] == [("a", ActionKind.KEEP)]
    assert [n.code for n in result.notices] == ["RUNS_WHERE_NOT_ADMITTED"]


@drawn
@given(rounds("small"))
def test_p25_every_round_gets_an_answer_and_every_waiting_job_a_verdict(round_):
    result = planned(round_)
    runs = {a.job for a in result.plan.actions if a.placements}
    assert [v.job for v in result.verdicts] == sorted({j.name for j in round_.jobs} - runs)
    assert all(v.message and v.code for v in result.verdicts)
