"""How a job runs on given nodes: scope, throughput, devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.domain.job import Job, TaskPlacement
from gangplan.kept import Kept
from gangplan.model.instance.shapes import ShapeTable
from gangplan.model.instance.sites import NO_DOMAIN, Nodes, Vector, task_vector
from gangplan.model.instance.spots import Spots
from gangplan.model.instance.throughput import Speeds
from gangplan.model.program import IntArray
from gangplan.twins import twin_maker


@dataclass(frozen=True, slots=True)
class AsPlaced:
    """What a placement means.

    Attributes:
        scope: index into the scopes, widest first, of the narrowest level that holds all tasks.
        relative: X / X_ref of the slowest group (decision 7).
        throughput: work units per second.
        devices: devices held; a part of one counts as that part.
        wider_than_preferred: the locality term's flag.
        use: devices (in parts), CPU and memory by node index.
    """

    scope: int
    relative: float
    throughput: float
    devices: float
    wider_than_preferred: bool
    use: dict[int, Vector]


_as_placed = twin_maker(AsPlaced)


def as_placed(job: Job, placements: Sequence[TaskPlacement], speeds: Speeds, nodes: Nodes) -> AsPlaced:
    """How ``job`` runs at ``placements``, all of whose nodes exist."""
    groups = {group.name: group for group in job.component.task_groups}
    counts = dict.fromkeys(groups, 0)
    types: dict[str, int] = {}
    use: dict[int, Vector] = {}
    for placement in placements:
        n = nodes.index[placement.node]
        counts[placement.group] += placement.tasks
        types[placement.group] = nodes.type_of.item(n)
        task = task_vector(groups[placement.group], nodes.parts)
        had = use.get(n, (0, 0, 0))
        use[n] = (
            had[0] + task[0] * placement.tasks,
            had[1] + task[1] * placement.tasks,
            had[2] + task[2] * placement.tasks,
        )
    scope = narrowest(nodes, list(use))
    relative, throughput = speed_at(job, counts, types, scope, speeds)
    preferred = job.component.preferred_level
    return AsPlaced(
        scope=scope,
        relative=relative,
        throughput=throughput,
        devices=sum(amounts[0] for amounts in use.values()) / nodes.parts,
        wider_than_preferred=preferred is not None and scope < speeds.scopes.index(preferred),
        use=use,
    )


def stay_placed(
    jobs: Sequence[Job], spots: Spots, shapes: ShapeTable, speeds: Speeds, nodes: Nodes, kept: Kept
) -> list[AsPlaced]:
    """How the jobs that may stay where they run do run there.

    Args:
        jobs: that may stay, in the order of ``spots``.
        spots: what they hold.
        shapes: of all components.
        speeds: throughput of any group anywhere.
        nodes: of the round.
        kept: of an earlier round.
    """

    def placed(at: Sequence[int]) -> list[AsPlaced]:
        some = spots if len(at) == len(jobs) else spots.take(np.array(at, dtype=np.int64))
        return _all_placed([jobs[i] for i in at], some, shapes, speeds, nodes)

    beside = (speeds, nodes.index, nodes.type_of, nodes.domain_at, nodes.parts)
    return kept.together("as placed", jobs, placed, beside=beside)


def _all_placed(
    jobs: Sequence[Job], spots: Spots, shapes: ShapeTable, speeds: Speeds, nodes: Nodes
) -> list[AsPlaced]:
    """:func:`as_placed` of many jobs, those of a structure at once."""
    if not jobs:
        return []
    owners = np.arange(len(jobs))
    scope = narrowest_of(nodes, spots.node, np.searchsorted(spots.owner, owners))
    widest = int(spots.group.max()) + 1
    counts = np.zeros((len(jobs), widest), dtype=np.int64)
    np.add.at(counts, (spots.owner, spots.group), spots.tasks)
    types = np.full((len(jobs), widest), -1, dtype=np.int64)
    types[spots.owner, spots.group] = nodes.type_of[spots.node]
    relative, throughput = np.zeros(len(jobs)), np.zeros(len(jobs))
    wide = np.zeros(len(jobs), dtype=np.bool_)
    position = np.full(len(shapes.shape_of_job), -1, dtype=np.int64)
    position[spots.jobs] = owners
    for alike in shapes.alike:
        where = position[alike.jobs]
        mine, row = where[where >= 0], alike.row_of[where >= 0]
        if len(mine):
            relative[mine], throughput[mine] = alike.speed_at(row, counts[mine], types[mine], scope[mine])
            preferred = alike.structure.component.preferred_level
            wide[mine] = preferred is not None and scope[mine] < speeds.scopes.index(preferred)
    for o in np.flatnonzero(np.isnan(relative)).tolist():
        running = jobs[o].running
        assert running is not None
        alone = as_placed(jobs[o], running.placements, speeds, nodes)
        relative[o], throughput[o] = alone.relative, alone.throughput
    devices = np.zeros(len(jobs), dtype=np.int64)
    np.add.at(devices, spots.owner, spots.amounts[:, 0])
    use: list[dict[int, Vector]] = [{} for _ in jobs]
    for o, n, (one, cpu, memory) in zip(
        spots.owner.tolist(), spots.node.tolist(), spots.amounts.tolist(), strict=True
    ):
        had = use[o].get(n)
        use[o][n] = (one, cpu, memory) if had is None else (had[0] + one, had[1] + cpu, had[2] + memory)
    shares = (devices / nodes.parts).tolist()
    columns = (scope.tolist(), relative.tolist(), throughput.tolist(), shares, wide.tolist(), use)
    return list(map(_as_placed, *columns))


def narrowest_of(nodes: Nodes, node: IntArray, start: IntArray) -> IntArray:
    """:func:`narrowest` of many jobs, each with the entries of ``node`` from its start to the next one's."""
    table = nodes.domain_at[node]
    first = np.minimum.reduceat(table, start, axis=0)
    shared = (first == np.maximum.reduceat(table, start, axis=0)) & (first != NO_DOMAIN)
    shared[:, 0] = True
    found: IntArray = shared.shape[1] - 1 - np.argmax(shared[:, ::-1], axis=1)
    return found


def speed_at(
    job: Job, counts: Mapping[str, int], types: Mapping[str, int], scope: int, speeds: Speeds
) -> tuple[float, float]:
    """Relative and absolute throughput of ``job`` with so many tasks of each group, on such types."""
    ratios = []
    rate = None
    groups = job.component.task_groups
    for group in groups:
        if group.devices_per_task:
            reference = speeds.reference(group)
            type_ = types.get(group.name, -1)
            x = speeds.group(group, type_, counts[group.name], scope) if type_ >= 0 else 0.0
            ratios.append(x / reference if reference > 0 else 0.0)
            rate = reference if rate is None else rate
    relative = min(ratios) if ratios else min([counts[g.name] / g.count for g in groups])
    return relative, relative * (float(groups[0].count) if rate is None else rate)


def narrowest(nodes: Nodes, used: Sequence[int]) -> int:
    """The narrowest scope whose one domain holds the ``used`` nodes, each named once."""
    if len(used) == 1:
        return int(nodes.domain_at.shape[1]) - 1
    table = nodes.domain_at[used]
    shared = (table == table[0]).all(axis=0) & (table[0] != NO_DOMAIN)
    shared[0] = True
    return int(np.flatnonzero(shared)[-1])
