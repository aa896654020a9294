"""Resizing in place: what a job that may not move can become (decision 18).

The programme takes such a job's other counts for options like any others, which can only raise its bound;
here they are bound to nested sets of nodes: fewer tasks where it runs, or more beside those that it has. It
stops and starts for that, so every node that it goes on using must be open to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

import numpy as np

from gangplan.domain.job import TaskSplit
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.sites import NO_DOMAIN, admits, task_vector
from gangplan.model.packing.occupancy import Occupancy
from gangplan.model.packing.shared_devices import with_whole
from gangplan.model.program import IntArray

Spots = tuple[tuple[int, tuple[int, ...]], ...]


def resize_in_place(occupancy: Occupancy, j: int, k: int) -> Spots | None:
    """Nested spots of running job ``j`` under option ``k``, taken; None, and nothing taken, without any.

    The job's present place must be free, and its quota is not charged here.
    """
    instance = occupancy.instance
    groups = instance.jobs[j].component.task_groups
    option = instance.option_at(k)
    spots: dict[int, list[int]] = {}
    for placement in instance.placements[j]:
        g = next(i for i, group in enumerate(groups) if group.name == placement.group)
        spots.setdefault(instance.nodes.index[placement.node], [0] * len(groups))[g] += placement.tasks
    for g, wanted in enumerate(option.counts):
        _shrink(spots, g, wanted, {n for n in spots if not _may_start(instance, j, g, n)})
    free = occupancy.free.copy()
    for node, tasks in spots.items():
        free[node] -= amounts(instance, j, tasks)
    for g, wanted in enumerate(option.counts):
        missing = wanted - sum(tasks[g] for tasks in spots.values())
        if missing and not _grow(instance, j, g, missing, option.scope, spots, free):
            return None
    found = {node: tuple(tasks) for node, tasks in spots.items() if any(tasks)}
    if any(
        n and not _may_start(instance, j, g, node)
        for node, tasks in found.items()
        for g, n in enumerate(tasks)
    ):
        return None
    used = np.array(sorted(found), dtype=np.int64)
    at = instance.nodes.domain_at[used, option.scope]
    if (free[used] < 0).any() or (at == NO_DOMAIN).any() or (at != at[0]).any():
        return None
    occupancy.free[:] = free
    occupancy.note(spots)
    return tuple(sorted(found.items()))


def amounts(instance: Instance, j: int, tasks: Sequence[int]) -> IntArray:
    """What so many tasks of each group of job ``j`` take, as :func:`with_whole` says it."""
    parts = instance.nodes.parts
    groups = instance.jobs[j].component.task_groups
    vectors = [with_whole(task_vector(group, parts), parts) for group in groups]
    taken: IntArray = np.array(vectors, dtype=np.int64).T @ np.array(tasks, dtype=np.int64)
    return taken


def _may_start(instance: Instance, j: int, g: int, node: int) -> bool:
    """Whether ``node`` takes new tasks of group ``g`` of job ``j``."""
    group = instance.jobs[j].component.task_groups[g]
    types = instance.speeds.allowed_types(group)
    fits = not group.devices_per_task or int(instance.nodes.type_of[node]) in types
    return fits and bool(instance.nodes.open[node]) and admits(instance.nodes.nodes[node], group)


def _shrink(spots: dict[int, list[int]], g: int, wanted: int, closed: Collection[int]) -> None:
    """Drop tasks of group ``g`` beyond ``wanted``, first on ``closed`` nodes, then where there are fewest."""
    over = sum(tasks[g] for tasks in spots.values()) - wanted
    for node in sorted(spots, key=lambda n: (n not in closed, spots[n][g], -n)):
        drop = min(max(over, 0), spots[node][g])
        spots[node][g] -= drop
        over -= drop


def _grow(
    instance: Instance,
    j: int,
    g: int,
    missing: int,
    scope: int,
    spots: dict[int, list[int]],
    free: IntArray,
) -> bool:
    """Add tasks of group ``g`` in the domain at ``scope``, first where the job is; whether all found room."""
    group = instance.jobs[j].component.task_groups[g]
    if group.split is TaskSplit.WHOLE_NODES and group.devices_per_task and len(spots) > 1:
        return False
    here = next(iter(spots))
    types = {int(instance.nodes.type_of[n]) for n, tasks in spots.items() if tasks[g]}
    domain = instance.nodes.domain_at[here, scope]
    task = np.array(
        with_whole(task_vector(group, instance.nodes.parts), instance.nodes.parts), dtype=np.int64
    )
    near = (instance.nodes.domain_at[:, scope] == domain) & (domain != NO_DOMAIN) & instance.nodes.open
    for r in np.flatnonzero(task).tolist():
        near &= free[:, r] >= task[r]
    own = [node for node in sorted(spots) if near[node]]
    near[own] = False
    for node in itertools.chain(own, (int(n) for n in np.flatnonzero(near))):
        if group.devices_per_task and int(instance.nodes.type_of[node]) not in types:
            continue
        if not admits(instance.nodes.nodes[node], group):
            continue
        needs = task > 0
        room = int((free[node][needs] // task[needs]).min())
        count = min(missing, room)
        spots.setdefault(node, [0] * len(spots[here]))[g] += count
        free[node] -= task * count
        missing -= count
        if not missing:
            return True
    return False
