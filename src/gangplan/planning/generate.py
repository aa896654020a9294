"""Seeded benchmark instances of five sizes: clusters, jobs and a present state with one known mix.

The mix: four accelerator types (speeds 1, .55, .32, .16; 40, 30, 20 and 10 % of the devices; the last in
nodes of 4 devices, the others of 8) in racks of one type; 70 % of the jobs ask for 1 device, 10 % for 2, 8
% for 4, 8 % for 8 and 4 % for 16 to 256; 40 % are elastic between half and twice their request; each (job,
type) pair is forbidden with a chance of 10 %, except on the first type; 20 % carry deadlines; priorities 1,
2 and 4; Zipf tenants with hard device limits; throughput that falls with spread; restart costs. Together
the jobs ask for two to three times the cluster.

Two present states. ``steady``: the greedy placement of the round before, from which random jobs departed
(their places in the list are taken by new arrivals) until half, or 85 %, of the devices are held.
``random``: random jobs on random types on half of the devices, which no scheduler would have left behind:
the best plan stops half of it. A hard family may be named there, too, for the steady state of another mix:
:mod:`~gangplan.planning.families`.

The finish-time ratio rho (decision 11) of the jobs is log-normal with a spread of 0.5, clipped to [0.3, 4],
and moved by another 0.15 for jobs that stayed. It cannot be set: submit time, work and fair progress are
chosen so that the formula yields it (see :func:`_histories`).

Same arguments, same instance, as long as numpy keeps its random streams.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from gangplan.domain.cluster import AcceleratorType, Cluster, Node, Resources
from gangplan.domain.job import (
    Component,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
    TaskSplit,
    ThroughputProfile,
)
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, NODE, Domain, Topology
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.garbage import collector_held_off
from gangplan.planning.families import FAMILIES, PLAIN, Mix

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

NOW = 1_767_225_600.0
"""Start of 2026, UTC: the clock of every generated round."""
ROUND_SECONDS = 300.0
HORIZON_SECONDS = 3600.0

TYPES = ("gen4", "gen3", "gen2", "gen1")
SPEEDS = np.array([1.0, 0.55, 0.32, 0.16])
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
STARTS = ("steady", "random", *FAMILIES)
PRIORITY_WEIGHTS = {0: 1.0, 1: 2.0, 2: 4.0}
_PRIORITY_MIX = (0.7, 0.2, 0.1)
_CPU_PER_DEVICE = 12
_MEMORY_PER_DEVICE = 96 * 2**30
_SCOPES = (NODE, "rack", "spine", CLUSTER)
_DEADLINE_WEIGHT = Policy().deadline_weight


@dataclass(frozen=True, slots=True)
class Size:
    """How large an instance is.

    Attributes:
        name: one of :data:`SIZES`, or a name of your own.
        devices: at least this many; racks are filled up.
        jobs: running and waiting.
        nodes_per_rack: nodes in every rack.
        racks_per_spine: racks under every spine but the last.
        largest_job: most devices that a job asks for, a power of two.
        tenant_share: most of the cluster that one tenant may hold, 0 to 1.
    """

    name: str
    devices: int
    jobs: int
    nodes_per_rack: int = 32
    racks_per_spine: int = 8
    largest_job: int = 256
    tenant_share: float = 0.35


SIZES = {
    size.name: size
    for size in (
        Size("S", 64, 60, 2, 2, largest_job=32, tenant_share=0.5),
        Size("M", 512, 400, 8, 4, largest_job=64),
        Size("L", 2048, 1500),
        Size("XL", 16_384, 8000),
        Size("XXL", 100_000, 50_000),
    )
}


@dataclass(frozen=True, slots=True)
class InstanceName:
    """What names an instance; written ``L/steady/85/seed3`` (decision 45).

    Attributes:
        size: one of :data:`SIZES`.
        start: one of :data:`STARTS`.
        occupancy_percent: share of the devices that running jobs hold.
        seed: of the random stream.
    """

    size: str
    start: str = "steady"
    occupancy_percent: int = 50
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.size}/{self.start}/{self.occupancy_percent}/seed{self.seed}"

    @classmethod
    def parse(cls, text: str) -> InstanceName:
        """Read ``SIZE/START/OCCUPANCY/seedN``.

        Raises:
            InvalidInputError: the text has another form, or names what does not exist.
        """
        match = re.fullmatch(r"([A-Z]+)/([a-z0-9-]+)/(\d{1,3})/seed(\d{1,9})", text)
        known = match is not None and match[1] in SIZES and match[2] in STARTS
        if match is None or not known or int(match[3]) > 100:
            sizes, starts = ", ".join(SIZES), ", ".join(STARTS)
            raise InvalidInputError(
                [
                    FieldViolation(
                        "instance",
                        f"{text!r} is not SIZE/START/OCCUPANCY/seedN, e.g. M/steady/50/seed0 "
                        f"(sizes: {sizes}; starts: {starts})",
                    )
                ]
            )
        return cls(match[1], match[2], int(match[3]), int(match[4]))


def generate(
    size: str | Size,
    *,
    start: str = "steady",
    occupancy: float = 0.5,
    seed: int = 0,
    host_limits: bool = False,
) -> Round:
    """Make the instance of that size, start, occupancy and seed.

    Args:
        size: a name of :data:`SIZES`, or a size of your own.
        start: ``steady``, ``random`` or a hard family, see the module's text.
        occupancy: share of the devices that running jobs hold at most, 0 to 1.
        seed: of the random stream, not negative.
        host_limits: whether jobs ask for CPU and memory too, a tenth of them for more than their share.

    Raises:
        InvalidInputError: an argument is out of its range.
    """
    violations = []
    if isinstance(size, str) and size not in SIZES:
        violations.append(FieldViolation("size", f"{size!r} is not one of {', '.join(SIZES)}"))
    if start not in STARTS:
        violations.append(FieldViolation("start", f"{start!r} is not one of {', '.join(STARTS)}"))
    if not 0 <= occupancy <= 1:
        violations.append(FieldViolation("occupancy", f"{occupancy} is not between 0 and 1"))
    if seed < 0:
        violations.append(FieldViolation("seed", f"{seed} is negative"))
    if violations:
        raise InvalidInputError(violations)
    rng = np.random.default_rng(seed)
    mix = FAMILIES.get(start, PLAIN)
    host_limits = host_limits or mix.host_limits
    given = SIZES[size] if isinstance(size, str) else size
    site = _build_site(replace(given, nodes_per_rack=mix.nodes_per_rack or given.nodes_per_rack), mix, rng)
    crowd = _draw_crowd(site, rng, host_limits=host_limits)
    if mix.any_count:
        crowd.ask(mix.spread_counts(crowd.requested, np.random.default_rng([seed, 3])), site)
    columns = _build_columns(site, crowd)
    floor = _Floor(site, crowd)
    if start == "random":
        _place_at_random(columns, site, floor, occupancy, rng)
    else:
        _place_greedily(columns, site, crowd, floor)
        _depart(crowd, site, floor, occupancy, np.random.default_rng([seed, 1]))
    with collector_held_off():
        made = _to_round(
            site, crowd, columns, floor, np.random.default_rng([seed, 2]), host_limits=host_limits
        )
    return made if mix.finish is None else mix.finish(made, np.random.default_rng([seed, 4]))


def generate_named(name: str | InstanceName) -> Round:
    """Make the instance named like ``L/steady/85/seed3``."""
    instance = InstanceName.parse(name) if isinstance(name, str) else name
    return generate(
        instance.size, start=instance.start, occupancy=instance.occupancy_percent / 100, seed=instance.seed
    )


@dataclass(frozen=True, slots=True)
class _Site:
    """The cluster as arrays; racks hold one type, nodes are numbered rack by rack."""

    size: Size
    mix: Mix
    rack_type: IntArray
    """Shape (racks,)."""
    rack_spine: IntArray
    """Shape (racks,)."""
    node_rack: IntArray
    """Shape (nodes,)."""
    node_type: IntArray
    """Shape (nodes,)."""
    node_devices: IntArray
    """Shape (nodes,)."""

    @property
    def devices(self) -> int:
        return int(self.node_devices.sum())

    @property
    def devices_by_type(self) -> FloatArray:
        return np.bincount(
            self.node_type, weights=self.node_devices.astype(np.float64), minlength=len(TYPES)
        ).astype(np.float64)

    @property
    def spines(self) -> int:
        return int(self.rack_spine[-1]) + 1


def _build_site(size: Size, mix: Mix, rng: np.random.Generator) -> _Site:
    """Add racks of the type that is furthest below its share until there are enough devices; shuffle them."""
    held = np.zeros(len(TYPES))
    racks: list[int] = []
    while held.sum() < size.devices:
        kind = int(np.argmax(SHARES * size.devices - held))
        racks.append(kind)
        held[kind] += size.nodes_per_rack * mix.devices_per_node[kind]
    rack_type = rng.permutation(np.array(racks, dtype=np.int64))
    node_rack = np.repeat(np.arange(len(rack_type)), size.nodes_per_rack)
    node_type = rack_type[node_rack]
    return _Site(
        size=size,
        mix=mix,
        rack_type=rack_type,
        rack_spine=np.arange(len(rack_type)) // size.racks_per_spine,
        node_rack=node_rack,
        node_type=node_type,
        node_devices=np.array(mix.devices_per_node)[node_type],
    )


@dataclass(slots=True)
class _Crowd:
    """The jobs as arrays, one entry per job."""

    requested: IntArray
    smallest: IntArray
    largest: IntArray
    speed: FloatArray
    """Shape (jobs, types): throughput of one device; 0 where forbidden."""
    scaling: FloatArray
    """Throughput grows with the devices to this power."""
    chattiness: FloatArray
    """How much a spread costs, 0 to 1."""
    rho: FloatArray
    """The finish-time ratio to be produced."""
    priority: IntArray
    tenant: IntArray
    tenant_limit: IntArray
    """Shape (tenants,)."""
    has_deadline: BoolArray
    deadline_rate: FloatArray
    """Relative throughput that the deadline needs."""
    disruption: FloatArray
    """Lost and restart time over the horizon."""
    cpu_per_device: IntArray
    arrived: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Took the place of a job that departed."""

    def __len__(self) -> int:
        return len(self.requested)

    def ask(self, requested: IntArray, site: _Site) -> None:
        """Ask for other counts; who is elastic stays so."""
        elastic = self.smallest < self.largest
        self.requested = requested
        self.smallest = np.where(elastic, np.maximum(1, requested // 2), requested)
        self.largest = np.where(elastic, np.minimum(2 * requested, site.size.largest_job), requested)

    @property
    def weight(self) -> FloatArray:
        """Base weight by priority."""
        return np.array([PRIORITY_WEIGHTS[level] for level in sorted(PRIORITY_WEIGHTS)])[self.priority]


def _draw_rho(rng: np.random.Generator, jobs: int) -> FloatArray:
    return np.clip(np.exp(rng.normal(0.0, 0.5, jobs)), 0.3, 4.0)


def _draw_crowd(site: _Site, rng: np.random.Generator, *, host_limits: bool) -> _Crowd:
    jobs, size = site.size.jobs, site.size
    kinds = len(TYPES)
    large = np.array([count for count in (16, 32, 64, 128, 256) if count <= size.largest_job])
    chance = np.array([0.45, 0.25, 0.15, 0.1, 0.05])[: len(large)]
    requested = np.append([1, 2, 4, 8], 0)[np.searchsorted([0.7, 0.8, 0.88, 0.96], rng.random(jobs), "right")]
    gangs = requested == 0
    if len(large):
        requested[gangs] = rng.choice(large, int(gangs.sum()), p=chance / chance.sum())
    else:
        requested[gangs] = size.largest_job
    requested = np.minimum(requested, size.largest_job)
    elastic = rng.random(jobs) < 0.4
    smallest = np.where(elastic, np.maximum(1, requested // 2), requested)
    largest = np.where(elastic, np.minimum(2 * requested, size.largest_job), requested)
    speed = SPEEDS * np.exp(rng.normal(0.0, 0.25, (jobs, kinds)))
    speed[rng.random((jobs, kinds)) < 0.1] = 0.0
    speed[:, 0] = np.maximum(speed[:, 0], 0.3)
    tenants = min(20, max(4, jobs // 20))
    scaling, chattiness = rng.uniform(0.85, 0.98, jobs), rng.uniform(0.05, 0.9, jobs)
    rho = _draw_rho(rng, jobs)
    priority = rng.choice(len(_PRIORITY_MIX), jobs, p=_PRIORITY_MIX)
    tenant = np.minimum(rng.zipf(1.5, jobs) - 1, tenants - 1)
    asked = np.minimum(requested, 64)
    share = np.bincount(tenant, weights=asked, minlength=tenants) / asked.sum()
    limit = np.maximum(0.02 * site.devices, 1.4 * site.devices * share)
    limit = np.clip(limit, size.largest_job, max(size.tenant_share * site.devices, size.largest_job))
    cpu = rng.choice(list(site.mix.cpu_per_device), jobs, p=list(site.mix.cpu_chance))
    # What fills whole nodes can have no more than the nodes have.
    cpu = np.where(largest >= min(site.mix.devices_per_node), np.minimum(cpu, _CPU_PER_DEVICE), cpu)
    return _Crowd(
        requested=requested,
        smallest=smallest,
        largest=largest,
        speed=speed,
        scaling=scaling,
        chattiness=chattiness,
        rho=rho,
        priority=priority,
        tenant=tenant,
        tenant_limit=np.floor(limit).astype(np.int64),
        has_deadline=rng.random(jobs) < 0.2,
        deadline_rate=rng.uniform(0.3, 1.1, jobs),
        disruption=rng.uniform(0.05, 0.5, jobs),
        cpu_per_device=cpu if host_limits else np.zeros(jobs, dtype=np.int64),
        arrived=np.zeros(jobs, dtype=bool),
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """Ways to run a job, sorted by job: one entry per (job, type, count, scope) that exists."""

    job: IntArray
    type: IntArray
    count: IntArray
    scope: IntArray
    """Index into ``_SCOPES``."""
    throughput: FloatArray
    reference: FloatArray
    """Shape (jobs,): the request on its best type, packed (decision 2)."""
    value: FloatArray
    """GPU-equivalents with the weights that the crowd had when it was drawn."""


def _build_columns(site: _Site, crowd: _Crowd) -> _Columns:
    parts: list[tuple[IntArray, int, int, int, FloatArray]] = []
    chat = crowd.chattiness
    nodes_by_type = np.bincount(site.node_type, minlength=len(TYPES))
    for count in site.mix.counts(int(crowd.largest.max())).tolist():
        for kind, per_node in enumerate(site.mix.devices_per_node):
            allowed = (
                (crowd.speed[:, kind] > 0) & (crowd.smallest <= count) & (count <= crowd.largest)
            ).nonzero()[0]
            raw = crowd.speed[allowed, kind] * count ** crowd.scaling[allowed]
            here = chat[allowed]
            if count <= per_node:
                parts.append((allowed, kind, count, 0, raw))
                continue
            nodes = count // per_node
            if count % per_node or nodes > nodes_by_type[kind]:
                continue
            if nodes <= site.size.nodes_per_rack:
                parts.append((allowed, kind, count, 1, raw * (1 - 0.02 * here)))
            parts.append((allowed, kind, count, 2, raw * (0.95 - 0.25 * here)))
            if site.spines > 1:
                parts.append((allowed, kind, count, 3, raw * (0.9 - 0.5 * here)))
    job = np.concatenate([part[0] for part in parts])
    kind_of, count_of, scope_of = (
        np.concatenate([np.full(len(part[0]), part[which], dtype=np.int64) for part in parts])
        for which in (1, 2, 3)
    )
    throughput = np.concatenate([part[4] for part in parts])
    order = np.lexsort((scope_of, count_of, kind_of, job))
    job, kind_of, count_of, scope_of, throughput = (
        array[order] for array in (job, kind_of, count_of, scope_of, throughput)
    )
    # The narrowest scope of a pair stands for "packed", and throughput falls with every wider one.
    reference = np.zeros(len(crowd))
    full = count_of == crowd.requested[job]
    np.maximum.at(reference, job[full], throughput[full])
    relative = throughput / np.where(reference > 0, reference, np.inf)[job]
    worth = crowd.weight * crowd.rho * crowd.requested
    deadline_met = crowd.has_deadline[job] & (relative >= crowd.deadline_rate[job])
    value = worth[job] * (relative + _DEADLINE_WEIGHT * deadline_met)
    return _Columns(job, kind_of, count_of, scope_of, throughput, reference, value)


class _Floor:
    """Who holds which devices of which node, exactly; every job at most once."""

    def __init__(self, site: _Site, crowd: _Crowd) -> None:
        self._site = site
        self._crowd = crowd
        self.free = site.node_devices.copy()
        self._free_cpu = site.node_devices * _CPU_PER_DEVICE
        self._idle = np.bincount(site.node_rack)
        self._free_by_type = site.devices_by_type.astype(np.int64)
        self._tenant_use = np.zeros(len(crowd.tenant_limit), dtype=np.int64)
        self._nodes_of = [(site.node_type == kind).nonzero()[0] for kind in range(len(TYPES))]
        self._racks_of = [(site.rack_type == kind).nonzero()[0] for kind in range(len(TYPES))]
        self.held: dict[int, list[tuple[int, int, int]]] = {}
        """By job: (node, first device, devices)."""
        self.type_of: dict[int, int] = {}
        self.column_of: dict[int, int] = {}

    def try_place(self, columns: _Columns, column: int) -> bool:
        """Place the column's job, tightest fit first; False when it does not fit, or is placed already."""
        job, kind, count = int(columns.job[column]), int(columns.type[column]), int(columns.count[column])
        tenant = self._crowd.tenant[job]
        if job in self.held or count > self._free_by_type[kind]:
            return False
        if self._tenant_use[tenant] + count > self._crowd.tenant_limit[tenant]:
            return False
        per_node = self._site.mix.devices_per_node[kind]
        need = int(self._crowd.cpu_per_device[job])
        if count <= per_node:
            nodes = self._tightest_node(kind, count, need * count)
        else:
            nodes = self._whole_nodes(kind, count // per_node, _SCOPES[columns.scope[column]])
        if nodes is None:
            return False
        self.type_of[job] = kind
        self.column_of[job] = column
        self.held[job] = [self._take(int(node), min(count, per_node), need) for node in nodes]
        self._free_by_type[kind] -= count
        self._tenant_use[tenant] += count
        return True

    def _take(self, node: int, devices: int, cpu_per_device: int) -> tuple[int, int, int]:
        first = int(self._site.node_devices[node] - self.free[node])
        if first == 0:
            self._idle[self._site.node_rack[node]] -= 1
        self.free[node] -= devices
        self._free_cpu[node] -= devices * cpu_per_device
        return node, first, devices

    def _tightest_node(self, kind: int, devices: int, cpu: int) -> IntArray | None:
        nodes = self._nodes_of[kind]
        fits: IntArray = nodes[(self.free[nodes] >= devices) & (self._free_cpu[nodes] >= cpu)]
        if not len(fits):
            return None
        untouched = self._idle[self._site.node_rack[fits]]
        best = int(np.argmin(self.free[fits] * (len(self.free) + 1) + untouched))
        return fits[best : best + 1]

    def _whole_nodes(self, kind: int, count: int, scope: str) -> IntArray | None:
        racks = self._racks_of[kind]
        idle = self._idle[racks]
        if scope == "rack":
            racks = racks[idle >= count]
            if not len(racks):
                return None
            racks = racks[[np.argmin(self._idle[racks])]]
        elif scope == "spine":
            by_spine = np.bincount(
                self._site.rack_spine[racks], weights=idle, minlength=self._site.spines
            ).astype(np.int64)
            able = (by_spine >= count).nonzero()[0]
            if not len(able):
                return None
            racks = racks[self._site.rack_spine[racks] == able[np.argmin(by_spine[able])]]
        elif idle.sum() < count:
            return None
        racks = racks[np.argsort(self._idle[racks], kind="stable")]
        chosen: list[IntArray] = []
        for rack in racks:
            start = int(rack) * self._site.size.nodes_per_rack
            span = np.arange(start, start + self._site.size.nodes_per_rack)
            nodes = span[self.free[span] == self._site.node_devices[span]][:count]
            chosen.append(nodes)
            count -= len(nodes)
            if count == 0:
                break
        return np.concatenate(chosen)

    @property
    def devices_held(self) -> int:
        return int(self._site.devices - self.free.sum())


def _type_prices(columns: _Columns, site: _Site, jobs: int, steps: int = 150) -> FloatArray:
    """Prices per device of each type at which the jobs' best columns together ask for what there is."""
    capacity = site.devices_by_type
    starts = np.searchsorted(columns.job, np.arange(jobs))
    starts = starts[starts < len(columns.job)]
    scale = float(np.median(columns.value / columns.count))
    prices = np.zeros(len(TYPES))
    for step in range(1, steps + 1):
        profit = columns.value - prices[columns.type] * columns.count
        best = np.maximum.reduceat(profit, starts)
        taken = (profit > 0) & (profit >= best[np.searchsorted(starts, np.arange(len(profit)), "right") - 1])
        asked = np.bincount(
            columns.type[taken], weights=columns.count[taken].astype(np.float64), minlength=len(TYPES)
        )
        excess = (asked - capacity) / np.maximum(capacity, 1)
        prices = np.maximum(0.0, prices + scale / np.sqrt(step) * np.clip(excess, -1, 1))
    return prices


def _place_greedily(columns: _Columns, site: _Site, crowd: _Crowd, floor: _Floor) -> None:
    """Each job's best column at the types' prices, largest blocks first; then fill by profit per device."""
    prices = _type_prices(columns, site, len(crowd))
    profit = columns.value - prices[columns.type] * columns.count
    by_profit = np.lexsort((np.arange(len(profit)), -profit, columns.job))
    first = np.append(True, np.diff(columns.job[by_profit]) > 0)
    best = by_profit[first]
    best = best[profit[best] > 0]
    for column in best[np.lexsort((-profit[best], -columns.count[best]))]:
        floor.try_place(columns, int(column))
    for column in np.argsort(-profit / columns.count, kind="stable"):
        floor.try_place(columns, int(column))


def _place_at_random(
    columns: _Columns, site: _Site, floor: _Floor, occupancy: float, rng: np.random.Generator
) -> None:
    for column in rng.permutation(len(columns.job)):
        if floor.devices_held + columns.count[column] <= occupancy * site.devices:
            floor.try_place(columns, int(column))


def _depart(crowd: _Crowd, site: _Site, floor: _Floor, occupancy: float, rng: np.random.Generator) -> None:
    """Drop random jobs until at most ``occupancy`` is held.

    What stays has its rho moved a little; what goes is replaced by a new arrival with another rho and
    priority.
    """
    held = {job: sum(devices for _, _, devices in parts) for job, parts in floor.held.items()}
    total = sum(held.values())
    for job in rng.permutation(sorted(held)):
        if total <= occupancy * site.devices:
            break
        total -= held[int(job)]
        del floor.held[int(job)]
        crowd.arrived[job] = True
    crowd.rho = np.clip(crowd.rho * np.exp(rng.normal(0.0, 0.15, len(crowd))), 0.3, 4.0)
    new = crowd.arrived
    crowd.rho[new] = _draw_rho(rng, int(new.sum()))
    crowd.priority[new] = rng.choice(len(_PRIORITY_MIX), int(new.sum()), p=_PRIORITY_MIX)


def _isolated_throughput(site: _Site, crowd: _Crowd, columns: _Columns) -> FloatArray:
    """x_iso of decision 11: the best packed option, slowed to the job's share of the devices it uses."""
    share = site.devices_by_type[None, :] * crowd.weight[:, None] / crowd.weight.sum()
    packed = np.append(
        True, (np.diff(columns.job) != 0) | (np.diff(columns.type) != 0) | (np.diff(columns.count) != 0)
    )
    job, kind, count = columns.job[packed], columns.type[packed], columns.count[packed]
    rate = columns.throughput[packed] * np.minimum(1.0, share[job, kind] / count)
    best = np.zeros(len(crowd))
    np.maximum.at(best, job, rate)
    return best


@dataclass(frozen=True, slots=True)
class _Histories:
    """What each job has behind and before it, one entry per job."""

    age: FloatArray
    work_done: FloatArray
    work_left: FloatArray
    fair_progress: FloatArray
    fair_finish_age: FloatArray
    """NaN where the fair self is not done."""


def _histories(
    isolated: FloatArray, crowd: _Crowd, running: BoolArray, rng: np.random.Generator, columns: _Columns
) -> _Histories:
    """Submit times and work that yield the wanted rho.

    With the fair self at work since submission, fair_progress = x_iso min(age, T) for a job that takes T
    alone with its share, the denominator of rho (decision 11) is T, and with work_done = d W

        rho = (age + D)(T + D) / (T (d T + D))

    which is solved for d. It lies in [0, 1) for rho T D / (T + D) - D <= age < rho T - D: the age is
    drawn from that interval, and for new arrivals with rho above 1 it is its lower end, where d = 0: they
    never ran, and waited for rho - 1 rounds.
    """
    jobs, length = len(crowd), ROUND_SECONDS
    alone = np.where(isolated > 0, isolated, 1.0)
    full_speed = np.clip(np.exp(rng.normal(np.log(4 * 3600.0), 1.0, jobs)), 20 * length, 30 * 86_400.0)
    total = np.maximum(full_speed * columns.reference, 20 * length * alone)
    duration = total / alone
    lowest = np.maximum(0.0, crowd.rho * duration * length / (duration + length) - length)
    highest = crowd.rho * duration - length
    age = lowest + rng.uniform(0.02, 0.9, jobs) * (highest - lowest)
    newcomer = ~running & (crowd.rho > (duration + length) / duration)
    age = np.where(newcomer, lowest, age)
    done = ((age + length) * (duration + length) / (crowd.rho * duration) - length) / duration
    done = np.where(newcomer, 0.0, np.clip(done, 0.0, 1.0))
    return _Histories(
        age=age,
        work_done=done * total,
        work_left=(1 - done) * total,
        fair_progress=np.minimum(age, duration) * alone,
        fair_finish_age=np.where(age >= duration, np.round(duration, 6), np.nan),
    )


def _to_round(
    site: _Site,
    crowd: _Crowd,
    columns: _Columns,
    floor: _Floor,
    rng: np.random.Generator,
    *,
    host_limits: bool,
) -> Round:
    jobs = len(crowd)
    running = np.zeros(jobs, dtype=bool)
    running[sorted(floor.held)] = True
    past = _histories(_isolated_throughput(site, crowd, columns), crowd, running, rng, columns)
    restart = crowd.disruption * HORIZON_SECONDS * rng.uniform(0.1, 0.5, jobs)
    lost = crowd.disruption * HORIZON_SECONDS * rng.uniform(0.0, 0.9, jobs)
    run_time = np.maximum(past.age * rng.uniform(0.05, 0.95, jobs), np.minimum(ROUND_SECONDS, past.age))
    # To the microsecond, so that no way of writing a duration changes it.
    restart, lost = np.round(restart, 6), np.floor(np.minimum(lost, run_time) * 1e6) / 1e6

    rack_width, node_width = len(str(len(site.rack_type))), len(str(len(site.node_rack)))
    job_width = len(str(jobs))
    node_names = [f"node-{index:0{node_width}}" for index in range(len(site.node_rack))]
    job_names = [f"job-{index:0{job_width}}" for index in range(jobs)]
    tenants = len(crowd.tenant_limit)
    queue_names = [f"tenant-{index:0{len(str(tenants))}}" for index in range(tenants)]
    spine_names = [f"spine-{index}" for index in range(site.spines)]
    rack_names = [f"rack-{index:0{rack_width}}" for index in range(len(site.rack_type))]

    nodes = tuple(
        Node(
            name=node_names[index],
            domain=rack_names[site.node_rack[index]],
            accelerator_type=TYPES[site.node_type[index]],
            device_count=int(site.node_devices[index]),
            resources=Resources(
                cpu_milli=int(site.node_devices[index]) * _CPU_PER_DEVICE * 1000,
                memory_bytes=int(site.node_devices[index]) * _MEMORY_PER_DEVICE,
            ),
        )
        for index in range(len(node_names))
    )
    starts = np.searchsorted(columns.job, np.arange(jobs + 1))
    keys = zip(columns.type.tolist(), columns.count.tolist(), columns.scope.tolist(), strict=True)
    table = [(TYPES[type_], count, _SCOPES[scope]) for type_, count, scope in keys]
    throughput = columns.throughput.tolist()
    profiles, round_jobs = [], []
    for job in range(jobs):
        mine = slice(starts[job], starts[job + 1])
        cells = dict(zip(table[mine], throughput[mine], strict=True))
        profiles.append(ThroughputProfile(job_names[job], cells))
        smallest, largest = int(crowd.smallest[job]), int(crowd.largest[job])
        allowed = tuple(count for count in site.mix.counts(largest).tolist() if count >= smallest)
        cpu = int(crowd.cpu_per_device[job])
        group = TaskGroup(
            count=int(crowd.requested[job]),
            allowed_counts=allowed,
            resources_per_task=Resources(
                cpu_milli=cpu * 1000,
                memory_bytes=min(cpu, _CPU_PER_DEVICE) * _MEMORY_PER_DEVICE // _CPU_PER_DEVICE,
            )
            if host_limits
            else Resources(),
            profile=job_names[job],
            split=TaskSplit.WHOLE_NODES,
        )
        placed = None
        if job in floor.held:
            placed = Running(
                placements=tuple(
                    TaskPlacement(group.name, node_names[node], devices, tuple(range(first, first + devices)))
                    for node, first, devices in sorted(floor.held[job])
                ),
                started_at=NOW - float(run_time[job]),
                checkpoint_age_seconds=float(lost[job]),
            )
        deadline = None
        if crowd.has_deadline[job] and columns.reference[job] > 0:
            needed = float(crowd.deadline_rate[job] * columns.reference[job])
            deadline = NOW + float(past.work_left[job]) / needed
        finished = float(past.fair_finish_age[job])
        round_jobs.append(
            Job(
                name=job_names[job],
                component=Component(task_groups=(group,)),
                queue=queue_names[crowd.tenant[job]],
                priority=int(crowd.priority[job]),
                submit_time=NOW - float(past.age[job]),
                work_done=float(past.work_done[job]),
                work_left=float(past.work_left[job]),
                fair_progress=float(past.fair_progress[job]),
                fair_finish_age=None if np.isnan(finished) else finished,
                deadline=deadline,
                restart_seconds=float(restart[job]),
                running=placed,
            )
        )
    return Round(
        now=NOW,
        round_seconds=ROUND_SECONDS,
        horizon_seconds=HORIZON_SECONDS,
        cluster=Cluster(
            topology=Topology(
                levels=("spine", "rack"),
                domains=(
                    *(Domain(name, "spine") for name in spine_names),
                    *(
                        Domain(name, "rack", spine_names[spine])
                        for name, spine in zip(rack_names, site.rack_spine, strict=True)
                    ),
                ),
            ),
            nodes=nodes,
        ),
        accelerators=tuple(
            AcceleratorType(name, float(speed)) for name, speed in zip(TYPES, SPEEDS, strict=True)
        ),
        queues=tuple(
            Queue(name, device_limit=int(limit))
            for name, limit in zip(queue_names, crowd.tenant_limit, strict=True)
        ),
        jobs=tuple(round_jobs),
        profiles=tuple(profiles),
        policy=Policy(priority_weights=PRIORITY_WEIGHTS),
    )
