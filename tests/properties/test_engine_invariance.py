"""Metamorphic relations of the engine (P13, decision 26): what must not matter, and what only helps."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gangplan.domain.cluster import Cluster, Node, Resources
from gangplan.domain.job import Component, Job, TaskGroup, TaskPlacement
from gangplan.domain.plan import RoundResult
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import Domain
from gangplan.testing.strategies import rounds

from .planned import DEFAULTS, closed, drawn, in_depth, planned, reached, slack

T = TypeVar("T")
SEEDS = st.integers(0, 2**32)
each_backend = pytest.mark.parametrize("backend", DEFAULTS)


@in_depth
def depth():
    """Quick or deep."""


def without_fairness(round_: Round) -> Round:
    """With coefficients held fixed: rho depends on the fleet and on who contends (decision 26)."""
    return replace(round_, policy=replace(round_.policy, fairness_power=0.0, queue_fairness_power=0.0))


def same_optimum(one: RoundResult, other: RoundResult) -> None:
    """Both optima are the same number, as far as they are proved."""
    assert reached(one) <= other.quality.bound + slack(other.quality.bound)
    assert reached(other) <= one.quality.bound + slack(one.quality.bound)
    if closed(one) and closed(other):
        assert reached(one) == pytest.approx(reached(other), abs=2 * slack(reached(one)))


# Order


def shuffled(round_: Round, seed: int) -> Round:
    """Every list and mapping of the request in another order, but for the groups of a gang: the first one
    counts the work."""
    rng = random.Random(seed)

    def mix(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(rng.sample(list(values), len(values)))

    def mixed_map(values):
        return dict(mix(list(values.items())))

    def mixed_job(job: Job) -> Job:
        groups = tuple(
            replace(
                g,
                accelerator_types=mix(g.accelerator_types),
                tolerations=mix(g.tolerations),
                node_selector=mixed_map(g.node_selector),
            )
            for g in job.component.task_groups
        )
        running = job.running and replace(job.running, placements=mix(job.running.placements))
        return replace(job, component=replace(job.component, task_groups=groups), running=running)

    cluster = round_.cluster
    nodes = [replace(n, labels=mixed_map(n.labels), taints=mix(n.taints)) for n in cluster.nodes]
    return replace(
        round_,
        cluster=Cluster(
            replace(cluster.topology, domains=mix(cluster.topology.domains)),
            mix(nodes),
        ),
        accelerators=mix(round_.accelerators),
        queues=mix(
            [replace(q, device_limit_by_type=mixed_map(q.device_limit_by_type)) for q in round_.queues]
        ),
        jobs=mix([mixed_job(job) for job in round_.jobs]),
        profiles=mix([replace(p, throughput=mixed_map(p.throughput)) for p in round_.profiles]),
        policy=replace(round_.policy, headroom=mixed_map(round_.policy.headroom)),
    )


@each_backend
@drawn
@given(round_=rounds("small"), seed=SEEDS)
def test_the_answer_does_not_depend_on_the_order_of_lists(backend, round_, seed):
    one, other = planned(round_, backend), planned(shuffled(round_, seed), backend)
    assert other.plan == one.plan
    assert other.verdicts == one.verdicts
    assert other.quality.objective == one.quality.objective
    assert other.quality.bound == pytest.approx(one.quality.bound, rel=1e-9, abs=1e-9)
    assert other.statistics.keys() == one.statistics.keys()
    assert {n.code for n in other.notices} == {n.code for n in one.notices}


@drawn
@given(round_=rounds("small"))
def test_the_same_round_twice_gets_the_same_answer(round_):
    one, other = planned(round_), planned(round_)
    assert (other.plan, other.verdicts, other.quality) == (one.plan, one.verdicts, one.quality)


# Names


def renamed(round_: Round, name: Callable[[str], str]) -> Round:
    """Every node, domain, job, queue, type, profile and group named anew."""

    def new(old: str | None) -> str | None:
        return None if old is None else name(old)

    def moved(placement: TaskPlacement) -> TaskPlacement:
        return replace(placement, node=name(placement.node), group=name(placement.group))

    def job(old: Job) -> Job:
        groups = tuple(
            replace(
                g,
                name=name(g.name),
                profile=new(g.profile),
                accelerator_types=tuple(name(t) for t in g.accelerator_types),
            )
            for g in old.component.task_groups
        )
        running = old.running and replace(old.running, placements=tuple(map(moved, old.running.placements)))
        return replace(
            old,
            name=name(old.name),
            queue=new(old.queue),
            component=replace(old.component, task_groups=groups),
            running=running,
            gate=replace(old.gate, after_jobs=tuple(map(name, old.gate.after_jobs))),
        )

    outlook = round_.outlook and replace(
        round_.outlook, jobs=tuple(replace(entry, job=name(entry.job)) for entry in round_.outlook.jobs)
    )
    tree = round_.cluster.topology
    domains = tuple(Domain(name(d.name), d.level, new(d.parent)) for d in tree.domains)
    return replace(
        round_,
        cluster=Cluster(
            replace(tree, domains=domains),
            tuple(
                replace(n, name=name(n.name), domain=new(n.domain), accelerator_type=new(n.accelerator_type))
                for n in round_.cluster.nodes
            ),
        ),
        accelerators=tuple(replace(a, name=name(a.name)) for a in round_.accelerators),
        queues=tuple(
            replace(
                q,
                name=name(q.name),
                parent=new(q.parent),
                device_limit_by_type={name(t): limit for t, limit in q.device_limit_by_type.items()},
            )
            for q in round_.queues
        ),
        jobs=tuple(job(j) for j in round_.jobs),
        claims=tuple(
            replace(claim, job=name(claim.job), placements=tuple(map(moved, claim.placements)))
            for claim in round_.claims
        ),
        profiles=tuple(
            replace(
                p, name=name(p.name), throughput={(name(t), c, s): x for (t, c, s), x in p.throughput.items()}
            )
            for p in round_.profiles
        ),
        outlook=outlook,
        policy=replace(
            round_.policy, headroom={name(t): devices for t, devices in round_.policy.headroom.items()}
        ),
    )


@drawn
@given(round_=rounds("small"), seed=SEEDS)
def test_names_do_not_matter_to_the_optimum(round_, seed):
    """Any renaming, consistent through the request; ties may fall otherwise, the value may not."""

    def name(old: str) -> str:
        return f"{random.Random(f'{seed}/{old}').getrandbits(64):016x}"

    same_optimum(planned(round_), planned(renamed(round_, name)))


@each_backend
@drawn
@given(round_=rounds("small"))
def test_names_in_the_same_order_get_the_same_plan(backend, round_):
    def name(old: str) -> str:
        return f"x/{old}"

    one, other = planned(round_, backend), planned(renamed(round_, name), backend)
    exactly = [replace(found.quality, gap_of_gain=0.0, keep_and_fill=0.0) for found in (one, other)]
    assert exactly[0] == exactly[1]
    # Sums in another order.
    assert other.quality.keep_and_fill == pytest.approx(one.quality.keep_and_fill, rel=1e-9, abs=1e-9)
    assert other.quality.gap_of_gain == pytest.approx(one.quality.gap_of_gain, abs=1e-6)
    mapped = [
        (a.kind, name(a.job), {(name(p.group), name(p.node), p.tasks, p.devices) for p in a.placements})
        for a in one.plan.actions
    ]
    assert [
        (a.kind, a.job, {(p.group, p.node, p.tasks, p.devices) for p in a.placements})
        for a in other.plan.actions
    ] == mapped
    assert [(v.job, v.kind, v.code) for v in other.verdicts] == [
        (name(v.job), v.kind, v.code) for v in one.verdicts
    ]


# Units


@drawn
@given(round_=rounds("small"), factor=st.sampled_from((2, 3, 1024)))
def test_the_unit_of_memory_does_not_matter(round_, factor):
    def scaled(r: Resources) -> Resources:
        return Resources(r.cpu_milli, r.memory_bytes * factor)

    def job(old: Job) -> Job:
        groups = tuple(
            replace(g, resources_per_task=scaled(g.resources_per_task)) for g in old.component.task_groups
        )
        return replace(old, component=replace(old.component, task_groups=groups))

    nodes = tuple(
        replace(
            n,
            resources=scaled(n.resources),
            used_by_others=replace(n.used_by_others, resources=scaled(n.used_by_others.resources)),
        )
        for n in round_.cluster.nodes
    )
    other = replace(
        round_,
        cluster=replace(round_.cluster, nodes=nodes),
        jobs=tuple(job(j) for j in round_.jobs),
        policy=replace(round_.policy, reference_host=scaled(round_.policy.reference_host)),
    )
    one, two = planned(round_), planned(other)
    same_optimum(one, two)
    assert [(a.kind, a.job) for a in two.plan.actions] == [(a.kind, a.job) for a in one.plan.actions]


@drawn
@given(round_=rounds("small"), shift=st.sampled_from((-500_000.0, 1e6, 2.0**20)))
def test_when_the_epoch_began_does_not_matter(round_, shift):
    """All times moved by the same number of seconds."""

    def later(time: float | None) -> float | None:
        return None if time is None else time + shift

    def job(old: Job) -> Job:
        running = old.running and replace(
            old.running,
            started_at=later(old.running.started_at),
            next_safe_point=later(old.running.next_safe_point),
            minimum_run_until=later(old.running.minimum_run_until),
        )
        interactive = old.interactive and replace(
            old.interactive, idle_since=later(old.interactive.idle_since)
        )
        return replace(
            old,
            interactive=interactive,
            submit_time=later(old.submit_time),
            deadline=later(old.deadline),
            running=running,
            gate=replace(old.gate, not_before=later(old.gate.not_before)),
            disrupted_at=tuple(time + shift for time in old.disrupted_at),
        )

    nodes = tuple(replace(n, drain_time=later(n.drain_time)) for n in round_.cluster.nodes)
    other = replace(
        round_,
        now=round_.now + shift,
        claims=tuple(replace(claim, expires_at=claim.expires_at + shift) for claim in round_.claims),
        cluster=replace(round_.cluster, nodes=nodes),
        jobs=tuple(job(j) for j in round_.jobs),
    )
    same_optimum(planned(round_), planned(other))


# What has nothing to do with it


def median_weight(round_: Round) -> float:
    weights = round_.policy.priority_weights
    return statistics.median(job.weight * weights.get(job.priority, 1.0) for job in round_.jobs)


def hopeless(round_: Round, name: str, weight: float) -> Job:
    """A job that never fits; with the median weight it changes no other's coefficient."""
    group = TaskGroup("worker", 10_000, (10_000,), 1)
    return Job(name, Component((group,)), weight=weight, priority=-7)


