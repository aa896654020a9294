"""Nodes and pools as arrays: where tasks can sit, and how much fits there.

Nodes are sorted by name, so that no answer depends on the order of the request. A **pool** is a set of
nodes alike to the model: accelerator type, node shape (built-in devices; devices, CPU and memory that
may be filled), innermost domain, the labels that some job selects on, and taints (decision 5). Alike
nodes are counted, not numbered (decision 43); a pool of one node is exact in every dimension.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import eq

import numpy as np

from gangplan.domain.cluster import DeviceReporting, Node, NodeHealth, Resources, Taint
from gangplan.domain.job import WHOLE_DEVICE, Job, TaskGroup, TaskPlacement
from gangplan.domain.round import Round
from gangplan.domain.topology import Topology
from gangplan.kept import Kept
from gangplan.model.program import BoolArray, IntArray

DIMENSIONS = ("devices", "cpu", "memory")
CPU_ONLY = -1
NO_DOMAIN = -1

Vector = tuple[int, int, int]
"""Devices (in parts, :attr:`~gangplan.model.instance.kinds.Kinds.parts`), CPU (milli) and memory (bytes)."""
Places = Sequence[TaskPlacement]


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Nodes as arrays, in order of their names.

    Attributes:
        nodes: the domain objects.
        index: position by name.
        type_of: shape (nodes,), index of the accelerator type; CPU_ONLY without devices.
        built_in: shape (nodes,), devices built in.
        capacity: shape (nodes, 3), devices, CPU (milli) and memory (bytes) that our jobs may hold: what is
            usable, or what they hold now where that is more (property P25).
        held: shape (nodes, 3), what jobs that may stay hold now.
        open: shape (nodes,), whether new tasks may come.
        exact: shape (nodes,), whether placements there carry device indices.
        parts: parts of a device; devices in vectors are counted in them.
        domain_at: shape (nodes, scopes), index of the domain at each scope, widest first; NO_DOMAIN where
            there is none. The last column numbers the node itself.
    """

    nodes: tuple[Node, ...]
    index: Mapping[str, int]
    type_of: IntArray
    built_in: IntArray
    capacity: IntArray
    held: IntArray
    open: BoolArray
    domain_at: IntArray
    exact: BoolArray
    parts: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """Pools of open nodes.

    Attributes:
        members: node indices of each pool, ascending.
        size: shape (pools,), nodes in each.
        type_of, built_in: shape (pools,).
        capacity: shape (pools, 3), of one node of the pool.
        exact: shape (pools,), whether placements there carry device indices.
        domain_at: shape (pools, scopes); the last column is NO_DOMAIN.
        pool_of: shape (nodes,), pool of each node; -1 for closed nodes.
    """

    members: tuple[IntArray, ...]
    size: IntArray
    type_of: IntArray
    built_in: IntArray
    capacity: IntArray
    exact: BoolArray
    domain_at: IntArray
    pool_of: IntArray

    @property
    def count(self) -> int:
        """Number of pools."""
        return len(self.members)


def vector(resources: Resources, parts: int) -> Vector:
    """Device parts, CPU and memory in the order of :data:`DIMENSIONS`."""
    return parts, resources.cpu_milli, resources.memory_bytes


def empty_nodes(round_: Round, type_index: Mapping[str, int], parts: int, kept: Kept) -> Nodes:
    """The round's nodes as arrays while nobody holds anything, devices in ``parts``."""
    drained = frozenset(
        node.name
        for node in round_.cluster.nodes
        if node.drain_time is not None and node.drain_time <= round_.now
    )
    return kept.once(
        "empty nodes",
        (round_.cluster, type_index, parts, drained),
        lambda: _empty_nodes(round_, type_index, parts, drained, kept),
    )


def _empty_nodes(
    round_: Round, type_index: Mapping[str, int], parts: int, drained: Collection[str], kept: Kept
) -> Nodes:
    nodes = tuple(sorted(round_.cluster.nodes, key=lambda node: node.name))
    index = {node.name: i for i, node in enumerate(nodes)}
    usable = np.array(
        [vector(n.usable_resources, n.usable_device_count * parts) for n in nodes], dtype=np.int64
    ).reshape(len(nodes), 3)
    type_of = np.array(
        [
            type_index[n.accelerator_type] if n.accelerator_type and n.device_count else CPU_ONLY
            for n in nodes
        ],
        dtype=np.int64,
    )
    return Nodes(
        nodes=nodes,
        index=kept.alike("node index", index, eq),
        type_of=kept.alike("node types", type_of, np.array_equal),
        built_in=np.array([n.device_count for n in nodes], dtype=np.int64),
        capacity=usable,
        held=np.zeros_like(usable),
        open=np.array([_is_open(n) and n.name not in drained for n in nodes], dtype=np.bool_),
        domain_at=kept.alike("node domains", _domains(round_.cluster.topology, nodes), np.array_equal),
        exact=np.array([pins_devices(n) for n in nodes], dtype=np.bool_),
        parts=parts,
    )


