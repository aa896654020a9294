"""A round as arrays: classes, options, blocks, pools, and what every option is worth.

This is the only place where names become indices. Jobs are sorted by name, alike waiting jobs are one
class (decision 43), and nothing here depends on the order of the request.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.domain.job import Component, Job, TaskGroup, TaskPlacement
from gangplan.domain.plan import ForcedReason
from gangplan.domain.round import Round
from gangplan.model.as_placed import as_placed
from gangplan.model.options import Block, Demand, Isolated, Option, Site, component_options, isolated_options
from gangplan.model.present import present
from gangplan.model.program import BoolArray, FloatArray, IntArray
from gangplan.model.sites import NO_DOMAIN, Nodes, Pools, admits, build_nodes, build_pools
from gangplan.model.switching import horizon_seconds, lost_seconds
from gangplan.model.table import OptionTable
from gangplan.model.terms import terms
from gangplan.model.throughput import Speeds, build_speeds, size
from gangplan.model.weights import base_weights, normalise, rho_unserved

SPLIT_COLUMNS = 192
"""Pools whose rows are not exact are split into their nodes while that adds at most so many columns."""


@dataclass(frozen=True, slots=True)
class JobClass:
    """Alike waiting jobs, or one running job.

    Attributes:
        jobs: job indices; split back by submit time, then name (decision 43).
        options: the options, in order of enumeration.
        start: position of the first option in the instance's option arrays.
        queue: index of the queue; -1 without.
        kept: whether it is a running job that may stay where it is.
        must_stay: it may neither be evicted nor moved.
        must_run: it may not be evicted.
    """

    jobs: tuple[int, ...]
    options: tuple[Option, ...]
    start: int
    queue: int
    kept: bool
    must_stay: bool
    must_run: bool


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Everything that the programme, the greedy and the binder read.

    Attributes:
        round: the input.
        jobs: sorted by name.
        job_index: position by name.
        placements: by job index: where a job that may stay is now.
        forced: by job index: why a running job cannot stay.
        speeds: throughput of any group anywhere.
        nodes, pools: places.
        classes: what is decided.
        options: all options, class by class; "option arrays" run along them.
        class_of_job: shape (jobs,).
        gain: shape (options,), u of each option minus u of not running, in GPU-equivalents.
        option_class: shape (options,).
        keep_gain: shape (classes,), the same for KEEP; 0 for waiting classes.
        keep_use: by class: ``{node index: (devices, cpu, memory)}`` of a kept job.
        offset: value of the plan in which nothing runs.
        blocks: distinct blocks.
        block_index: position by block.
        filters: one task group of each distinct filter (selector and tolerations); blocks name them by index.
        block_pools: shape (blocks, pools), most copies that fit on one node of the pool; 0: none.
        queue_names, queue_ancestors: the quota tree; ancestors include the queue itself.
        weight: shape (jobs,), w.
    """

    round: Round
    jobs: tuple[Job, ...]
    job_index: Mapping[str, int]
    placements: Mapping[int, tuple[TaskPlacement, ...]]
    forced: Mapping[int, ForcedReason]
    speeds: Speeds
    nodes: Nodes
    pools: Pools
    classes: tuple[JobClass, ...]
    options: tuple[Option, ...]
    class_of_job: IntArray
    gain: FloatArray
    option_class: IntArray
    keep_gain: FloatArray
    keep_use: tuple[Mapping[int, tuple[int, int, int]], ...]
    offset: float
    blocks: tuple[Block, ...]
    block_index: Mapping[Block, int]
    filters: tuple[TaskGroup, ...]
    block_pools: IntArray
    queue_names: tuple[str, ...]
    queue_ancestors: tuple[tuple[int, ...], ...]
    weight: FloatArray