@drawn
@given(round_=rounds("small"))
def test_what_is_unrelated_changes_nothing(round_):
    """A cordoned node in a rack of its own, a job that never fits, a queue and a profile that nobody uses."""
    round_ = without_fairness(round_)
    tree = round_.cluster.topology
    extra = tuple(Domain(f"zz-{level}", level, None) for level in tree.levels[-1:])
    like = max(round_.cluster.nodes, key=lambda n: n.device_count)
    closed_node = replace(
        like, name="zz-node", cordoned=True, domain=extra[0].name if extra else None, revision=""
    )
    other = replace(
        round_,
        cluster=Cluster(replace(tree, domains=(*tree.domains, *extra)), (*round_.cluster.nodes, closed_node)),
        queues=(*round_.queues, Queue("zz-queue", None, 0)),
        jobs=(*round_.jobs, hopeless(round_, "zz-job", median_weight(round_))),
        profiles=(*round_.profiles, *(replace(p, name=f"zz-{p.name}") for p in round_.profiles)),
    )
    one, two = planned(round_), planned(other)
    same_optimum(one, two)
    assert "zz-job" in {v.job for v in two.verdicts}
    assert two.quality.keep_and_fill == pytest.approx(one.quality.keep_and_fill, abs=1e-9)


# What only helps


