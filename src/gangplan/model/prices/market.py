"""The market of a round: what has a price, what every option and kept job takes of it, and who owns it.

Three kinds of goods have a price (formulation, sections 1 and 2):

* blocks of s devices on nodes of one accelerator type: a block of b devices takes ``floor(b / s)``, a node
  with f free devices offers ``floor(f / s)``; devices are counted in the round's parts;
* groups of k whole nodes of one type and size in one domain of a level: a gang of m nodes takes
  ``floor(m / k)``, a domain with W idle nodes offers ``floor(W / k)``;
* CPU and memory of the nodes of one type, where they can bind before devices do, and devices under a queue's
  limit.

``floor(x / s)`` is superadditive, so that what fits into a node or domain never takes more than it offers:
every good is a valid relaxation whatever the sizes are (decision 28). Gangs of a wider level than the
innermost that has any pay for their nodes only.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.instance.options import Block, Option
from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.program import BoolArray, FloatArray, IntArray

LARGEST_CELL = 320
"""Domains of more nodes offer ``W / k`` groups of k nodes, which is more than ``floor(W / k)``."""

_DIMENSIONS = (1, 2)
_CPU, _MEMORY = _DIMENSIONS


class Market(NamedTuple):
    """Goods, takers and owners, as flat arrays: what compiled loops can read.

    ``X_start`` arrays are CSR offsets.

    Attributes:
        goods: number of goods; those of nodes first, then groups of nodes, then CPU and memory.
        offered: shape (goods,), what the empty cluster offers.
        unit: shape (goods,), devices in one unit of the good.
        size_start, size_good, size_of: by type: its goods of device blocks, and their sizes.
        group_start, group_good, group_of: by cell kind: its goods of node groups, and their sizes k.
        host_good: shape (types, 2), good of CPU and memory of a type; -1: cannot bind.
        host_unit: shape (types, 2), amount of CPU (milli) and memory (bytes) that is one unit of the good.
        part_start: by distinct option: its demands.
        way_start: by demand: the types that may serve it.
        take_start, take_good, take_amount: by way: goods and amounts.
        limited: shape (limits,), the most devices that may be held under each limit.
        class_limit_start, class_limit: by class: limits that its devices of any type count under.
        limit_type: shape (limits,), type that counts; -1: every type.
        option_devices: shape (distinct, types + 1), devices by type, and in all in the last column.
        node_type, node_free: by node of the market: type, and devices not held by jobs that must stay.
        node_cell: by node: its cell; -1: none.
        node_host: shape (nodes, 2), CPU and memory in units of the good.
        item_start, item_class, item_devices, item_share, item_host: by node: jobs that may stay on it; the
            share of the job's gain that this node decides about, and CPU and memory, shape (items, 2).
        kind_type, kind_devices: by cell kind: accelerator type, and devices of a node.
        cell_kind, cell_large: by cell: its kind, and whether it offers ``W / k``.
        cell_start, cell_node: by cell: nodes in it that hold no gang of several whole nodes.
        gang_start, gang_class: by cell: gangs of several whole nodes that may stay there.
        gang_node_start, gang_node: by gang: its nodes.
        gang_host: shape (gangs, 2), CPU and memory that they hold.
        loose: classes that may stay and hold no device in the market.
        fixed: classes that must stay, or must run and fit nowhere else.
        kept_limit_start, kept_limit, kept_devices: by class: limits, and what it holds now under each.
    """

    goods: int
    offered: FloatArray
    unit: FloatArray
    size_start: IntArray
    size_good: IntArray
    size_of: IntArray
    group_start: IntArray
    group_good: IntArray
    group_of: IntArray
    host_good: IntArray
    host_unit: FloatArray
    part_start: IntArray
    way_start: IntArray
    take_start: IntArray
    take_good: IntArray
    take_amount: FloatArray
    limited: FloatArray
    class_limit_start: IntArray
    class_limit: IntArray
    limit_type: IntArray
    option_devices: FloatArray
    node_type: IntArray
    node_free: IntArray
    node_cell: IntArray
    node_host: FloatArray
    item_start: IntArray
    item_class: IntArray
    item_devices: IntArray
    item_share: FloatArray
    item_host: FloatArray
    kind_type: IntArray
    kind_devices: IntArray
    cell_kind: IntArray
    cell_large: BoolArray
    cell_start: IntArray
    cell_node: IntArray
    gang_start: IntArray
    gang_class: IntArray
    gang_node_start: IntArray
    gang_node: IntArray
    gang_host: FloatArray
    loose: IntArray
    fixed: BoolArray
    kept_limit_start: IntArray
    kept_limit: IntArray
    kept_devices: FloatArray


def build_market(instance: Instance) -> Market:
    """What has a price in a round."""
    goods = _Goods(instance)
    ways = _Ways(goods)
    places = _Places(instance, goods)
    limits = _Limits(instance)
    return Market(
        goods=goods.count,
        offered=places.offered(),
        unit=goods.unit(),
        **goods.arrays(),
        **ways.arrays(),
        **places.arrays(),
        **limits.arrays(),
    )


class _Goods:
    """Numbers the goods."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.types = len(instance.speeds.type_names)
        scopes, parts = len(instance.speeds.scopes), instance.nodes.parts
        sizes: list[set[int]] = [{1} for _ in range(self.types)]
        gangs: dict[int, set[tuple[int, int, int]]] = defaultdict(set)
        self.fits: BoolArray = np.any(instance.block_pools > 0, axis=1)
        for option in instance.distinct:
            if not self.reachable(option):
                continue
            for demand in option.demands:
                devices = demand.block.demand[0]
                for type_ in demand.block.types:
                    if devices % parts == 0:
                        sizes[type_].add(max(1, devices))
            group = whole_nodes(option, parts)
            if group is not None and 0 < option.scope < scopes - 1:
                gangs[option.scope].add(group)
        self.level = max(gangs, default=-1)
        """Innermost scope that has gangs of several whole nodes; -1: none."""
        self.size: dict[tuple[int, int], int] = {}
        for type_, some in enumerate(sizes):
            for size in sorted(some):
                self.size[type_, size] = len(self.size)
        self.kinds = sorted({(type_, devices) for type_, devices, _ in gangs.get(self.level, ())})
        self.group: dict[tuple[int, int, int], int] = {}
        for type_, devices, nodes in sorted(gangs.get(self.level, ())):
            self.group[type_, devices, nodes] = len(self.size) + len(self.group)
        self.host: dict[tuple[int, int], int] = {}
        self.host_unit = np.ones((self.types, 2))
        at = len(self.size) + len(self.group)
        for type_ in range(self.types):
            pools = np.flatnonzero(instance.pools.type_of == type_)
            for r in _DIMENSIONS:
                capacity = instance.pools.capacity[pools]
                if len(pools) and any(
                    (block.demand[r] * capacity[:, 0] > capacity[:, r] * block.demand[0]).any()
                    for block in instance.blocks
                    if type_ in block.types or (not block.types and block.demand[r])
                ):
                    self.host[type_, r] = at
                    self.host_unit[type_, r - 1] = max(
                        1.0, float(capacity[:, r].max()) / max(1, int(capacity[:, 0].max()))
                    )
                    at += 1
        self.count = at

    def reachable(self, option: Option) -> bool:
        """Whether every block fits on some empty node."""
        return all(self.fits[self.instance.block_index[demand.block]] for demand in option.demands)

    def unit(self) -> FloatArray:
        """Devices in one unit of every good."""
        unit = np.ones(self.count)
        for (_, size), good in self.size.items():
            unit[good] = size
        for (_, devices, nodes), good in self.group.items():
            unit[good] = devices * nodes
        return unit

    def arrays(self) -> dict[str, Any]:
        by_type: list[list[tuple[int, int]]] = [[] for _ in range(self.types)]
        for (type_, size), good in self.size.items():
            by_type[type_].append((good, size))
        by_kind: list[list[tuple[int, int]]] = [[] for _ in self.kinds]
        for (type_, devices, nodes), good in self.group.items():
            by_kind[self.kinds.index((type_, devices))].append((good, nodes))
        host_good = np.full((self.types, 2), -1, dtype=np.int64)
        for (type_, r), good in self.host.items():
            host_good[type_, r - 1] = good
        return {
            "size_start": _offsets(by_type),
            "size_good": _ints(good for some in by_type for good, _ in some),
            "size_of": _ints(size for some in by_type for _, size in some),
            "group_start": _offsets(by_kind),
            "group_good": _ints(good for some in by_kind for good, _ in some),
            "group_of": _ints(nodes for some in by_kind for _, nodes in some),
            "kind_type": _ints(type_ for type_, _ in self.kinds),
            "kind_devices": _ints(devices for _, devices in self.kinds),
            "host_good": host_good,
            "host_unit": self.host_unit,
        }

    def takes(self, block: Block, type_: int, multiplicity: int) -> list[tuple[int, float]]:
        """What ``multiplicity`` blocks on nodes of a type take."""
        devices = block.demand[0]
        found = [
            (good, float(multiplicity * (devices // size)))
            for (other, size), good in self.size.items()
            if other == type_ and devices >= size
        ]
        for r in _DIMENSIONS:
            good = self.host.get((type_, r))
            if good is not None and block.demand[r]:
                found.append((good, multiplicity * block.demand[r] / self.host_unit[type_, r - 1]))
        return found

    def groups(self, option: Option) -> list[tuple[int, float]]:
        """What a gang of whole nodes takes of node groups."""
        group = whole_nodes(option, self.instance.nodes.parts)
        if group is None or option.scope != self.level:
            return []
        type_, devices, nodes = group
        return [
            (good, float(nodes // k))
            for (other, per_node, k), good in self.group.items()
            if (other, per_node) == (type_, devices) and nodes >= k
        ]


def whole_nodes(option: Option, parts: int) -> tuple[int, int, int] | None:
    """Type, devices per node (in ``parts``) and nodes of a gang of several whole nodes of one type.

    None for any other.
    """
    if len(option.demands) != 1:
        return None
    block, multiplicity = option.demands[0].block, option.demands[0].multiplicity
    whole = block.built_in * parts
    if multiplicity < 2 or len(block.types) != 1 or whole != block.demand[0] or not whole:
        return None
    return block.types[0], whole, multiplicity


class _Ways:
    """What every distinct option takes, by the types that may serve each of its demands."""

    def __init__(self, goods: _Goods) -> None:
        self._parts: list[list[list[list[tuple[int, float]]]]] = []
        for option in goods.instance.distinct:
            if not goods.reachable(option):
                self._parts.append([[]])  # no way at all: it costs more than anybody has
                continue
            parts = []
            for demand in option.demands:
                serving: Sequence[int] = demand.block.types or ((-1,) if not demand.block.demand[0] else ())
                ways = [goods.takes(demand.block, t, demand.multiplicity) for t in serving if t >= 0]
                if not demand.block.types:
                    ways = [[]]  # CPU-only tasks may go anywhere, also where nothing else is wanted
                parts.append(ways)
            groups = goods.groups(option)
            if groups:
                parts[0] = [way + groups for way in parts[0]]
            self._parts.append(parts)

    def arrays(self) -> dict[str, Any]:
        parts = [part for option in self._parts for part in option]
        ways = [way for part in parts for way in part]
        return {
            "part_start": _offsets(self._parts),
            "way_start": _offsets(parts),
            "take_start": _offsets(ways),
            "take_good": _ints(good for way in ways for good, _ in way),
            "take_amount": np.array([amount for way in ways for _, amount in way], dtype=np.float64),
        }


class _Places:
    """Nodes, the jobs that may stay on them, and cells: nodes of one kind in one domain."""

    def __init__(self, instance: Instance, goods: _Goods) -> None:
        self._goods = goods
        nodes = instance.nodes
        mine = np.flatnonzero((instance.pools.pool_of >= 0) & (nodes.type_of >= 0))
        self.node = mine
        index = np.full(len(nodes.nodes), -1, dtype=np.int64)
        index[mine] = np.arange(len(mine))
        can_run = np.array([goods.reachable(option) for option in instance.distinct], dtype=np.bool_)
        elsewhere = np.zeros(len(instance.classes), dtype=np.bool_)
        elsewhere[instance.option_class[can_run[instance.option]]] = True
        self.fixed = instance.must_run & ~elsewhere
        free = nodes.capacity[mine].copy()
        cell = self._cells(instance, mine)
        alone: list[list[tuple[int, int, float, int, int]]] = [[] for _ in mine]
        gangs: list[list[tuple[int, list[int], int, int]]] = [[] for _ in self.kind_of_cell]
        loose = []
        self.in_gang = np.zeros(len(mine), dtype=np.bool_)
        place, fixed = index.tolist(), self.fixed.tolist()
        for c in np.flatnonzero(instance.kept).tolist():
            uses = instance.keep_use[c]
            held = [(place[n], use) for n, use in uses.items() if place[n] >= 0]
            if len(held) == 1 and not fixed[c] and held[0][1][0]:  # by far the most
                n, (devices, cpu, memory) = held[0]
                alone[n].append((c, devices, 1.0, cpu, memory))
                continue
            if fixed[c]:
                for n, use in held:
                    free[n] -= use
                    if use[0]:
                        cell[n] = -1
                continue
            held = [(n, use) for n, use in held if use[0]]
            if not held:
                loose.append(c)
                continue
            total = sum(use[0] for _, use in held)
            home = cell[held[0][0]]
            if (
                len(held) > 1
                and home >= 0
                and all(cell[n] == home and use[0] == free[n, 0] for n, use in held)
                and not any(alone[n] for n, _ in held)
            ):
                cpu, memory = (sum(use[r] for _, use in held) for r in _DIMENSIONS)
                its = [n for n, _ in held]
                gangs[home].append((c, its, cpu, memory))
                self.in_gang[its] = True
                continue
            for n, use in held:
                alone[n].append((c, use[0], use[0] / total, use[1], use[2]))
        self.cell, self.alone, self.gangs, self.loose = cell, alone, gangs, loose
        self.free = np.maximum(free, 0)
        self.type_of = nodes.type_of[mine]

    def _cells(self, instance: Instance, mine: IntArray) -> IntArray:
        """Cell of each node: same kind, same domain at the gangs' level, every device usable."""
        goods, nodes = self._goods, instance.nodes
        cell = np.full(len(mine), -1, dtype=np.int64)
        number: dict[tuple[int, int], int] = {}
        self.kind_of_cell: list[int] = []
        if goods.level < 0:
            return cell
        kind_index = {kind: i for i, kind in enumerate(goods.kinds)}
        domain = nodes.domain_at[mine, goods.level]
        built_in = nodes.built_in[mine] * nodes.parts
        whole = ((domain != NO_DOMAIN) & (nodes.capacity[mine, 0] == built_in)).tolist()
        at = domain.tolist()
        kinds = zip(nodes.type_of[mine].tolist(), built_in.tolist(), strict=True)
        for i, kind in enumerate(map(kind_index.get, kinds)):
            if kind is None or not whole[i]:
                continue
            key = (at[i], kind)
            if key not in number:
                number[key] = len(number)
                self.kind_of_cell.append(kind)
            cell[i] = number[key]
        return cell

    def _host(self, rows: IntArray, type_of: IntArray) -> FloatArray:
        units: FloatArray = rows / self._goods.host_unit[type_of]
        return units

    def offered(self) -> FloatArray:
        """What the empty cluster offers of every good."""
        goods = self._goods
        offered = np.zeros(goods.count)
        for (type_, size), good in goods.size.items():
            offered[good] = (self.free[self.type_of == type_, 0] // size).sum()
        kinds = np.array(self.kind_of_cell, dtype=np.int64)
        nodes_in = np.bincount(self.cell[self.cell >= 0], minlength=len(kinds))
        for (type_, devices, nodes), good in goods.group.items():
            kind = goods.kinds.index((type_, devices))
            offered[good] = (nodes_in[kinds == kind] // nodes).sum()
        for (type_, r), good in goods.host.items():
            here = self.type_of == type_
            offered[good] = self.free[here, r].sum() / goods.host_unit[type_, r - 1]
        return np.maximum(offered, 1.0)

    def arrays(self) -> dict[str, Any]:
        items = [item for some in self.alone for item in some]
        item_class, item_devices, item_share, cpu, memory = zip(*items, strict=True) if items else ((),) * 5
        of_item = np.repeat(self.type_of, [len(some) for some in self.alone])
        cells = len(self.kind_of_cell)
        members: list[list[int]] = [[] for _ in range(cells)]
        for i in np.flatnonzero((self.cell >= 0) & ~self.in_gang).tolist():
            members[self.cell[i]].append(i)
        gangs = [gang for some in self.gangs for gang in some]
        gang_type = np.array(
            [self._goods.kinds[self.kind_of_cell[k]][0] for k, some in enumerate(self.gangs) for _ in some],
            dtype=np.int64,
        )
        nodes_in = np.bincount(self.cell[self.cell >= 0], minlength=cells)
        return {
            "node_type": self.type_of,
            "node_free": np.ascontiguousarray(self.free[:, 0]),
            "node_cell": self.cell,
            "node_host": self._host(self.free[:, 1:], self.type_of),
            "item_start": _offsets(self.alone),
            "item_class": np.array(item_class, dtype=np.int64),
            "item_devices": np.array(item_devices, dtype=np.int64),
            "item_share": np.array(item_share, dtype=np.float64),
            "item_host": self._host(np.column_stack([cpu, memory]).astype(np.int64), of_item),
            "cell_kind": np.array(self.kind_of_cell, dtype=np.int64),
            "cell_large": nodes_in[:cells] > LARGEST_CELL,
            "cell_start": _offsets(members),
            "cell_node": _ints(i for some in members for i in some),
            "gang_start": _offsets(self.gangs),
            "gang_class": _ints(c for c, *_ in gangs),
            "gang_node_start": _offsets([its for _, its, *_ in gangs]),
            "gang_node": _ints(n for _, its, *_ in gangs for n in its),
            "gang_host": self._host(
                np.array([gang[2:] for gang in gangs], dtype=np.int64).reshape(-1, 2), gang_type
            ),
            "loose": np.array(self.loose, dtype=np.int64),
            "fixed": self.fixed,
        }


class _Limits:
    """Device limits of queues, and who counts under which."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        types = len(instance.speeds.type_names)
        self._of_queue: list[list[int]] = []
        self.type_of: list[int] = []
        most: list[float] = []
        for name in instance.limits.names:
            queue, mine = instance.limits.queues[name], []
            if queue.device_limit is not None:
                mine.append(len(most))
                most.append(float(queue.device_limit * instance.nodes.parts))
                self.type_of.append(-1)
            for type_name, limit in sorted(queue.device_limit_by_type.items()):
                mine.append(len(most))
                most.append(float(limit * instance.nodes.parts))
                self.type_of.append(instance.speeds.type_index[type_name])
            self._of_queue.append(mine)
        self.option_devices = np.zeros((len(instance.distinct), types + 1))
        for o, option in enumerate(instance.distinct):
            for type_, devices in option.devices_by_type:
                self.option_devices[o, type_] = devices
            self.option_devices[o, -1] = option.devices
        of_queue = [
            [limit for ancestor in ancestors for limit in self._of_queue[ancestor]]
            for ancestors in instance.limits.ancestors
        ]
        self.of_class = [of_queue[q] if q >= 0 else [] for q in instance.queue.tolist()]
        self.kept: list[list[tuple[int, float]]] = [[] for _ in instance.classes]
        now = np.zeros(len(most))
        for c in np.flatnonzero(instance.kept).tolist():
            for limit in self.of_class[c]:
                kind = self.type_of[limit]
                devices = sum(
                    use[0]
                    for n, use in instance.keep_use[c].items()
                    if kind < 0 or instance.nodes.type_of[n] == kind
                )
                self.kept[c].append((limit, float(devices)))
                now[limit] += devices
        self.most = np.maximum(np.array(most, dtype=np.float64), now)

    def arrays(self) -> dict[str, Any]:
        return {
            "limited": self.most,
            "class_limit_start": _offsets(self.of_class),
            "class_limit": _ints(itertools.chain.from_iterable(self.of_class)),
            "limit_type": np.array(self.type_of, dtype=np.int64),
            "option_devices": self.option_devices,
            "kept_limit_start": _offsets(self.kept),
            "kept_limit": _ints(limit for some in self.kept for limit, _ in some),
            "kept_devices": np.array([d for some in self.kept for _, d in some], dtype=np.float64),
        }


def _offsets(lists: Sequence[Sequence[object]]) -> IntArray:
    return np.concatenate(([0], np.cumsum(list(map(len, lists)), dtype=np.int64)))


def _ints(values: Iterable[int]) -> IntArray:
    return np.fromiter(values, dtype=np.int64)
