"""Claims in force: places that are kept for waiting jobs, by the model's own reading (property P8).

A claim is in force while it has not expired, its job waits and may start, and its place is one that the job
may have beside all that goes on and every claim before it; a claim on part of a device never is. The model
takes such a job for one that runs there and may not be disturbed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from gangplan.domain.job import WHOLE_DEVICE, Job, TaskPlacement, TaskSplit
from gangplan.domain.plan import Claim
from gangplan.domain.round import Round
from gangplan.model.instance.as_placed import as_placed
from gangplan.model.instance.limits import Limits
from gangplan.model.instance.sites import NO_DOMAIN, Nodes, admits, pins_devices, task_vector
from gangplan.model.instance.spots import Spots
from gangplan.model.instance.throughput import Speeds
from gangplan.model.program import IntArray

Places = Mapping[str, tuple[TaskPlacement, ...]]


def claimed(
    round_: Round,
    kept: Places,
    held: Spots,
    queue: IntArray,
    closed: Collection[str],
    speeds: Speeds,
    empty: Nodes,
    nodes: Nodes,
    limits: Limits,
) -> Places:
    """The place of every job whose claim is in force; of several, the first to expire, then by name, place.

    Args:
        round_: the round.
        kept: what the jobs that may stay hold.
        held: the same as arrays.
        queue: shape (jobs,), position of the queue that each job counts in; -1: none.
        closed: names of jobs that may not start.
        speeds: throughput of any group anywhere.
        empty: the nodes while nobody holds anything.
        nodes: the nodes beside ``kept``.
        limits: who counts under which device limit.
    """
    if not round_.claims:
        return {}
    names = {claim.job for claim in round_.claims}
    jobs = {job.name: job for job in round_.jobs if job.name in names}
    where = {placement.node for claim in round_.claims for placement in claim.placements}
    pinned = {
        (placement.node, device)
        for placements in kept.values()
        for placement in placements
        if placement.node in where
        for device in placement.devices
    }
    room = _Room(nodes, empty.capacity - nodes.held, pinned, limits, _held(held, queue, nodes, limits))
    found: dict[str, tuple[TaskPlacement, ...]] = {}
    for claim in sorted(round_.claims, key=_turn):
        job = jobs.get(claim.job)
        if (
            job is not None
            and job.running is None
            and claim.expires_at > round_.now
            and claim.job not in closed
            and claim.job not in found
            and _is_a_way(job, claim.placements, speeds, nodes)
            and room.has(job, claim.placements)
        ):
            room.take(job, claim.placements)
            found[claim.job] = tuple(sorted(claim.placements, key=lambda p: (p.group, p.node)))
    return found


_Held = dict[str, dict[str, int]]
"""Thousandths of devices by queue, with those below it, and accelerator type."""


def _held(spots: Spots, queue_of: IntArray, nodes: Nodes, limits: Limits) -> _Held:
    """What the jobs of ``spots`` hold under every queue; ``queue_of`` has the queue of any job."""
    types = sorted({str(node.accelerator_type) for node in nodes.nodes})
    number = {name: t for t, name in enumerate(types)}
    type_of = np.array([number[str(node.accelerator_type)] for node in nodes.nodes], dtype=np.int64)
    queue = queue_of[spots.jobs[spots.owner]]
    milli = spots.amounts[:, 0] * WHOLE_DEVICE // nodes.parts
    some = (queue >= 0) & (milli > 0)
    table = np.zeros((len(limits.names), len(types)), dtype=np.int64)
    np.add.at(table, (queue[some], type_of[spots.node[some]]), milli[some])
    found: _Held = defaultdict(lambda: defaultdict(int))
    for own, row in zip(limits.ancestors, table.tolist(), strict=True):
        for above in own:
            for kind, amount in zip(types, row, strict=True):
                if amount:
                    found[limits.names[above]][kind] += amount
    return found


def _turn(claim: Claim) -> tuple[object, ...]:
    """Which of two claims goes before the other; of two for one job and moment, by place."""
    places = [(place.group, place.node, place.tasks, place.devices) for place in claim.placements]
    return (claim.expires_at, claim.job, places)


def _is_a_way(job: Job, placements: tuple[TaskPlacement, ...], speeds: Speeds, nodes: Nodes) -> bool:
    """Whether the job could start so on an empty cluster."""
    groups = {group.name: group for group in job.component.task_groups}
    if any(group.device_share is not None for group in groups.values()):
        return False
    tasks: dict[str, int] = defaultdict(int)
    where: dict[str, list[TaskPlacement]] = defaultdict(list)
    for placement in placements:
        group, n = groups.get(placement.group), nodes.index.get(placement.node)
        if group is None or n is None or placement.tasks < 1:
            return False
        if any(placement.node == other.node for other in where[group.name]):
            return False
        node, wanted = nodes.nodes[n], placement.tasks * group.devices_per_task
        if not nodes.open[n] or not admits(node, group):
            return False
        if group.devices_per_task and int(nodes.type_of[n]) not in speeds.allowed_types(group):
            return False
        indices = wanted if pins_devices(node) else 0
        if len(placement.devices) != indices or len(set(placement.devices)) != indices:
            return False
        if not node.usable_devices.issuperset(placement.devices):
            return False
        tasks[group.name] += placement.tasks
        where[group.name].append(placement)
    for name, group in groups.items():
        if tasks[name] not in group.allowed_counts:
            return False
        at = [nodes.index[placement.node] for placement in where[name]]
        if group.devices_per_task and len({int(nodes.type_of[n]) for n in at}) > 1:
            return False
        if group.split is TaskSplit.WHOLE_NODES and group.devices_per_task and len(at) > 1:
            whole = {int(nodes.built_in[n]) for n in at}
            held = {placement.tasks * group.devices_per_task for placement in where[name]}
            if len(whole) > 1 or whole != held:
                return False
    required = job.component.required_level
    if required is not None:
        used = [nodes.index[placement.node] for placement in placements]
        domains = set(nodes.domain_at[used, speeds.scopes.index(required)].tolist())
        if len(set(used)) > 1 and (len(domains) > 1 or NO_DOMAIN in domains):
            return False  # all on one node lie within every level, whatever domain that node is in
    return as_placed(job, placements, speeds, nodes).throughput > 0.0


class _Room:
    """What is free beside the jobs that stay and the claims that came first."""

    def __init__(
        self, nodes: Nodes, free: IntArray, pinned: set[tuple[str, int]], limits: Limits, held: _Held
    ) -> None:
        self._nodes = nodes
        self._free = free
        self._pinned = pinned
        self._limits = limits
        self._held = held

    def has(self, job: Job, placements: tuple[TaskPlacement, ...]) -> bool:
        """Whether the place is free, on its nodes and in its queues."""
        groups = {group.name: group for group in job.component.task_groups}
        need: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        for placement in placements:
            if any((placement.node, device) in self._pinned for device in placement.devices):
                return False
            for r, amount in enumerate(task_vector(groups[placement.group], self._nodes.parts)):
                need[self._nodes.index[placement.node]][r] += amount * placement.tasks
        devices = [(placement.node, d) for placement in placements for d in placement.devices]
        if len(devices) != len(set(devices)):
            return False
        if any(a and a > self._free[n, r] for n, asked in need.items() for r, a in enumerate(asked)):
            return False
        by_type = self._by_type(job, placements)
        for name in self._limits.chain(job):
            queue, held = self._limits.queues[name], self._held[name]
            if (
                queue.device_limit is not None
                and by_type
                and (sum(held.values()) + sum(by_type.values()) > queue.device_limit * WHOLE_DEVICE)
            ):
                return False
            for kind, limit in queue.device_limit_by_type.items():
                if by_type.get(kind) and held[kind] + by_type[kind] > limit * WHOLE_DEVICE:
                    return False
        return True

    def take(self, job: Job, placements: tuple[TaskPlacement, ...]) -> None:
        """Take the place."""
        groups = {group.name: group for group in job.component.task_groups}
        for placement in placements:
            n = self._nodes.index[placement.node]
            self._free[n] -= (
                np.array(task_vector(groups[placement.group], self._nodes.parts)) * placement.tasks
            )
            self._pinned.update((placement.node, device) for device in placement.devices)
        self._charge(job, placements)

    def _charge(self, job: Job, placements: tuple[TaskPlacement, ...]) -> None:
        for kind, devices in self._by_type(job, placements).items():
            for name in self._limits.chain(job):
                self._held[name][kind] += devices

    def _by_type(self, job: Job, placements: tuple[TaskPlacement, ...]) -> dict[str, int]:
        """Thousandths of devices by accelerator type."""
        per_task = {group.name: group.device_milli for group in job.component.task_groups}
        found: dict[str, int] = defaultdict(int)
        for placement in placements:
            if per_task[placement.group]:
                node = self._nodes.nodes[self._nodes.index[placement.node]]
                found[str(node.accelerator_type)] += per_task[placement.group] * placement.tasks
        return found
