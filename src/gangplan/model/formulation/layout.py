"""Which column of the programme means what.

Columns, in this order:

* ``option``: how many members of a class run under an option.
* ``keep``: whether a running job stays.
* ``gang``: how many gangs of a kind (scope and blocks) lie in a domain of their scope's level.
* ``block``: how many blocks of a flow (block, domain, and kind where it must lie apart) lie in a pool.
* ``room``: how many blocks of a size still fit on a node beside the jobs that stay there.
* ``gang_room``: how many groups of so many whole nodes are free in a domain.

The whole cluster is the domain ``ROOT``; options of scope ``cluster``, and single blocks, go there directly.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.model.formulation.nesting import Span, is_rooted, spans
from gangplan.model.instance.guarantees import guaranteed
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.options import Option
from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.program import BoolArray, FloatArray, IntArray

ROOT = (0, 0)
"""Scope and domain index of the whole cluster."""

Domain = tuple[int, int]
"""Index of a scope, and of a domain of that level."""
GangKind = tuple[int, tuple[tuple[int, int], ...], tuple[int, ...], int]
"""Scope, ``(block, multiplicity)`` of every demand, the narrower scopes at which it must lie apart, and the
position of the option where its job goes on where it is (else -1)."""
Flow = tuple[int, Domain, GangKind | None]
"""A block, the domain in which it must lie, and the kind where its gangs must lie apart or go on where they
are (else None: blocks of different kinds are interchangeable)."""


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """Blocks of ``size`` devices that still fit on ``node`` beside the jobs that stay.

    ``column`` counts them when it is not -1; else they are ``constant - sum(keep * coefficient)``.
    """

    node: int
    size: int
    column: int
    constant: int
    keep: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class GangRoom:
    """Groups of ``nodes`` whole nodes, of ``devices`` devices each, that are free in ``domain``."""

    domain: Domain
    devices: int
    nodes: int
    column: int
    pools: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Nested:
    """Blocks of a job that goes on where it is: ``least`` to ``most`` of them for one chosen gang.

    Attributes:
        column: the blocks.
        span: least and most.
        gangs: the columns that choose the gang.
    """

    column: int
    span: Span
    gangs: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Columns of a round's programme.

    Attributes:
        instance: the round as arrays.
        option_column: shape (options,), -1 where the option cannot or need not be taken.
        keep_column: shape (classes,), -1 for waiting classes.
        kinds: gang kind of every distinct option, for jobs that may go anywhere.
        rooted_kinds: gang kind of the options of jobs that may be resized but not moved, by position.
        loose: those positions whose jobs have nodes that are counted with others, so that not every choice of
            the programme is a resize in place.
        nested: blocks of such jobs by pool.
        kind_columns: columns of the options of each gang kind.
        gang_column: column by (kind, domain); kinds of scope ``cluster`` or single blocks have none.
        flow_pools: ``(pool, column)`` by flow.
        pool_flows: ``(flow, column)`` by pool.
        sizes: by pool: device sizes of its nested capacity rows, ascending.
        rooms: rooms by (pool, size), for nodes that hold jobs which may stay.
        gang_rooms: groups of whole nodes, where gangs of several whole nodes may lie in a domain.
        kept_on: by node: ``(class, (devices, cpu, memory))`` of jobs that may stay.
        columns: their number.
        objective, lower, upper: shape (columns,).
        families: name, start and stop.
    """

    instance: Instance
    option_column: IntArray
    keep_column: IntArray
    kinds: tuple[GangKind, ...]
    rooted_kinds: Mapping[int, GangKind]
    loose: frozenset[int]
    nested: tuple[Nested, ...]
    kind_columns: Mapping[GangKind, IntArray]
    gang_column: Mapping[tuple[GangKind, Domain], int]
    flow_pools: Mapping[Flow, tuple[tuple[int, int], ...]]
    pool_flows: tuple[tuple[tuple[Flow, int], ...], ...]
    sizes: tuple[tuple[int, ...], ...]
    rooms: Mapping[tuple[int, int], tuple[Room, ...]]
    gang_rooms: tuple[GangRoom, ...]
    kept_on: Mapping[int, tuple[tuple[int, tuple[int, int, int]], ...]]
    columns: int
    objective: FloatArray
    lower: FloatArray
    upper: FloatArray
    families: tuple[tuple[str, int, int], ...]

    def kind(self, k: int) -> GangKind:
        """Gang kind of the option at position ``k`` of the option arrays."""
        return self.rooted_kinds.get(k) or self.kinds[self.instance.option[k]]


