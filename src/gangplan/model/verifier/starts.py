"""Jobs on one node each as columns: most of a large plan starts some of these and keeps others.

A start is read here when it could hardly be plainer: a waiting job with one task group of whole devices, one
placement with pinned or counted devices, sane numbers. A family of rules says for all of them at once which
are surely sound (:meth:`~gangplan.model.verifier.reading.Reading.judged`); only the rest is looked at one by
one, as everything else in a plan is. So what is here may be careful, but never generous. Jobs that run in
this way, and are not forced off, are columns likewise.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gangplan.domain.cluster import DeviceReporting, Node, NodeHealth
from gangplan.domain.job import WHOLE_DEVICE, Component, TaskGroup, TaskPlacement
from gangplan.domain.plan import Action
from gangplan.domain.topology import NODE
from gangplan.model.verifier.columns import Bools, Floats, Ints
from gangplan.model.verifier.facts import RoundFacts

_MOST_DEVICE = 62
"""The largest device index that has its bit."""
_MOST_TASKS = 1024
_MOST_OF_ALL = 2**62
"""No sum of amounts may come near what an integer of a column holds."""
_ODD = -1
FIELDS = operator.attrgetter("group", "node", "tasks", "devices", "shares")
"""What a placement says, in one call."""


@dataclass(frozen=True, slots=True, eq=False)
class SingleColumns:
    """What jobs on one node are judged by.

    Attributes:
        groups: by job, shape (jobs,): its one task group of whole devices; None: it has others.
        gated: by job: it may not start.
        devices, cpu, memory: by job: what a task of the group takes.
        queue: by job: place of its queue in the round; -1: none.
        counts: by job: which row of ``allowed_counts`` is its group's.
        allowed_counts: whether a group may have so many tasks, shape (kinds, most tasks + 1).
        types: by job: which row of ``allowed_types`` is its group's.
        allowed_types: whether a group may run on a type, shape (kinds, types + 1); the last: on no
            catalogued one.
        selecting: by job: the group selects nodes by labels.
        node_index: place of a node by name.
        node_names: by node, shape (nodes,).
        type_names: by node: its accelerator type.
        type_of: by node: the column of ``allowed_types``.
        kinds: all types that nodes have, catalogued or not.
        kind_of: by node: its place among ``kinds``.
        exact: by node: it says which device is which.
        open: by node: it takes new tasks, of whatever it is asked to tolerate.
        usable: by node: the bits of devices that may be used; 0 where some has no bit.
        largest: the largest amount of CPU, memory or thousandths of devices of a task.
    """

    groups: Sequence[TaskGroup | None]
    gated: Bools
    devices: Ints
    cpu: Ints
    memory: Ints
    queue: Ints
    counts: Ints
    allowed_counts: Bools
    types: Ints
    allowed_types: Bools
    selecting: Bools
    node_index: Mapping[str, int]
    node_names: Sequence[str]
    type_names: Sequence[str | None]
    type_of: Ints
    kinds: Sequence[str | None]
    kind_of: Ints
    exact: Bools
    open: Bools
    usable: Ints
    largest: int


class Row(NamedTuple):
    """One job on one node: job, node, tasks, bits of its devices, and how many."""

    job: int
    node: int
    tasks: int
    bits: int
    listed: int


@dataclass(frozen=True, slots=True, eq=False)
class Singles:
    """Jobs on one node each; every array has the shape (rows,).

    Attributes:
        columns: of the round.
        job: which job, by its place in the round.
        node: where, by its place in the cluster.
        tasks: how many tasks of its group.
        bits: its devices, one bit each.
        listed: how many devices that are.
        relative: relative throughput there; 0 where that is no option.
        throughput: work units per second there; 0 likewise.
    """

    columns: SingleColumns
    job: Ints
    node: Ints
    tasks: Ints
    bits: Ints
    listed: Ints
    relative: Floats
    throughput: Floats

    def __len__(self) -> int:
        return len(self.job)

    def taken(self, per_task: Ints) -> Ints:
        """What each job takes of that of which a task takes so much, by job."""
        return per_task[self.job] * self.tasks


@dataclass(frozen=True, slots=True, eq=False)
class Starts:
    """Waiting jobs that a plan starts on one node each.

    Attributes:
        actions: the actions.
        there: the jobs, where they start; one row for each action.
    """

    actions: Sequence[Action]
    there: Singles

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def names(self) -> list[str]:
        """Names of the jobs."""
        return [action.job for action in self.actions]


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """Jobs that run on one node each and are not forced off.

    Attributes:
        names: their names.
        row: the row of ``there`` of each, by name.
        there: the jobs, where they run; None: no job is told so.
    """

    names: Sequence[str]
    row: Mapping[str, int]
    there: Singles | None


FEW = 48
"""So many plain starts, and so many running jobs, are read one by one: with less, columns take longer."""


def worth_columns(count: int) -> bool:
    """Whether so many are enough to be read as columns."""
    return count > FEW


def present(facts: RoundFacts) -> Present:
    """Jobs that run on one node each, where there are many; ask for them by ``facts.once(present)``."""
    jobs = facts.round.jobs
    running = [i for i, job in enumerate(jobs) if job.running is not None and job.name not in facts.forced]
    if not worth_columns(len(running)):
        return Present((), {}, None)
    columns, bits = facts.once(single_columns), facts.once(known_bits)

    def found(at: Sequence[int]) -> list[Row | None]:
        which = [(i, jobs[i].running) for i in map(running.__getitem__, at)]
        return [None if now is None else row_of(now.placements, i, columns, bits) for i, now in which]

    known = facts.kept.together(
        "single rows", [jobs[i] for i in running], found, beside=(columns.node_index,)
    )
    rows = [
        row if row.job == i else row._replace(job=i)  # others came or went
        for i, row in zip(running, known, strict=True)
        if row is not None
    ]
    there = singles_of(rows, facts) if rows else None
    if there is None:
        return Present((), {}, None)
    names = [jobs[row.job].name for row in rows]
    return Present(names, {name: i for i, name in enumerate(names)}, there)


class _OfGroups(NamedTuple):
    """What :class:`SingleColumns` says of the groups of jobs, for as long as no job has another component."""

    groups: Sequence[TaskGroup | None]
    devices: Ints
    cpu: Ints
    memory: Ints
    counts: Ints
    allowed_counts: Bools
    types: Ints
    allowed_types: Bools
    selecting: Bools
    largest: int


class _OfNodes(NamedTuple):
    """What it says of nodes, for as long as none is other; ``open`` but for ``drained_from``, seconds."""

    node_index: Mapping[str, int]
    node_names: Sequence[str]
    type_names: Sequence[str | None]
    type_of: Ints
    kinds: Sequence[str | None]
    kind_of: Ints
    exact: Bools
    open: Bools
    drained_from: Floats
    usable: Ints


def single_columns(facts: RoundFacts) -> SingleColumns:
    """The columns of a round; ask for them by ``facts.once(single_columns)``."""
    round_, kept = facts.round, facts.kept
    components = [job.component for job in round_.jobs]
    catalogue = [entry.name for entry in round_.accelerators]
    its = kept.once(
        "single groups", (round_.accelerators, *components), lambda: _of_groups(components, catalogue)
    )
    there = kept.once(
        "single nodes",
        (round_.accelerators, round_.cluster),
        lambda: _of_nodes(round_.cluster.nodes, catalogue),
    )
    place = {queue.name: i for i, queue in enumerate(round_.queues)}
    return SingleColumns(
        groups=its.groups,
        gated=np.array([job.name in facts.gates for job in round_.jobs], dtype=np.bool_),
        devices=its.devices,
        cpu=its.cpu,
        memory=its.memory,
        queue=_ints([-1 if job.queue is None else place[job.queue] for job in round_.jobs]),
        counts=its.counts,
        allowed_counts=its.allowed_counts,
        types=its.types,
        allowed_types=its.allowed_types,
        selecting=its.selecting,
        node_index=there.node_index,
        node_names=there.node_names,
        type_names=there.type_names,
        type_of=there.type_of,
        kinds=there.kinds,
        kind_of=there.kind_of,
        exact=there.exact,
        open=there.open & (there.drained_from > round_.now),
        usable=there.usable,
        largest=its.largest,
    )


def _of_groups(components: Sequence[Component], catalogue: Sequence[str]) -> _OfGroups:
    first = [component.task_groups[0] for component in components]
    groups = [
        group
        if len(component.task_groups) == 1 and group.devices_per_task > 0 and group.device_share is None
        else None
        for component, group in zip(components, first, strict=True)
    ]
    column = {name: i for i, name in enumerate(catalogue)}
    counts: dict[tuple[int, ...], int] = {}
    types: dict[tuple[str, ...], int] = {}
    count_of = [counts.setdefault(group.allowed_counts, len(counts)) for group in first]
    types_of = [types.setdefault(group.accelerator_types, len(types)) for group in first]
    allowed_counts = np.zeros((len(counts), _MOST_TASKS + 1), dtype=np.bool_)
    for allowed, row in counts.items():
        allowed_counts[row, [count for count in allowed if 0 < count <= _MOST_TASKS]] = True
    allowed_types = np.zeros((len(types), len(catalogue) + 1), dtype=np.bool_)
    for names, row in types.items():
        allowed_types[row, [column[name] for name in names or catalogue if name in column]] = True
    resources = [group.resources_per_task for group in first]
    amounts = (
        [group.devices_per_task for group in first],
        [each.cpu_milli for each in resources],
        [each.memory_bytes for each in resources],
    )
    return _OfGroups(
        groups=groups,
        devices=_ints(amounts[0]),
        cpu=_ints(amounts[1]),
        memory=_ints(amounts[2]),
        counts=_ints(count_of),
        allowed_counts=allowed_counts,
        types=_ints(types_of),
        allowed_types=allowed_types,
        selecting=np.array([bool(group.node_selector) for group in first], dtype=np.bool_),
        largest=max(WHOLE_DEVICE * max(amounts[0]), *map(max, amounts)) if components else 0,
    )


def _of_nodes(nodes: Sequence[Node], catalogue: Sequence[str]) -> _OfNodes:
    column = {name: i for i, name in enumerate(catalogue)}
    type_names = [node.accelerator_type for node in nodes]
    kinds = {name: i for i, name in enumerate(dict.fromkeys(type_names))}
    return _OfNodes(
        node_index={node.name: i for i, node in enumerate(nodes)},
        node_names=[node.name for node in nodes],
        type_names=type_names,
        type_of=_ints([column.get(name or "", len(catalogue)) for name in type_names]),
        kinds=list(kinds),
        kind_of=_ints([kinds[name] for name in type_names]),
        exact=np.array([node.device_reporting is DeviceReporting.EXACT for node in nodes], dtype=np.bool_),
        open=np.array(
            [node.health is NodeHealth.HEALTHY and not node.cordoned and not node.taints for node in nodes],
            dtype=np.bool_,
        ),
        drained_from=np.array(
            [np.inf if node.drain_time is None else node.drain_time for node in nodes], dtype=np.float64
        ),
        usable=_ints([max(0, bits_of(tuple(sorted(node.usable_devices)))) for node in nodes]),
    )


def _ints(values: Sequence[int]) -> Ints:
    """A column; values that it cannot hold are cut off, which no start of a readable size has."""
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array([min(value, _MOST_OF_ALL) for value in values], dtype=np.int64)


def bits_of(devices: Sequence[int]) -> int:
    """Devices as bits; -1 when they are not ascending, or one has no bit."""
    last, bits = -1, 0
    for device in devices:
        if not last < device <= _MOST_DEVICE:
            return _ODD
        bits |= 1 << device
        last = device
    return bits


def known_bits(facts: RoundFacts) -> dict[tuple[int, ...], int]:
    """The bits of lists of devices, filled by :func:`row_of`."""
    return {}


def row_of(
    placements: Sequence[TaskPlacement],
    job: int,
    columns: SingleColumns,
    known: dict[tuple[int, ...], int],
) -> Row | None:
    """A job with ``placements``; None: it is not so plain.

    Args:
        placements: where it runs.
        job: the job's place in the round.
        columns: of the round.
        known: ``facts.once(known_bits)``.
    """
    group = columns.groups[job]
    if group is None or len(placements) != 1:
        return None
    name, node, tasks, devices, shares = FIELDS(placements[0])
    where = columns.node_index.get(node, -1)
    if name != group.name or where < 0 or shares or not 0 < tasks <= _MOST_TASKS:
        return None
    bits = known.get(devices)
    if bits is None:
        bits = known[devices] = bits_of(devices)
    return None if bits == _ODD else Row(job, where, tasks, bits, len(devices))


def singles_of(rows: Sequence[Row], facts: RoundFacts) -> Singles | None:
    """``rows`` as columns; None where sums over them might be more than a column holds."""
    columns = facts.once(single_columns)
    jobs, nodes, tasks, bits, listed = zip(*rows, strict=True)
    if columns.largest * max(tasks) * len(rows) >= _MOST_OF_ALL:
        return None
    paces = _paces_of(jobs, nodes, tasks, columns, facts)
    return Singles(
        columns,
        np.array(jobs, dtype=np.int64),
        np.array(nodes, dtype=np.int64),
        np.array(tasks, dtype=np.int64),
        np.array(bits, dtype=np.int64),
        np.array(listed, dtype=np.int64),
        paces[:, 0],
        paces[:, 1],
    )


def _paces_of(
    jobs: Sequence[int], nodes: Sequence[int], tasks: Sequence[int], columns: SingleColumns, facts: RoundFacts
) -> Floats:
    """Relative and absolute throughput of starts, shape (rows, 2)."""
    known, throughput = facts.once(_paces), facts.throughput
    found: list[tuple[float, float]] = []
    for job, node, count in zip(jobs, nodes, tasks, strict=True):
        key = (job, columns.type_names[node], count)
        pace = known.get(key)
        if pace is None:
            group = columns.groups[job]
            assert group is not None
            reference = throughput.reference(group)
            x = throughput.of_group(group, key[1], count, NODE)
            pace = (x / reference, x / reference * reference) if x > 0 and reference > 0 else (0.0, 0.0)
            known[key] = pace
        found.append(pace)
    return np.array(found, dtype=np.float64).reshape(len(found), 2)


def _paces(facts: RoundFacts) -> dict[tuple[int, str | None, int], tuple[float, float]]:
    """Paces on one node by job, type and tasks, filled by :func:`_paces_of`."""
    return {}
