"""What fits at one time, by block size: rows that no set of running jobs can break.

For any superadditive function f with f(0) = 0, items of sizes a_i that fit into bins of sizes u_n obey
``sum f(a_i) <= sum f(u_n)`` (dual feasible functions; Fekete and Schepers, *Mathematical Programming* 91,
2001). With ``f(a) = floor(a / s)`` for every block size s these are the nested capacity rows of the
formulation, section 1, where sizes divide each other; unlike those they cut nothing off where they do not.
The composition ``floor(blocks of size s / k)`` over the domains of a level counts gangs of k blocks in one
domain the same way. So they hold for time averages, too, and what breaks them is proved impossible.

Relaxed: node numbers within a domain beyond these rows, CPU and memory beyond their sums, several groups of a
gang on the same nodes, labels and taints beyond one row for each filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.instance.options import Option
from gangplan.model.instance.sites import admits
from gangplan.model.program import BoolArray, FloatArray, IntArray

RELAXED = (
    "places within a domain beyond counts by block size",
    "CPU and memory beyond their sums by accelerator type",
)
_DEVICES, _CPU, _MEMORY = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Way:
    """An option with its accelerator types settled.

    Attributes:
        option: index into the instance's distinct options.
        types: type of each demand; -1 where it has no devices.
    """

    option: int
    types: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """Rows that hold at any time.

    Attributes:
        way, row, amount: shape (entries,): what one job running in a way takes of a row.
        capacity: shape (rows, times).
        names: of the rows, e.g. ``type 0, rack: 4 blocks of 8``.
    """

    way: IntArray
    row: IntArray
    amount: FloatArray
    capacity: FloatArray
    names: tuple[str, ...]


def ways_of(instance: Instance, options: Sequence[int]) -> tuple[tuple[Way, ...], dict[int, list[int]]]:
    """All ways of the distinct ``options``, and their positions by option."""
    ways: list[Way] = []
    by_option: dict[int, list[int]] = {}
    for o in options:
        option = instance.distinct[o]
        first = option.demands[0].block.types
        choices: tuple[int | None, ...] = first if len(option.demands) == 1 and len(first) > 1 else (None,)
        for chosen in choices:
            by_option.setdefault(o, []).append(len(ways))
            types = tuple(
                _type(d.block.types, chosen) if d.block.demand[_DEVICES] else -1 for d in option.demands
            )
            ways.append(Way(o, types))
    return tuple(ways), by_option


def _type(types: tuple[int, ...], chosen: int | None) -> int:
    return types[0] if chosen is None else chosen


def build_room(instance: Instance, ways: Sequence[Way], free: IntArray) -> Room:
    """Rows for jobs that run in ``ways``.

    Args:
        instance: the round.
        ways: how jobs may run.
        free: shape (times, nodes, 3): devices, CPU and memory that they may fill on every node.
    """
    rows = _Rows(instance, ways, free)
    for type_ in sorted({t for way in ways for t in way.types if t >= 0}):
        rows.of_type(type_)
    rows.hosts()
    return rows.room()


class _Rows:
    """Rows as they are gathered."""

    def __init__(self, instance: Instance, ways: Sequence[Way], free: IntArray) -> None:
        self._instance = instance
        self._ways = ways
        self._options: list[Option] = [instance.distinct[way.option] for way in ways]
        self._free = free
        self._entries: list[tuple[int, int, float]] = []
        self._capacity: list[FloatArray] = []
        self._names: list[str] = []

    def of_type(self, type_: int) -> None:
        """All rows of an accelerator type."""
        nodes = self._instance.nodes
        mine = nodes.type_of == type_
        gangs: set[tuple[int, int, int]] = set()  # (scope, devices of a block, blocks)
        sizes, shapes, filters = {1}, set[int](), set[int]()
        for way, option in zip(self._ways, self._options, strict=True):
            for demand, t in zip(option.demands, way.types, strict=True):
                if t != type_:
                    continue
                devices = demand.block.demand[_DEVICES]
                sizes.add(devices)
                if demand.block.built_in:
                    shapes.add(demand.block.built_in)
                filters.update(demand.block.filters)
                if demand.multiplicity > 1:
                    gangs.add((option.scope, devices, demand.multiplicity))
        for s in sorted(sizes):
            self._blocks(type_, mine, s, f"type {type_}: blocks of {s}")
        built_in = set(nodes.built_in[mine].tolist())
        if len(built_in) > 1:
            for shape in sorted(shapes):
                self._blocks(
                    type_, mine & (nodes.built_in == shape), shape, f"type {type_}: nodes of {shape}", shape
                )
        for f in sorted(filters):
            passes = self._passes(f)
            if not passes[mine].all():
                self._blocks(type_, mine & passes, 1, f"type {type_}: filter {f}", only=f)
        for scope, s, k in sorted(gangs):
            self._gangs(type_, mine, scope, s, k)

    def hosts(self) -> None:
        """CPU and memory, of the nodes of each type and of all nodes."""
        nodes = self._instance.nodes
        for dimension, name in ((_CPU, "cpu"), (_MEMORY, "memory")):
            scale = max(1.0, float(self._free[:, :, dimension].max(initial=0)))
            for type_ in (*sorted({t for way in self._ways for t in way.types if t >= 0}), None):
                mine = np.ones(len(nodes.nodes), dtype=np.bool_) if type_ is None else nodes.type_of == type_
                takes = [
                    sum(
                        d.multiplicity * d.block.demand[dimension]
                        for d, t in zip(option.demands, way.types, strict=True)
                        if type_ is None or t == type_
                    )
                    / scale
                    for way, option in zip(self._ways, self._options, strict=True)
                ]
                where = "all nodes" if type_ is None else f"type {type_}"
                self._add(takes, self._free[:, mine, dimension].sum(axis=1) / scale, f"{where}: {name}")

    def room(self) -> Room:
        """What was gathered."""
        way, row, amount = (
            (np.array(column) for column in zip(*self._entries, strict=True))
            if self._entries
            else (
                np.zeros(0),
                np.zeros(0),
                np.zeros(0),
            )
        )
        times = self._free.shape[0]
        return Room(
            way=way.astype(np.int64),
            row=row.astype(np.int64),
            amount=amount.astype(np.float64),
            capacity=np.array(self._capacity, dtype=np.float64).reshape(len(self._capacity), times),
            names=tuple(self._names),
        )

    def _passes(self, filter_: int) -> BoolArray:
        group = self._instance.filters[filter_]
        return np.array([admits(node, group) for node in self._instance.nodes.nodes], dtype=np.bool_)

    def _blocks(
        self, type_: int, where: BoolArray, s: int, name: str, built_in: int = 0, only: int | None = None
    ) -> None:
        takes = []
        for way, option in zip(self._ways, self._options, strict=True):
            total = 0
            for demand, t in zip(option.demands, way.types, strict=True):
                block = demand.block
                asks = t == type_ and (not built_in or block.built_in == built_in)
                if asks and (only is None or only in block.filters):
                    total += demand.multiplicity * (block.demand[_DEVICES] // s)
            takes.append(float(total))
        self._add(takes, (self._free[:, where, _DEVICES] // s).sum(axis=1), name)

    def _gangs(self, type_: int, mine: BoolArray, scope: int, s: int, k: int) -> None:
        # Nodes without a domain of the level count as one: some may lie together in a narrower domain.
        number = np.unique(self._instance.nodes.domain_at[mine, scope], return_inverse=True)[1]
        blocks = self._free[:, mine, _DEVICES] // s
        capacity = np.array(
            [(np.bincount(number, weights=each).astype(np.int64) // k).sum() for each in blocks],
            dtype=np.float64,
        )
        takes = []
        for way, option in zip(self._ways, self._options, strict=True):
            counts = [
                (demand.block.demand[_DEVICES] // s, demand.multiplicity)
                for demand, t in zip(option.demands, way.types, strict=True)
                if t == type_
            ]
            if option.scope >= scope:
                takes.append(float(sum(m * n for n, m in counts) // k))
            else:
                takes.append(float(sum(m * (n // k) for n, m in counts)))
        level = self._instance.round.cluster.topology.scopes[scope]
        self._add(takes, capacity, f"type {type_}, {level}: {k} blocks of {s}")

    def _add(self, takes: Sequence[float], capacity: FloatArray | IntArray, name: str) -> None:
        entries = [(w, len(self._capacity), amount) for w, amount in enumerate(takes) if amount]
        if entries:
            self._entries += entries
            self._capacity.append(np.asarray(capacity, dtype=np.float64))
            self._names.append(name)