@drawn
@given(round_=rounds("small"), pick=st.integers(0, 100))
def test_another_node_never_lowers_the_optimum(round_, pick):
    round_ = without_fairness(round_)
    like: Node = round_.cluster.nodes[pick % len(round_.cluster.nodes)]
    nodes = (*round_.cluster.nodes, replace(like, name="more"))
    more = replace(round_, cluster=replace(round_.cluster, nodes=nodes))
    one, two = planned(round_), planned(more)
    assert reached(one) <= two.quality.bound + slack(two.quality.bound)
    if closed(two):
        assert reached(one) <= reached(two) + slack(reached(two))


@drawn
@given(round_=rounds("small"), pick=st.integers(0, 100))
def test_one_job_less_never_lowers_the_optimum_over_the_others(round_, pick):
    """A waiting job is taken away by making it fit nowhere, so that the median weight stays.

    Without the term fragmentation: which parts of devices are large hangs on what all jobs ask for.
    """
    round_ = without_fairness(round_)
    round_ = replace(round_, policy=replace(round_.policy, fragmentation_weight=0.0))
    waiting = [job for job in round_.jobs if job.running is None]
    assume(waiting)
    gone = waiting[pick % len(waiting)]
    never = replace(gone, component=hopeless(round_, "", 1.0).component, deadline=None)
    jobs = tuple(never if job is gone else job for job in round_.jobs)
    one, two = planned(round_), planned(replace(round_, jobs=jobs))
    own = sum(sum(a.cost_by_term.values()) for a in one.plan.actions if a.job == gone.name)
    others = one.quality.objective - own
    assert others <= two.quality.bound + slack(two.quality.bound)
    if closed(two):
        assert others <= reached(two) + slack(reached(two))


@drawn
@given(round_=rounds("small"))
def test_wider_limits_never_lower_the_optimum(round_):
    """No quota and no limit on disruptions: a relaxation."""
    free = replace(
        round_,
        queues=tuple(replace(q, device_limit=None, device_limit_by_type={}) for q in round_.queues),
        policy=replace(round_.policy, disruption_limit=None),
    )
    one, two = planned(round_), planned(free)
    assert reached(one) <= two.quality.bound + slack(two.quality.bound)
    if closed(two):
        assert reached(one) <= reached(two) + slack(reached(two))
