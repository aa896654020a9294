"""A round as arrays: classes, options, blocks, pools, and what every option is worth.

This is the only place where names become indices. Jobs are sorted by name, alike waiting jobs are one
class (decision 43), and nothing here depends on the order of the request.
"""

from __future__ import annotations

import itertools
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter, eq
from typing import NamedTuple

import numpy as np

from gangplan.columns import Columns, columns_of
from gangplan.domain.job import Job, TaskGroup, TaskPlacement
from gangplan.domain.plan import ForcedReason
from gangplan.domain.round import Round
from gangplan.garbage import collector_held_off
from gangplan.kept import Kept
from gangplan.model.instance.as_placed import as_placed, stay_placed
from gangplan.model.instance.claimed import claimed
from gangplan.model.instance.entitlement import Entitlement
from gangplan.model.instance.gates import as_they_may, gated
from gangplan.model.instance.guarantees import Guarantees, Holders, build_guarantees
from gangplan.model.instance.keeps import Keeps, flatten_keeps
from gangplan.model.instance.kinds import build_kinds
from gangplan.model.instance.limits import Limits, build_limits
from gangplan.model.instance.members import Members, alike_in_policy, members
from gangplan.model.instance.options import Block, Option, Site
from gangplan.model.instance.present import present
from gangplan.model.instance.pricing import Pricing
from gangplan.model.instance.promises import over_run_limit, promised
from gangplan.model.instance.shapes import ShapeTable, build_shapes
from gangplan.model.instance.sites import (
    CPU_ONLY,
    NO_DOMAIN,
    Nodes,
    Pools,
    Vector,
    admits,
    build_pools,
    empty_nodes,
    hold,
    hold_too,
)
from gangplan.model.instance.spots import build_spots
from gangplan.model.instance.standing import build_standings
from gangplan.model.instance.throughput import Speeds, build_speeds
from gangplan.model.instance.tiers import tier_weights
from gangplan.model.instance.weights import base_weights, build_weights
from gangplan.model.program import BoolArray, FloatArray, IntArray

_PAUSABLE, _MOVABLE, _RESIZABLE = range(3)
SPLIT_COLUMNS = 192
"""Pools whose rows are not exact are split into their nodes while that adds at most so many columns, and"""
SMALL_PROGRAMME = 1_500
"""beyond that while options and block columns together stay below this."""


class JobClass(NamedTuple):
    """Alike waiting jobs, or one running job.

    Attributes:
        jobs: job indices; split back by submit time, then name (decision 43).
        start, stop: its options in the instance's option arrays.
        queue: index of the queue; -1 without.
        kept: whether it is a running job that may stay where it is, or a waiting one that has a claim there.
        must_stay: it may neither be evicted nor moved.
        must_run: it may not be evicted.
    """

    jobs: tuple[int, ...]
    start: int
    stop: int
    queue: int
    kept: bool
    must_stay: bool
    must_run: bool