def flow_of(kind: GangKind, block: int, domain: Domain) -> Flow:
    """The flow of a block of a gang of ``kind`` in ``domain``."""
    return block, domain, kind if kind[2] or kind[3] >= 0 else None


def is_direct(kind: GangKind, node_scope: int) -> bool:
    """Whether gangs of ``kind`` may lie anywhere, so that no domain need be chosen."""
    return kind[0] in (0, node_scope)


def build_layout(instance: Instance) -> Layout:
    """Number the columns."""
    node_scope = len(instance.speeds.scopes) - 1
    reach = _Reach(instance)
    kinds = tuple(_kind(instance, option) for option in instance.distinct)
    reachable = np.array([bool(reach.domains(kind)) for kind in kinds], dtype=np.bool_)
    must_run = instance.must_run
    must_stay = np.array([c.must_stay for c in instance.classes], dtype=np.bool_)
    taken = (instance.gain > 0.0) | must_run[instance.option_class]
    if instance.floors:  # whoever counts there may have to run, whatever it is worth
        counts = instance.tiers[: len(instance.floors)].max(axis=0)
        taken |= counts[instance.option_class] > 0.0
    if guaranteed(instance):
        taken |= instance.guarantees.option.max(axis=0, initial=0.0) > 0.0
    taken &= ~must_stay[instance.option_class] & reachable[instance.option]
    rooted = _rooted(instance, kinds, taken)
    for k, kind in rooted.items():
        taken[k] = bool(reach.domains(kind))
    chosen = np.flatnonzero(taken)
    kept = np.flatnonzero(instance.kept)
    option_column = np.full(len(instance.option), -1, dtype=np.int64)
    option_column[chosen] = np.arange(len(chosen))
    keep_column = np.full(len(instance.classes), -1, dtype=np.int64)
    keep_column[kept] = len(chosen) + np.arange(len(kept))
    wanted = instance.members[instance.option_class[chosen]]
    objective = _growing(instance.gain[chosen], instance.keep_gain[kept])
    lower = _growing(np.zeros(len(chosen)), must_stay[kept])
    upper = _growing(wanted, np.ones(len(kept)))
    families = [("option", 0, len(chosen)), ("keep", len(chosen), len(objective))]

    def begin() -> int:
        return len(objective)

    def column(most: float) -> int:
        objective.append(0.0)
        lower.append(0.0)
        upper.append(most)
        return len(objective) - 1

    kind_columns: dict[GangKind, IntArray] = {}
    kind_wanted: dict[GangKind, int] = {}
    distinct = instance.option[chosen]
    for k, kind in rooted.items():
        if taken[k]:
            at_k = int(option_column[k])
            distinct[at_k] = -1
            kind_columns[kind] = np.append(kind_columns.get(kind, distinct[:0]), at_k)
            kind_wanted[kind] = 1
    for d in np.unique(distinct[distinct >= 0]).tolist():
        mine = np.flatnonzero(distinct == d)
        kind = kinds[d]
        kind_columns[kind] = np.concatenate([kind_columns.get(kind, mine[:0]), mine])
        kind_wanted[kind] = kind_wanted.get(kind, 0) + int(wanted[mine].sum())

    gang_column: dict[tuple[GangKind, Domain], int] = {}
    flows: dict[Flow, None] = {}
    at = begin()
    for kind in kind_columns:
        for domain in reach.domains(kind):
            if not is_direct(kind, node_scope):
                most = reach.most(kind, domain)
                gang_column[kind, domain] = column(float(min(kind_wanted[kind], most)))
            for block, _ in kind[1]:
                flows[flow_of(kind, block, domain)] = None
    families.append(("gang", at, begin()))

    flow_pools: dict[Flow, tuple[tuple[int, int], ...]] = {}
    pool_flows: list[list[tuple[Flow, int]]] = [[] for _ in range(instance.pools.count)]
    at = begin()
    nested: list[Nested] = []
    for flow in flows:
        block, domain, tied = flow
        places = []
        spans_ = reach.spans(tied, domain).get(block, {}) if tied and tied[3] >= 0 else None
        for p in reach.pools(domain):
            copies = int(instance.block_pools[block, p])
            if copies and (spans_ is None or p in spans_):
                y = column(float(copies * int(instance.pools.size[p])))
                places.append((p, y))
                if tied and spans_ is not None:
                    gang = gang_column.get((tied, domain))
                    gangs = tuple(kind_columns[tied].tolist()) if gang is None else (gang,)
                    nested.append(Nested(y, spans_[p], gangs))
                pool_flows[p].append((flow, y))
        flow_pools[flow] = tuple(places)
    families.append(("block", at, begin()))

    kept_on: dict[int, list[tuple[int, tuple[int, int, int]]]] = defaultdict(list)
    for c, use in enumerate(instance.keep_use):
        for node, amounts in use.items():
            kept_on[node].append((c, amounts))
    parts = instance.nodes.parts
    sizes = tuple(
        row_sizes((instance.blocks[flow[0]].demand[0] for flow, _ in pool_flows[p]), parts)
        for p in range(instance.pools.count)
    )
    rooms: dict[tuple[int, int], tuple[Room, ...]] = {}
    at = begin()
    for p in range(instance.pools.count):
        capacity = int(instance.pools.capacity[p, 0])
        held = [(n, kept_on[n]) for n in instance.pools.members[p].tolist() if n in kept_on]
        counted = [(n, [(c, amounts[0]) for c, amounts in jobs if amounts[0]]) for n, jobs in held]
        touched = [(node, devices) for node, devices in counted if devices]
        for size in sizes[p]:
            if size == 1:
                continue
            here = []
            most = blocks_in(capacity, size, parts)
            for node, devices in touched:
                if size < parts:
                    lost = [(c, blocks_in(amount, size, parts)) for c, amount in devices]
                    here.append(Room(node, size, -1, max(most, sum(n for _, n in lost)), tuple(lost)))
                    continue
                exact = len(devices) == 1 or (
                    capacity % size == 0 and all(amount % size == 0 for _, amount in devices)
                )
                here.append(
                    Room(
                        node=node,
                        size=size,
                        column=-1 if exact else column(float(most)),
                        constant=most,
                        keep=tuple([(c, most - (capacity - amount) // size) for c, amount in devices]),
                    )
                )
            rooms[p, size] = tuple(here)
    families.append(("room", at, begin()))

    gang_rooms: list[GangRoom] = []
    at = begin()
    for (domain, per_node), multiplicities in _whole_node_gangs(instance, gang_column, reach).items():
        within = tuple(p for p in reach.pools(domain) if instance.pools.capacity[p, 0] == per_node)
        whole = int(instance.pools.size[list(within)].sum())
        gang_rooms.extend(
            GangRoom(domain, per_node, number, column(float(whole // number)), within)
            for number in sorted(multiplicities)
            if number > 1
        )
    families.append(("gang_room", at, begin()))

    return Layout(
        instance=instance,
        option_column=option_column,
        keep_column=keep_column,
        kinds=kinds,
        rooted_kinds=rooted,
        loose=frozenset(k for k in rooted if _is_loose(instance, k)),
        nested=tuple(nested),
        kind_columns=kind_columns,
        gang_column=gang_column,
        flow_pools=flow_pools,
        pool_flows=tuple(tuple(flows_) for flows_ in pool_flows),
        sizes=sizes,
        rooms=rooms,
        gang_rooms=tuple(gang_rooms),
        kept_on={node: tuple(held) for node, held in kept_on.items()},
        columns=begin(),
        objective=np.array(objective, dtype=np.float64),
        lower=np.array(lower, dtype=np.float64),
        upper=np.array(upper, dtype=np.float64),
        families=tuple(families),
    )


def row_sizes(demands: Iterable[int], parts: int) -> tuple[int, ...]:
    """Sizes for which blocks are counted, ascending, in ``parts`` of a device: those of whole devices.

    And, where some take more than half of a device, just that: each of them has one to itself.
    """
    found = set(demands) - {0}
    more_than_half = parts // 2 + 1
    half = {more_than_half} if any(more_than_half <= size < parts for size in found) else set()
    return tuple(sorted({size for size in found if size % parts == 0} | half))


def blocks_in(amount: int, size: int, parts: int) -> int:
    """How many blocks of ``size`` go into ``amount``, none of them across devices."""
    if size >= parts:
        return amount // size
    whole, rest = divmod(amount, parts)
    return whole * (parts // size) + rest // size


LARGE_DEVICES = 8


def large_columns(layout: Layout) -> BoolArray:
    """Columns that rounding cannot mend, shape (columns,).

    Gangs, groups of nodes, many devices, jobs that must run, and who stays where that is limited.
    """
    large = np.zeros(layout.columns, dtype=np.bool_)
    for name, start, stop in layout.families:
        large[start:stop] = name in ("gang", "gang_room")
    chosen = np.flatnonzero(layout.option_column >= 0)
    instance = layout.instance
    several = np.array([not option.is_single for option in instance.distinct], dtype=np.bool_)
    must_run = instance.must_run
    many = LARGE_DEVICES * instance.nodes.parts
    wide = (instance.devices >= many) | several[instance.option] | must_run[instance.option_class]
    large[layout.option_column[chosen]] = wide[chosen]
    kept = np.flatnonzero(layout.keep_column >= 0)
    limited = instance.round.policy.disruption_limit is not None
    large[layout.keep_column[kept]] = limited | must_run[kept] | (instance.keeps.devices[kept, -1] >= many)
    return large


def _growing(*parts: FloatArray | IntArray | BoolArray) -> array[float]:
    """The parts one after the other, to which single figures can be added."""
    return array("d", np.concatenate(parts).astype(np.float64).tobytes())


def _kind(instance: Instance, option: Option) -> GangKind:
    demands = tuple((instance.block_index[d.block], d.multiplicity) for d in option.demands)
    return option.scope, demands, option.apart, -1


def _rooted(instance: Instance, kinds: Sequence[GangKind], taken: BoolArray) -> dict[int, GangKind]:
    """Kinds of their own for the taken options of jobs that may not move, by position."""
    found: dict[int, GangKind] = {}
    for c in np.flatnonzero(instance.kept).tolist():
        if is_rooted(instance, c):
            mine = range(instance.classes[c].start, instance.classes[c].stop)
            found |= {k: (*kinds[instance.option[k]][:3], k) for k in mine if taken[k]}
    return found


def _is_loose(instance: Instance, k: int) -> bool:
    own = instance.pools.pool_of[list(instance.keep_use[instance.option_class[k]])]
    demands = instance.option_at(k).demands
    alike = len({demand.block for demand in demands}) < len(demands)
    return alike or bool((instance.pools.size[own[own >= 0]] > 1).any())


def _whole_node_gangs(
    instance: Instance, gang_column: Mapping[tuple[GangKind, Domain], int], reach: _Reach
) -> dict[tuple[Domain, int], set[int]]:
    """Numbers of whole nodes that gangs may take in a domain, by domain and devices per node."""
    found: dict[tuple[Domain, int], set[int]] = defaultdict(set)
    for kind, domain in gang_column:
        if len(kind[1]) == 1:
            block, multiplicity = kind[1][0]
            devices = instance.blocks[block].demand[0]
            pools = [p for p in reach.pools(domain) if instance.block_pools[block, p]]
            if devices and all(instance.pools.capacity[p, 0] == devices for p in pools):
                found[domain, devices].add(multiplicity)
    return found


class _Reach:
    """Which domains and pools a gang of a kind can use at all."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._node_scope = len(instance.speeds.scopes) - 1
        self._pools: dict[Domain, tuple[int, ...]] = {ROOT: tuple(range(instance.pools.count))}
        for scope in range(1, self._node_scope):
            at = instance.pools.domain_at[:, scope]
            for domain in np.unique(at[at != NO_DOMAIN]).tolist():
                self._pools[scope, domain] = tuple(np.flatnonzero(at == domain).tolist())
        copies = (instance.block_pools * instance.pools.size).clip(0, 2**31)
        self._copies: dict[Domain, list[int]] = {
            domain: copies[:, list(pools)].sum(axis=1).tolist() for domain, pools in self._pools.items()
        }
        self._domains: dict[GangKind, tuple[Domain, ...]] = {}
        self._spans: dict[tuple[GangKind, Domain], dict[int, dict[int, Span]]] = {}

    def pools(self, domain: Domain) -> tuple[int, ...]:
        return self._pools[domain]

    def domains(self, kind: GangKind) -> tuple[Domain, ...]:
        """Domains in which at least one gang of ``kind`` fits by counting, empty cluster."""
        if kind not in self._domains:
            scope = kind[0]
            places: tuple[Domain, ...] = (ROOT,)
            if not is_direct(kind, self._node_scope):
                places = tuple(domain for domain in self._pools if domain[0] == scope)
            able = [domain for domain in places if self.most(kind, domain) > 0]
            if kind[3] >= 0:
                able = [domain for domain in able if self.spans(kind, domain)]
            self._domains[kind] = tuple(able)
        return self._domains[kind]

    def spans(self, kind: GangKind, domain: Domain) -> dict[int, dict[int, Span]]:
        """Blocks by block and pool of a gang that goes on where it is; empty where it cannot."""
        if (kind, domain) not in self._spans:
            self._spans[kind, domain] = spans(self._instance, kind[3], domain)
        return self._spans[kind, domain]

    def most(self, kind: GangKind, domain: Domain) -> int:
        """Most gangs of ``kind`` that fit into an empty ``domain``, block by block."""
        copies = self._copies[domain]
        return min(copies[block] // multiplicity for block, multiplicity in kind[1])