def build_instance(round_: Round) -> Instance:
    """Turn a valid round into arrays."""
    speeds = build_speeds(round_)
    now = present(round_)
    jobs = tuple(sorted(round_.jobs, key=lambda job: job.name))
    job_index = {job.name: j for j, job in enumerate(jobs)}
    nodes = build_nodes(round_, speeds.type_index, now.kept)
    placements = {job_index[name]: p for name, p in now.kept.items()}
    forced = {job_index[name]: reason for name, reason in now.forced.items()}
    filters = _Filters(jobs)
    site = _site(round_, nodes)
    queue_names = tuple(sorted(q.name for q in round_.queues))

    shapes = _Shapes(speeds, site, filters)
    base = base_weights(round_, jobs)
    rho = rho_unserved(round_, jobs, base, [shapes.isolated(job.component) for job in jobs], _fleet(nodes))
    weight = normalise(base * rho**round_.policy.fairness_power)
    classes = _classes(round_, jobs, shapes, weight, placements, queue_names)

    blocks = sorted({d.block for c in classes for o in c.options for d in o.demands}, key=_block_key)
    split = _split_nodes(nodes, blocks, filters)
    pools = build_pools(nodes, filters.labels, split)
    fits = _block_pools(blocks, pools, nodes, filters)
    gain, keep_gain, offset = _price(
        round_, jobs, classes, speeds, nodes, normalise(base), weight, placements
    )
    class_of_job = np.zeros(len(jobs), dtype=np.int64)
    for c, job_class in enumerate(classes):
        class_of_job[list(job_class.jobs)] = c
    return Instance(
        round=round_,
        jobs=jobs,
        job_index=job_index,
        placements=placements,
        forced=forced,
        speeds=speeds,
        nodes=nodes,
        pools=pools,
        classes=classes,
        options=tuple(option for c in classes for option in c.options),
        class_of_job=class_of_job,
        gain=gain,
        option_class=np.repeat(np.arange(len(classes)), [len(c.options) for c in classes]),
        keep_gain=keep_gain,
        keep_use=tuple(
            as_placed(jobs[c.jobs[0]], placements[c.jobs[0]], speeds, nodes).use if c.kept else {}
            for c in classes
        ),
        offset=offset,
        blocks=tuple(blocks),
        block_index={block: b for b, block in enumerate(blocks)},
        filters=tuple(filters.groups),
        block_pools=fits,
        queue_names=queue_names,
        queue_ancestors=_ancestors(round_, queue_names),
        weight=weight,
    )