_NOTHING: Mapping[int, Vector] = {}


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Everything that the programme, the greedy and the binder read.

    Option arrays run along all options of all classes, class by class.

    Attributes:
        round: the input.
        jobs: sorted by name; what may not be done to a running one now is not among its capabilities, and who
            may not go where a place is promised selects other nodes.
        gated: names of those that may not start.
        job_index: position by name.
        placements: by job index: where a job that may stay is now, or has a claim, or a promise that is due.
        forced: by job index: why a running job cannot stay.
        speeds: throughput of any group anywhere.
        nodes, pools: places.
        classes: what is decided.
        first: shape (classes,), a job of each, the first to start.
        queue: shape (classes,), index of the queue; -1 without.
        must_run: shape (classes,), whether a running job may not be evicted.
        class_of_job: shape (jobs,).
        members: shape (classes,), jobs of each class.
        kept: shape (classes,), whether it is a running job that may stay.
        distinct: distinct options; many jobs share one.
        option: shape (options,), index into ``distinct``.
        option_class: shape (options,).
        devices: shape (options,), in parts.
        throughput_at: shape (options, scopes), work units per second at every scope; NaN where that hangs on
            which of several types it gets.
        relative: shape (options,), X / X_ref.
        throughput: shape (options,), X, work units per second.
        gain: shape (options,), u of each option minus u of not running, in GPU-equivalents.
        keep_gain: shape (classes,), the same for KEEP; 0 for waiting classes.
        keep_use: by class: ``{node index: (devices, cpu, memory)}`` of a kept job.
        keeps: the same as flat arrays.
        offset: value of the plan in which nothing runs.
        blocks: distinct blocks.
        block_index: position by block.
        filters: one task group of each distinct filter (selector and tolerations); blocks name them by index.
        block_pools: shape (blocks, pools), most copies that fit on one node of the pool; 0: none.
        limits: who counts under which device limit.
        weight: shape (jobs,), w.
        guarantees: devices that queues are guaranteed, and who holds how many under them.
        tiers: shape (tiers, classes), what a member that runs counts in each tier.
        floors: least count of every tier that is decided.
        guarantee_floors: what queues have at least of the devices they are guaranteed, once that is decided.
        fair_rate: shape (jobs,), x_iso: work units per second of the job's fair self (decision 11).
        free_from: jobs from this index on are blocks to be left free (``free_blocks.py``), of which no plan
            and no answer tells.
    """

    round: Round
    jobs: tuple[Job, ...]
    gated: frozenset[str]
    job_index: Mapping[str, int]
    placements: Mapping[int, tuple[TaskPlacement, ...]]
    forced: Mapping[int, ForcedReason]
    speeds: Speeds
    nodes: Nodes
    pools: Pools
    classes: tuple[JobClass, ...]
    first: IntArray
    queue: IntArray
    must_run: BoolArray
    class_of_job: IntArray
    members: IntArray
    kept: BoolArray
    distinct: tuple[Option, ...]
    option: IntArray
    option_class: IntArray
    devices: IntArray
    throughput_at: FloatArray
    relative: FloatArray
    throughput: FloatArray
    gain: FloatArray
    keep_gain: FloatArray
    keep_use: tuple[Mapping[int, Vector], ...]
    keeps: Keeps
    offset: float
    blocks: tuple[Block, ...]
    block_index: Mapping[Block, int]
    filters: tuple[TaskGroup, ...]
    block_pools: IntArray
    limits: Limits
    weight: FloatArray
    fair_rate: FloatArray
    guarantees: Guarantees
    tiers: FloatArray
    floors: tuple[float, ...] = ()
    guarantee_floors: Mapping[str, float] = field(default_factory=dict)
    free_from: int = sys.maxsize

    def option_at(self, k: int) -> Option:
        """The option at position ``k`` of the option arrays."""
        return self.distinct[int(self.option[k])]

    def options_of(self, job_class: JobClass) -> list[Option]:
        """The options of a class."""
        return [self.distinct[o] for o in self.option[job_class.start : job_class.stop].tolist()]


def build_instance(round_: Round, kept: Kept | None = None) -> Instance:
    """Turn a valid round into arrays.

    Args:
        round_: the round.
        kept: what an earlier round left to this one; the arrays are the same without. None: nothing.
    """
    with collector_held_off():
        return _build_instance(round_, kept or Kept())


def _build_instance(round_: Round, kept: Kept) -> Instance:
    host = round_.policy.reference_host
    speeds = kept.once(
        "speeds",
        (round_.accelerators, round_.cluster.topology, round_.profiles, host.cpu_milli, host.memory_bytes),
        lambda: build_speeds(round_),
    )
    closed = gated(round_.jobs, round_.now) | over_run_limit(round_, speeds)
    asked = round_
    round_, now, rooms = promised(round_, present(round_, kept), closed, speeds)
    ordered = sorted(round_.jobs, key=attrgetter("name"))
    fields = columns_of(kept, "jobs", ordered)
    components = tuple(map(attrgetter("component"), ordered))
    kinds = kept.once("kinds", components, lambda: build_kinds(components))
    parts = kinds.parts
    empty = empty_nodes(round_, speeds.type_index, parts, kept)
    job_index = {job.name: j for j, job in enumerate(ordered)}
    staying = [job for job in round_.jobs if job.name in now.kept]
    spots = build_spots(staying, now.kept, job_index, kinds, empty, kept)
    nodes = hold(empty, spots.node, spots.amounts)
    limits = build_limits(round_, now.kept, nodes, rooms.limits)
    queue_of_job = limits.of_all(fields)
    claims = claimed(round_, now.kept, spots, queue_of_job, closed, speeds, empty, nodes, limits)
    if claims:
        nodes = hold_too(nodes, [job for job in round_.jobs if job.name in claims], claims)
    bound = as_they_may(fields, round_, closed, {job_index[name] for name in claims}, rooms.frozen)
    jobs = tuple(bound.get(j, job) for j, job in enumerate(ordered)) if bound else tuple(ordered)
    placements = {job_index[name]: p for name, p in {**now.kept, **claims}.items()}

    base = base_weights(round_, fields)
    waits = np.zeros(len(jobs), dtype=np.bool_)
    waits[[job_index[name] for name in closed if jobs[job_index[name]].running is None]] = True
    contending = float(base[~waits].sum())
    shares = base / contending if contending else base
    fleet = _fleet(empty)
    site = kept.alike("site", _site(round_, nodes, limits), eq)
    shapes = build_shapes(kinds, speeds, site, shares, fleet, kept)
    entitlement = Entitlement(round_, jobs, np.where(waits, 0.0, base), speeds, fleet)
    fair_rate = np.where(waits, 0.0, shapes.fair_rate)
    standings = build_standings(round_, fields, fair_rate, shapes.reference, entitlement)
    weights = build_weights(round_.policy, base, standings)

    held = np.zeros(len(jobs), dtype=np.bool_)
    held[list(placements)] = True
    alone = held | fields.has("running")
    waiting = np.flatnonzero(~alone)
    alike = alike_in_policy(round_, fields, waiting, closed, limits)
    own = (shapes.shape_of_job, *weights.keys())
    together = members(fields, alone, [*alike, *(values[waiting] for values in own)])
    first = together.first
    may = _may(fields, bound)[first]
    kept_class, queue = held[first], queue_of_job[first]
    must_run = kept_class & ~may[:, _PAUSABLE]
    entries, count = _entries(jobs, first, shapes, placements, kept_class, may, closed)
    classes = _classes(together, count, queue, kept_class, must_run)
    option_class = np.repeat(np.arange(len(classes)), count)
    placed = stay_placed(staying, spots, shapes, speeds, nodes, kept)
    stays = dict(zip(spots.jobs.tolist(), placed, strict=True))
    where = np.flatnonzero(kept_class)
    now_placed = {
        c: stays.get(j) or as_placed(jobs[j], placements[j], speeds, nodes)
        for c, j in zip(where.tolist(), first[where].tolist(), strict=True)
    }
    option = shapes.option[entries]
    devices = np.array([o.devices for o in shapes.options], dtype=np.int64)[option]
    pricing = Pricing(round_, fields, first, speeds, now_placed, weights, nodes, kinds)
    gain, keep_gain, offset = pricing.gains(shapes, entries, option_class, option)

    blocks = sort_blocks({d.block for o in shapes.options for d in o.demands})
    capacity = kept.alike("capacity", nodes.capacity, np.array_equal)
    pools = kept.once(
        "pools",
        (empty, capacity, kinds.labels),
        lambda: build_pools(nodes, kinds.labels, np.zeros(len(nodes.nodes), dtype=np.bool_)),
    )
    fits = block_pools(blocks, pools, nodes, kinds.groups)
    rooted = [
        now_placed[c].use for c in np.flatnonzero(kept_class & ~may[:, _MOVABLE] & (count > 0)).tolist()
    ]
    split = _split_nodes(nodes, blocks, pools, fits, shapes.options, len(option), rooted)
    if split.any():
        pools = build_pools(nodes, kinds.labels, split)
        fits = block_pools(blocks, pools, nodes, kinds.groups)
    keeps = flatten_keeps(now_placed, len(classes), nodes.type_of, len(speeds.type_names))
    stayers = np.fromiter(now_placed, dtype=np.int64, count=len(now_placed))
    keep_use: list[Mapping[int, Vector]] = [_NOTHING] * len(classes)
    for c, there in now_placed.items():
        keep_use[c] = there.use
    return Instance(
        round=asked,
        jobs=jobs,
        gated=closed,
        job_index=job_index,
        placements=placements,
        forced={job_index[name]: reason for name, reason in now.forced.items()},
        speeds=speeds,
        nodes=nodes,
        pools=pools,
        classes=classes,
        first=first,
        queue=queue,
        must_run=must_run,
        class_of_job=together.class_of_job,
        members=together.size,
        kept=kept_class,
        distinct=shapes.options,
        option=option,
        option_class=option_class,
        devices=devices,
        throughput_at=shapes.throughput_at[entries],
        relative=shapes.relative[entries],
        throughput=shapes.throughput[entries],
        gain=gain,
        keep_gain=keep_gain,
        keep_use=tuple(keep_use),
        keeps=keeps,
        offset=offset,
        blocks=blocks,
        block_index={block: b for b, block in enumerate(blocks)},
        filters=kinds.groups,
        block_pools=fits,
        limits=limits,
        weight=weights.weight,
        guarantees=build_guarantees(
            limits,
            parts,
            together.size,
            queue,
            Holders(stayers, keeps.devices[stayers, -1]),
            Holders(option_class, devices),
        ),
        tiers=tier_weights(round_.policy, jobs, first),
        fair_rate=fair_rate,
    )


def _site(round_: Round, nodes: Nodes, limits: Limits) -> Site:
    prices = {entry.price_micros_per_hour or 0 for entry in round_.accelerators}
    priced = round_.policy.cost_weight > 0.0 and len(prices) > 1
    sizes: dict[int, set[int]] = defaultdict(set)
    for i in np.flatnonzero(nodes.open):
        if nodes.type_of[i] >= 0:
            sizes[int(nodes.type_of[i])].add(int(nodes.built_in[i]))
    there = nodes.domain_at[nodes.open] != NO_DOMAIN
    scopes = range(there.shape[1])
    return Site(
        node_sizes={t: tuple(sorted(s)) for t, s in sorted(sizes.items())},
        scopes=there.shape[1],
        levels=tuple(s for s in scopes if there[:, s].any()),
        everywhere=frozenset(s for s in scopes if there[:, s].all()),
        merge_types=not (priced or any(q.device_limit_by_type for q in limits.queues.values())),
        parts=nodes.parts,
    )


def _fleet(nodes: Nodes) -> dict[int, int]:
    """Usable devices of each type in the whole cluster (C_t of decision 11); ``nodes`` hold nothing yet."""
    found = np.zeros(int(nodes.type_of.max(initial=CPU_ONLY)) + 1, dtype=np.int64)
    some = nodes.type_of != CPU_ONLY
    np.add.at(found, nodes.type_of[some], nodes.capacity[some, 0] // nodes.parts)
    return dict(enumerate(found.tolist()))


def _may(jobs: Columns[Job], bound: Mapping[int, Job]) -> BoolArray:
    """Whether each job may be paused, moved and resized, shape (jobs, 3); those ``bound`` as they are now."""
    found = jobs.of("capabilities", _capabilities)
    if bound:
        found = found.copy()
        found[list(bound)] = _capabilities(list(bound.values()))
    return found


def _capabilities(jobs: Sequence[Job]) -> BoolArray:
    fields = attrgetter("pausable", "movable", "resizable")
    return np.array(list(map(fields, map(attrgetter("capabilities"), jobs))), dtype=np.bool_).reshape(-1, 3)


def _entries(
    jobs: Sequence[Job],
    first: IntArray,
    shapes: ShapeTable,
    placements: Mapping[int, tuple[TaskPlacement, ...]],
    kept: BoolArray,
    may: BoolArray,
    closed: Collection[str],
) -> tuple[IntArray, IntArray]:
    """The shape table's entries that are the options of every class, and how many each has.

    Args:
        jobs: all.
        first: shape (classes,), a job of each.
        shapes: of all jobs.
        placements: by job index: where who may stay is.
        kept: shape (classes,), who may stay.
        may: shape (classes, 3), whether they may be paused, moved and resized.
        closed: names of jobs that may not start, which have no options.
    """
    shape = shapes.shape_of_job[first]
    begin, count = shapes.start[shape], shapes.start[shape + 1] - shapes.start[shape]
    bound: dict[int, IntArray] = {}
    for c in np.flatnonzero(kept & ~(may[:, _MOVABLE] & may[:, _RESIZABLE])).tolist():
        mine, j = np.arange(begin[c], begin[c] + count[c]), int(first[c])
        bound[c] = _movable(jobs[j], placements[j], shapes, mine)
    if closed:
        for c in [c for c, j in enumerate(first.tolist()) if jobs[j].name in closed and c not in bound]:
            bound[c] = np.zeros(0, dtype=np.int64)
    for c, mine in bound.items():
        count[c] = len(mine)
    stop = np.cumsum(count)
    entries = np.repeat(begin - (stop - count), count) + np.arange(int(count.sum()))
    for c, mine in bound.items():
        entries[stop[c] - len(mine) : stop[c]] = mine
    return entries, count


def _classes(
    together: Members, count: IntArray, queue: IntArray, kept: BoolArray, must_run: BoolArray
) -> tuple[JobClass, ...]:
    """The classes, each with ``count`` options."""
    stop = np.cumsum(count)
    arrays = (stop - count, stop, queue, kept, must_run & (count == 0), must_run)
    of = zip(together.tuples(), *[array.tolist() for array in arrays], strict=True)
    return tuple(map(JobClass._make, of))


def _movable(
    job: Job, placements: Sequence[TaskPlacement], shapes: ShapeTable, entries: IntArray
) -> IntArray:
    """What else a running job that may not be moved or not be resized may become (decision 9).

    One that may be resized but not moved gets its other counts wherever they are, which can only raise the
    bound; the binder takes them in place only.
    """
    may = job.capabilities
    now = tuple(
        sum(p.tasks for p in placements if p.group == group.name) for group in job.component.task_groups
    )
    alike = np.array(
        [shapes.options[o].counts == now for o in shapes.option[entries].tolist()], dtype=np.bool_
    )
    if may.movable:
        return entries[alike]
    return entries[~alike] if may.resizable else entries[:0]


def sort_blocks(blocks: Collection[Block]) -> tuple[Block, ...]:
    """Blocks in the order in which an instance has them."""
    return tuple(sorted(blocks, key=lambda b: (b.demand, b.types, b.built_in, b.filters)))


def _split_nodes(
    nodes: Nodes,
    blocks: Sequence[Block],
    coarse: Pools,
    fits: IntArray,
    distinct: Sequence[Option],
    options: int,
    rooted: Sequence[Collection[int]],
) -> BoolArray:
    """Nodes that must be pools of their own, since counting them would not be exact.

    Counting is exact for a pool when the device sizes that go there form a chain of divisors, neither CPU nor
    memory can bind before devices do (decision 28), and no gang must keep off a single node. Other pools are
    split while they are small. The nodes of a job that may be resized but not moved must be told apart, too
    (decision 18): its next nodes are those it has, or some of them.

    ``coarse`` are the pools with no node split, ``fits`` the copies of each block on one node of them, and
    ``rooted`` the nodes of every job that may be resized but not moved.
    """
    node_scope = nodes.domain_at.shape[1] - 1
    spread = {d.block for option in distinct if node_scope in option.apart for d in option.demands}
    split = np.zeros(len(nodes.nodes), dtype=np.bool_)
    extra = (fits > 0).sum(axis=0) * (coarse.size - 1)
    crowded = np.flatnonzero(~_countable_pools(blocks, coarse, fits, spread, nodes.parts) & (coarse.size > 1))
    most = max(SPLIT_COLUMNS, SMALL_PROGRAMME - options - int((fits > 0).sum()))
    spent = 0
    for p in crowded[np.argsort(extra[crowded], kind="stable")].tolist():
        spent += int(extra[p])
        if spent > most:
            break
        split[coarse.members[p]] = True
    columns = (fits > 0).sum(axis=0)
    spent = 0
    for held in sorted(rooted, key=len):
        mine = [n for n in held if coarse.pool_of[n] >= 0 and not split[n]]
        spent += sum(int(columns[coarse.pool_of[n]]) for n in mine if coarse.size[coarse.pool_of[n]] > 1)
        if spent > most:
            break
        split[mine] = True
    return split


def _countable_pools(
    blocks: Sequence[Block], pools: Pools, fits: IntArray, spread: Collection[Block], parts: int
) -> BoolArray:
    """Pools in which counting is exact, shape (pools,)."""
    found = np.ones(pools.count, dtype=np.bool_)
    for p in range(pools.count):
        here = [blocks[b] for b in np.flatnonzero(fits[:, p]).tolist()]
        found[p] = _countable(here, pools.capacity[p], parts) and not any(block in spread for block in here)
    return found


def _countable(blocks: Sequence[Block], capacity: IntArray, parts: int) -> bool:
    sizes = sorted({b.demand[0] for b in blocks if b.demand[0]} | {parts})
    if any(large % small for small, large in itertools.pairwise(sizes)):
        return False
    devices = max(1, int(capacity[0]))
    for block in blocks:
        for r in (1, 2):
            if block.demand[r] * devices > int(capacity[r]) * block.demand[0]:
                return False
    return True


def count_alike_nodes(instance: Instance) -> Instance:
    """The same round with no pool split: smaller, and less exact; the same where none is split."""
    labels = frozenset(label for group in instance.filters for label in group.node_selector)
    pools = build_pools(instance.nodes, labels, np.zeros(len(instance.nodes.nodes), dtype=np.bool_))
    if pools.count == instance.pools.count:
        return instance
    fits = block_pools(instance.blocks, pools, instance.nodes, instance.filters)
    return replace(instance, pools=pools, block_pools=fits)


def block_pools(
    blocks: Sequence[Block], pools: Pools, nodes: Nodes, filters: Sequence[TaskGroup]
) -> IntArray:
    """Most copies of each block that fit on one empty node of each pool, shape (blocks, pools)."""
    fits = np.zeros((len(blocks), pools.count), dtype=np.int64)
    passes = np.array(
        [[admits(nodes.nodes[pools.members[p][0]], group) for p in range(pools.count)] for group in filters],
        dtype=np.bool_,
    ).reshape(len(filters), pools.count)
    served: dict[tuple[int, ...], BoolArray] = {}
    for b, block in enumerate(blocks):
        ok = passes[block.filters[0]] if len(block.filters) == 1 else passes[list(block.filters)].all(axis=0)
        if block.types:
            if block.types not in served:
                served[block.types] = np.isin(pools.type_of, block.types)
            ok = ok & served[block.types]
        if block.built_in:
            ok = ok & (pools.built_in == block.built_in)
        if block.demand[0] % nodes.parts:
            ok = ok & pools.exact
        fits[b] = ok
    demand = np.array([block.demand for block in blocks], dtype=np.int64).reshape(len(blocks), 3)
    copies = np.full(fits.shape, np.iinfo(np.int64).max, dtype=np.int64)
    for r, amount in enumerate(demand.T):
        asked = np.flatnonzero(amount)
        copies[asked] = np.minimum(copies[asked], pools.capacity[:, r] // amount[asked, None])
    fits *= copies
    return fits
