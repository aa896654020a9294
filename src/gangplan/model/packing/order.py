"""From an assignment to a plan: device indices, kinds of actions, and what waits for what.

A start waits for the stops of those who hold its devices now, and, where a node could not hold everybody
at once, for every stop on that node. Stops wait for nothing, so there is never a cycle (decision 18).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.domain.job import Job, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, Plan, Precondition
from gangplan.model.instance.as_placed import as_placed
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.sites import Vector, pins_devices
from gangplan.model.packing.assignment import Assignment
from gangplan.model.program import IntArray

_ORDER = (ActionKind.EVICT, ActionKind.RESIZE, ActionKind.MIGRATE, ActionKind.PLACE, ActionKind.KEEP)


@dataclass(frozen=True, slots=True)
class _Side:
    """What one job gives up or takes on one node."""

    job: int
    devices: frozenset[int]
    amounts: Vector


def make_plan(instance: Instance, assignment: Assignment) -> Plan:
    """The plan that turns the present into ``assignment``."""
    after = _placements(instance, assignment)
    kinds: dict[int, ActionKind] = {}
    for j, job in enumerate(instance.jobs):
        kind = _kind(job, after.get(j), forced=j in instance.forced)
        if kind is not None:
            kinds[j] = kind
    stops, starts = _sides(instance, kinds, after)
    waits = _waits(instance, stops, starts)
    beneficiaries = _Beneficiaries(instance, kinds, after, waits)
    ordered = sorted(kinds, key=lambda j: (_ORDER.index(kinds[j]), j))
    return Plan(
        tuple(
            _action(
                instance,
                j,
                kinds,
                after.get(j, ()),
                waits.get(j, set()),
                beneficiaries.of(j),
            )
            for j in ordered
        )
    )


def _kind(job: Job, after: tuple[TaskPlacement, ...] | None, *, forced: bool) -> ActionKind | None:
    if job.running is None:
        return None if after is None else ActionKind.PLACE
    if after is None:
        return ActionKind.EVICT
    before = tuple(sorted(job.running.placements, key=_placement_key))
    if not forced and before == after:
        return ActionKind.KEEP
    if not forced and _counts(before) != _counts(after) and _nested(before, after):
        return ActionKind.RESIZE
    return ActionKind.MIGRATE


def _placement_key(placement: TaskPlacement) -> tuple[str, str]:
    return placement.group, placement.node


def _counts(placements: Sequence[TaskPlacement]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for placement in placements:
        counts[placement.group] += placement.tasks
    return counts


def _nested(before: Sequence[TaskPlacement], after: Sequence[TaskPlacement]) -> bool:
    """Whether, group by group, one of the two holds everything that the other holds (decision 18)."""
    for group in {p.group for p in (*before, *after)}:
        one = {p.node: p for p in before if p.group == group}
        two = {p.node: p for p in after if p.group == group}
        if not (_within(one, two) or _within(two, one)):
            return False
    return True


def _within(small: Mapping[str, TaskPlacement], large: Mapping[str, TaskPlacement]) -> bool:
    return all(
        node in large
        and placement.tasks <= large[node].tasks
        and set(placement.devices) <= set(large[node].devices)
        for node, placement in small.items()
    )


def _placements(instance: Instance, assignment: Assignment) -> dict[int, tuple[TaskPlacement, ...]]:
    """Where every running job ends up, with device indices on the nodes that pin them."""
    after = {j: tuple(sorted(instance.placements[j], key=_placement_key)) for j in assignment.kept}
    held: dict[int, set[int]] = defaultdict(set)
    free: dict[int, set[int]] = {}
    leaving: dict[int, set[int]] = defaultdict(set)
    own: dict[tuple[int, int, str], tuple[int, ...]] = {}
    for j, job in enumerate(instance.jobs):
        if job.running is None:
            continue
        for placement in job.running.placements:
            n = instance.nodes.index.get(placement.node)
            if n is not None:
                (held if j in assignment.kept else leaving)[n].update(placement.devices)
                own[j, n, placement.group] = placement.devices
    for j, placed in sorted(assignment.placed.items()):
        groups = instance.jobs[j].component.task_groups
        mine = []
        for n, tasks in placed.spots:
            node = instance.nodes.nodes[n]
            for group, count in zip(groups, tasks, strict=True):
                if not count:
                    continue
                devices: tuple[int, ...] = ()
                wanted = count * group.devices_per_task
                if wanted and pins_devices(node):
                    if n not in free:
                        free[n] = set(node.usable_devices - held[n])
                    before = own.get((j, n, group.name), ())
                    ranked = sorted(free[n], key=lambda d: (d not in before, d in leaving[n], d))
                    devices = tuple(sorted(ranked[:wanted]))
                    free[n].difference_update(devices)
                mine.append(TaskPlacement(group.name, node.name, count, devices))
        after[j] = tuple(sorted(mine, key=_placement_key))
    return after


def _sides(
    instance: Instance, kinds: Mapping[int, ActionKind], after: Mapping[int, tuple[TaskPlacement, ...]]
) -> tuple[dict[int, list[_Side]], dict[int, list[_Side]]]:
    """Stops and starts by node. A resized job is read as one that stops and starts."""
    stops: dict[int, list[_Side]] = defaultdict(list)
    starts: dict[int, list[_Side]] = defaultdict(list)
    for j, kind in kinds.items():
        if kind is ActionKind.KEEP:
            continue
        job = instance.jobs[j]
        if job.running is not None:
            there = [p for p in job.running.placements if p.node in instance.nodes.index]
            _add_sides(instance, j, there, stops)
    for j, kind in kinds.items():
        if stops and kind is not ActionKind.KEEP:
            _add_sides(instance, j, after.get(j, ()), starts)
    return stops, starts


def _add_sides(
    instance: Instance, j: int, placements: Sequence[TaskPlacement], sides: dict[int, list[_Side]]
) -> None:
    groups = {group.name: group for group in instance.jobs[j].component.task_groups}
    by_node: dict[int, tuple[set[int], IntArray]] = {}
    for placement in placements:
        group = groups.get(placement.group)
        if group is None:
            continue
        devices, amounts = by_node.setdefault(
            instance.nodes.index[placement.node], (set(), np.zeros(3, dtype=np.int64))
        )
        devices.update(placement.devices)
        amounts += (
            np.array(
                (
                    group.devices_per_task,
                    group.resources_per_task.cpu_milli,
                    group.resources_per_task.memory_bytes,
                )
            )
            * placement.tasks
        )
    for n, (devices, amounts) in by_node.items():
        sides[n].append(_Side(j, frozenset(devices), (int(amounts[0]), int(amounts[1]), int(amounts[2]))))


def _waits(
    instance: Instance, stops: Mapping[int, list[_Side]], starts: Mapping[int, list[_Side]]
) -> dict[int, set[int]]:
    """For every job that starts: the jobs whose stop it waits for."""
    waits: dict[int, set[int]] = defaultdict(set)
    for n, coming in starts.items():
        going = stops.get(n, [])
        if not going:
            continue
        node = instance.nodes.nodes[n]
        usable = node.usable_resources
        devices = 2**62 if pins_devices(node) else node.usable_device_count
        limit = np.array((devices, usable.cpu_milli, usable.memory_bytes))
        staying = _staying(instance, n, going)
        everybody = staying + sum(np.array(side.amounts) for side in (*going, *coming))
        crowded = bool((everybody > limit).any())
        for start in coming:
            for stop in going:
                if stop.job != start.job and (crowded or start.devices & stop.devices):
                    waits[start.job].add(stop.job)
    return waits


def _staying(instance: Instance, n: int, going: Sequence[_Side]) -> IntArray:
    """What stays on node ``n``: what is held by jobs that may stay, less what of it stops."""
    staying: IntArray = instance.nodes.held[n].copy()
    for side in going:
        if side.job in instance.placements:
            staying -= np.array(side.amounts)
    return staying


class _Beneficiaries:
    """For whom a disruption by choice is: those who wait for it, else who takes its quota, else itself.

    Only who starts, moves or grows has any good of it (property P5).
    """

    def __init__(
        self,
        instance: Instance,
        kinds: Mapping[int, ActionKind],
        after: Mapping[int, tuple[TaskPlacement, ...]],
        waits: Mapping[int, set[int]],
    ) -> None:
        self._instance, self._kinds = instance, kinds
        self._gaining = sorted(
            j for j, kind in kinds.items() if _gains(instance.jobs[j], kind, after.get(j, ()))
        )
        self._helped: dict[int, list[int]] = defaultdict(list)
        for j in self._gaining:
            for other in waits.get(j, ()):
                self._helped[other].append(j)
        limited = {
            q.name for q in instance.round.queues if q.device_limit is not None or q.device_limit_by_type
        }
        self._limited = tuple(
            frozenset(a for a in ancestors if instance.queue_names[a] in limited)
            for ancestors in instance.queue_ancestors
        )

    def of(self, j: int) -> list[int]:
        """Whom the action on job ``j`` is for; empty where it is forced or nobody is disrupted."""
        if j not in self._instance.placements or self._kinds[j] is ActionKind.KEEP:
            return []
        if self._helped[j]:
            return self._helped[j]
        if self._kinds[j] is not ActionKind.EVICT:
            return [j]
        mine = self._limited_queues(j)
        return [other for other in self._gaining if mine & self._limited_queues(other)] if mine else []

    def _limited_queues(self, j: int) -> frozenset[int]:
        queue = self._instance.classes[int(self._instance.class_of_job[j])].queue
        return self._limited[queue] if queue >= 0 else frozenset()


def _gains(job: Job, kind: ActionKind, after: Sequence[TaskPlacement]) -> bool:
    """Whether the job starts, moves, or gets more tasks of some group."""
    if kind is ActionKind.RESIZE and job.running is not None:
        before = _counts(job.running.placements)
        return any(count > before.get(group, 0) for group, count in _counts(after).items())
    return kind in (ActionKind.PLACE, ActionKind.MIGRATE)


def _action(
    instance: Instance,
    j: int,
    kinds: Mapping[int, ActionKind],
    placements: tuple[TaskPlacement, ...],
    waits: set[int],
    beneficiaries: Sequence[int],
) -> Action:
    job, kind = instance.jobs[j], kinds[j]
    scope, throughput = "", 0.0
    if placements:
        placed = as_placed(job, placements, instance.speeds, instance.nodes)
        scope, throughput = instance.speeds.scopes[placed.scope], placed.throughput
    read = [Precondition("job", job.name, job.revision)] if job.revision else []
    for name in sorted({p.node for p in placements}):
        node = instance.nodes.nodes[instance.nodes.index[name]]
        if node.revision:
            read.append(Precondition("node", name, node.revision))
    return Action(
        id=_id(kind, job),
        kind=kind,
        job=job.name,
        placements=placements,
        scope=scope,
        throughput=throughput,
        depends_on=tuple(_id(kinds[other], instance.jobs[other]) for other in sorted(waits)),
        beneficiaries=tuple(instance.jobs[other].name for other in beneficiaries),
        forced=instance.forced.get(j),
        preconditions=tuple(read),
    )


def _id(kind: ActionKind, job: Job) -> str:
    return f"{kind.value.lower()}/{job.name}"