class _Filters:
    """Distinct (selector, tolerations) of the task groups, and the labels that matter."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.groups: list[TaskGroup] = []
        self._index: dict[object, int] = {}
        labels: set[str] = set()
        for job in jobs:
            for group in job.component.task_groups:
                key = _filter_key(group)
                if key not in self._index:
                    self._index[key] = len(self.groups)
                    self.groups.append(group)
                    labels.update(group.node_selector)
        self.labels = frozenset(labels)

    def of(self, component: Component) -> tuple[int, ...]:
        return tuple(self._index[_filter_key(g)] for g in component.task_groups)


def _filter_key(group: TaskGroup) -> tuple[object, ...]:
    return (tuple(sorted(group.node_selector.items())), frozenset(group.tolerations))


class _Shapes:
    """Options by component shape: alike components are enumerated once."""

    def __init__(self, speeds: Speeds, site: Site, filters: _Filters) -> None:
        self._speeds, self._site, self._filters = speeds, site, filters
        self._options: dict[object, tuple[Option, ...]] = {}
        self._isolated: dict[object, tuple[Isolated, ...]] = {}

    def key(self, component: Component) -> tuple[object, ...]:
        return (
            component.required_level,
            component.preferred_level,
            tuple(
                (
                    g.count,
                    g.allowed_counts,
                    g.devices_per_task,
                    g.resources_per_task,
                    g.accelerator_types,
                    g.profile,
                    g.split,
                    f,
                )
                for g, f in zip(component.task_groups, self._filters.of(component), strict=True)
            ),
        )

    def options(self, component: Component) -> tuple[Option, ...]:
        key = self.key(component)
        if key not in self._options:
            self._options[key] = component_options(
                component, self._speeds, self._site, self._filters.of(component)
            )
        return self._options[key]

    def isolated(self, component: Component) -> tuple[Isolated, ...]:
        key = self.key(component)
        if key not in self._isolated:
            self._isolated[key] = isolated_options(component, self._speeds)
        return self._isolated[key]


def _site(round_: Round, nodes: Nodes) -> Site:
    sizes: dict[int, set[int]] = defaultdict(set)
    for i in np.flatnonzero(nodes.open):
        if nodes.type_of[i] >= 0:
            sizes[int(nodes.type_of[i])].add(int(nodes.built_in[i]))
    there = nodes.domain_at[nodes.open] != NO_DOMAIN
    scopes = range(there.shape[1])
    return Site(
        node_sizes={t: tuple(sorted(s)) for t, s in sorted(sizes.items())},
        levels=tuple(s for s in scopes if there[:, s].any()),
        everywhere=frozenset(s for s in scopes if there[:, s].all()),
        merge_types=not any(q.device_limit_by_type for q in round_.queues),
    )


def _fleet(nodes: Nodes) -> dict[int, int]:
    """Usable devices of each type in the whole cluster (C_t of decision 11)."""
    fleet: dict[int, int] = defaultdict(int)
    for i, node in enumerate(nodes.nodes):
        if nodes.type_of[i] >= 0:
            fleet[int(nodes.type_of[i])] += node.usable_device_count
    return fleet


def _classes(
    round_: Round,
    jobs: Sequence[Job],
    shapes: _Shapes,
    weight: FloatArray,
    placements: Mapping[int, tuple[TaskPlacement, ...]],
    queue_names: Sequence[str],
) -> tuple[JobClass, ...]:
    queue_index = {name: q for q, name in enumerate(queue_names)}
    grouped: dict[object, list[int]] = {}
    for j, job in enumerate(jobs):
        key: object = j
        if job.running is None:
            key = (
                shapes.key(job.component),
                job.queue,
                float(weight[j]),
                job.weight * round_.policy.priority_weights.get(job.priority, 1.0),
                job.deadline,
                job.work_left if job.deadline is not None else None,
            )
        grouped.setdefault(key, []).append(j)
    classes = []
    start = 0
    for members in grouped.values():
        members.sort(key=lambda j: (_submitted(jobs[j]), jobs[j].name))
        job = jobs[members[0]]
        options = shapes.options(job.component)
        kept = members[0] in placements
        may = job.capabilities
        if kept:
            options = _movable_options(job, placements[members[0]], options)
        queue = -1 if job.queue is None else queue_index[job.queue]
        must_run = kept and not may.pausable
        classes.append(
            JobClass(
                jobs=tuple(members),
                options=options,
                start=start,
                queue=queue,
                kept=kept,
                must_stay=must_run and not options,
                must_run=must_run,
            )
        )
        start += len(options)
    return tuple(classes)


def _submitted(job: Job) -> float:
    return float("inf") if job.submit_time is None else job.submit_time


def _movable_options(
    job: Job, placements: Sequence[TaskPlacement], options: tuple[Option, ...]
) -> tuple[Option, ...]:
    """What else a running job may become, given its capabilities (decision 9)."""
    if not job.capabilities.movable:
        return ()
    if job.capabilities.resizable:
        return options
    now = tuple(
        sum(p.tasks for p in placements if p.group == group.name) for group in job.component.task_groups
    )
    return tuple(option for option in options if option.counts == now)


def _price(
    round_: Round,
    jobs: Sequence[Job],
    classes: Sequence[JobClass],
    speeds: Speeds,
    nodes: Nodes,
    base: FloatArray,
    weight: FloatArray,
    placements: Mapping[int, tuple[TaskPlacement, ...]],
) -> tuple[FloatArray, FloatArray, float]:
    """U of every option and of KEEP over not running, and the value of running nothing."""
    rows: list[tuple[float, ...]] = []
    gamma = round_.policy.size_exponent
    for job_class in classes:
        j = job_class.jobs[0]
        job = jobs[j]
        req = size(job.component, round_.policy.reference_host)
        common = (req, float(base[j]), float(weight[j]))
        held = restart = lost = 0.0
        horizon = round_.round_seconds
        if job_class.kept:
            kept_option = as_placed(job, placements[j], speeds, nodes)
            held = float(kept_option.devices) or req
            restart, lost = job.restart_seconds, lost_seconds(job, round_)
            horizon = horizon_seconds(job, round_, kept_option.throughput)
            rate = _rate_needed(job, round_, 0.0)
            value = req**gamma * kept_option.relative
            rows.append(
                (value, *common, kept_option.throughput, rate, kept_option.wider_than_preferred, 0.0, horizon)
            )
            rows.append((0.0, *common, 0.0, np.inf, False, (lost + restart) * held, horizon))
        delay = job.restart_seconds if job.running is not None else 0.0
        rate = _rate_needed(job, round_, delay)
        for option in job_class.options:
            value = req**gamma * option.relative
            now_held = float(option.devices) or req
            stop = lost * held + restart * now_held if job_class.kept else 0.0
            rows.append((value, *common, option.throughput, rate, option.wider_than_preferred, stop, horizon))
    u = _coefficients(round_, rows)
    gain, keep_gain, offset, at = [], [], 0.0, 0
    for job_class in classes:
        idle = 0.0
        if job_class.kept:
            idle = float(u[at + 1])
            keep_gain.append(float(u[at]) - idle)
            offset += idle
            at += 2
        else:
            keep_gain.append(0.0)
        gain.append(u[at : at + len(job_class.options)] - idle)
        at += len(job_class.options)
    return (
        np.concatenate(gain) if gain else np.zeros(0),
        np.array(keep_gain, dtype=np.float64),
        offset,
    )


def _coefficients(round_: Round, rows: Sequence[tuple[float, ...]]) -> FloatArray:
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), 9).T
    table = OptionTable(
        value=columns[0],
        size=columns[1],
        base=columns[2],
        weight=columns[3],
        throughput=columns[4],
        rate_needed=columns[5],
        wider_than_preferred=columns[6].astype(np.bool_),
        lost_device_seconds=columns[7],
        horizon_seconds=columns[8],
    )
    total = np.zeros(len(rows), dtype=np.float64)
    for term in terms():
        total += term.weight(round_.policy) * term.coefficients(table)
    return total


def _rate_needed(job: Job, round_: Round, delay: float) -> float:
    """Work units per second that the deadline still needs; infinite when none can be met."""
    if job.deadline is None or job.work_left is None:
        return float("inf")
    left = job.deadline - round_.now - delay
    return job.work_left / left if left > 0 else float("inf")


def _block_key(block: Block) -> tuple[object, ...]:
    return (block.demand, block.types, block.built_in, block.filters)


def _split_nodes(
    nodes: Nodes,
    blocks: Sequence[Block],
    filters: _Filters,
) -> BoolArray:
    """Nodes that must be pools of their own, since counting them would not be exact.

    Counting is exact for a pool when the device sizes that go there form a chain of divisors and neither
    CPU nor memory can bind before devices do (decision 28). Other pools are split while they are small.
    """
    coarse = build_pools(nodes, filters.labels, np.zeros(len(nodes.nodes), dtype=np.bool_))
    fits = _block_pools(blocks, coarse, nodes, filters)
    split = np.zeros(len(nodes.nodes), dtype=np.bool_)
    extra = (fits > 0).sum(axis=0) * (coarse.size - 1)
    crowded = np.flatnonzero(~_countable_pools(blocks, coarse, fits) & (coarse.size > 1))
    spent = 0
    for p in crowded[np.argsort(extra[crowded], kind="stable")].tolist():
        spent += int(extra[p])
        if spent > SPLIT_COLUMNS:
            break
        split[coarse.members[p]] = True
    return split


def _countable_pools(blocks: Sequence[Block], pools: Pools, fits: IntArray) -> BoolArray:
    """Pools in which counting is exact, shape (pools,)."""
    return np.array(
        [
            _countable([blocks[b] for b in np.flatnonzero(fits[:, p]).tolist()], pools.capacity[p])
            for p in range(pools.count)
        ],
        dtype=np.bool_,
    )


def _countable(blocks: Sequence[Block], capacity: IntArray) -> bool:
    sizes = sorted({b.demand[0] for b in blocks if b.demand[0]})
    if any(large % small for small, large in itertools.pairwise(sizes)):
        return False
    devices = int(capacity[0])
    for block in blocks:
        for r in (1, 2):
            if block.demand[r] * devices > int(capacity[r]) * block.demand[0]:
                return False
    return True


def _block_pools(blocks: Sequence[Block], pools: Pools, nodes: Nodes, filters: _Filters) -> IntArray:
    """Most copies of each block that fit on one empty node of each pool, shape (blocks, pools)."""
    fits = np.zeros((len(blocks), pools.count), dtype=np.int64)
    passes = np.array(
        [
            [admits(nodes.nodes[pools.members[p][0]], group) for p in range(pools.count)]
            for group in filters.groups
        ],
        dtype=np.bool_,
    ).reshape(len(filters.groups), pools.count)
    for b, block in enumerate(blocks):
        ok = passes[list(block.filters)].all(axis=0)
        if block.types:
            ok &= np.isin(pools.type_of, block.types)
        if block.built_in:
            ok &= pools.built_in == block.built_in
        copies = np.full(pools.count, np.iinfo(np.int64).max, dtype=np.int64)
        for r, amount in enumerate(block.demand):
            if amount:
                copies = np.minimum(copies, pools.capacity[:, r] // amount)
        fits[b] = np.where(ok, copies, 0)
    return fits


def _ancestors(round_: Round, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    parent = {queue.name: queue.parent for queue in round_.queues}
    index = {name: q for q, name in enumerate(names)}
    chains = []
    for name in names:
        chain: list[int] = []
        here: str | None = name
        while here is not None:
            chain.append(index[here])
            here = parent[here]
        chains.append(tuple(chain))
    return tuple(chains)


__all__ = ["Demand", "Instance", "JobClass", "build_instance"]