def hold(nodes: Nodes, node: IntArray, amounts: IntArray) -> Nodes:
    """``nodes`` with ``amounts`` held, too, shape (entries, 3), each on one ``node``."""
    total = nodes.held.copy()
    np.add.at(total, node, amounts)
    return replace(nodes, capacity=np.maximum(nodes.capacity, total), held=total)


def hold_too(nodes: Nodes, jobs: Iterable[Job], places: Mapping[str, Places]) -> Nodes:
    """``nodes`` with what ``jobs`` hold beside those that hold something already."""
    held = [_use(nodes, job, places[job.name]) for job in jobs]
    flat = np.array(list(itertools.chain.from_iterable(held)), dtype=np.int64).reshape(-1, 4)
    return hold(nodes, flat[:, 0], flat[:, 1:])


def _use(nodes: Nodes, job: Job, placements: Places) -> list[tuple[int, int, int, int]]:
    """Node index, and what is held there, of every placement."""
    groups = {group.name: group for group in job.component.task_groups}
    found = []
    for placement in placements:
        devices, cpu, memory = task_vector(groups[placement.group], nodes.parts)
        tasks = placement.tasks
        found.append((nodes.index[placement.node], devices * tasks, cpu * tasks, memory * tasks))
    return found


def task_vector(group: TaskGroup, parts: int) -> Vector:
    """What one task of ``group`` takes, devices in ``parts``."""
    return vector(group.resources_per_task, group.device_milli * parts // WHOLE_DEVICE)


def _is_open(node: Node) -> bool:
    """Whether tasks may come, unless it is drained by now."""
    return node.health is NodeHealth.HEALTHY and not node.cordoned


def _domains(topology: Topology, nodes: Sequence[Node]) -> IntArray:
    scopes = topology.scopes
    column = {level: i for i, level in enumerate(scopes)}
    number = {domain.name: i for i, domain in enumerate(sorted(topology.domains, key=lambda d: d.name))}
    paths: dict[str | None, list[int]] = {}
    table = np.full((len(nodes), len(scopes)), NO_DOMAIN, dtype=np.int64)
    for i, node in enumerate(nodes):
        if node.domain not in paths:
            row = [NO_DOMAIN] * len(scopes)
            row[0] = 0
            for domain in topology.path(node.domain):
                row[column[domain.level]] = number[domain.name]
            paths[node.domain] = row
        table[i] = paths[node.domain]
        table[i, -1] = i
    return table


def build_pools(nodes: Nodes, selected_labels: frozenset[str], split: BoolArray) -> Pools:
    """Group the open nodes; nodes marked in ``split`` (shape (nodes,)) are pools of their own."""
    grouped: dict[object, list[int]] = defaultdict(list)
    types, built_in, alone = nodes.type_of.tolist(), nodes.built_in.tolist(), split.tolist()
    capacity, domains = nodes.capacity.tolist(), nodes.domain_at[:, :-1].tolist()
    for i in np.flatnonzero(nodes.open).tolist():
        node = nodes.nodes[i]
        labels = tuple(sorted([(k, v) for k, v in node.labels.items() if k in selected_labels]))
        key = (
            types[i],
            built_in[i],
            tuple(capacity[i]),
            tuple(domains[i]),
            labels,
            frozenset(node.taints),
            nodes.parts == 1 or pins_devices(node),
            i if alone[i] else -1,
        )
        grouped[key].append(i)
    members = tuple(np.array(m, dtype=np.int64) for m in sorted(grouped.values()))
    first = np.array([m[0] for m in members], dtype=np.int64)
    pool_of = np.full(len(nodes.nodes), -1, dtype=np.int64)
    for p, m in enumerate(members):
        pool_of[m] = p
    domain_at = nodes.domain_at[first].copy()
    domain_at[:, -1] = NO_DOMAIN
    return Pools(
        members=members,
        size=np.array([len(m) for m in members], dtype=np.int64),
        type_of=nodes.type_of[first],
        built_in=nodes.built_in[first],
        capacity=nodes.capacity[first],
        exact=nodes.exact[first],
        domain_at=domain_at,
        pool_of=pool_of,
    )


def admits(node: Node, group: TaskGroup) -> bool:
    """Whether labels and taints let new tasks of ``group`` onto ``node``."""
    return all(node.labels.get(k) == v for k, v in group.node_selector.items()) and all(
        _tolerated(taint, group) for taint in node.taints
    )


def _tolerated(taint: Taint, group: TaskGroup) -> bool:
    return any(toleration.tolerates(taint) for toleration in group.tolerations)


def pins_devices(node: Node) -> bool:
    """Whether placements on ``node`` carry device indices."""
    return node.device_reporting is DeviceReporting.EXACT
