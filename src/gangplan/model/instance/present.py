"""What holds now: who runs where, who has lost that place, and what is left on every node.

This is the model's own reading of the present; the verifier has another (``forced.py``), and a property
holds the two against each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from gangplan.domain.cluster import DeviceReporting, Node, NodeHealth, TaintEffect
from gangplan.domain.job import Job, TaskGroup, TaskPlacement
from gangplan.domain.plan import ForcedReason
from gangplan.domain.round import Round
from gangplan.kept import Kept
from gangplan.model.instance.gates import idle_too_long


@dataclass(frozen=True, slots=True)
class Present:
    """The present, by job name.

    Attributes:
        kept: running jobs that may stay, with their placements.
        forced: running jobs that cannot stay, and why.
    """

    kept: Mapping[str, tuple[TaskPlacement, ...]]
    forced: Mapping[str, ForcedReason]


def present(round_: Round, before: Kept | None = None) -> Present:
    """Split the running jobs into those that may stay and those that cannot (decision 17).

    Args:
        round_: the round.
        before: the model's own of an earlier round; None: nothing.
    """
    before = before or Kept()
    nodes, only_count = before.once("nodes", (round_.cluster,), lambda: _nodes(round_))
    drained = frozenset(
        [
            node.name
            for node in round_.cluster.nodes
            if node.drain_time is not None and node.drain_time <= round_.now
        ]
    )
    sound = before.once(
        "sound",
        (round_.cluster, drained),
        lambda: frozenset(name for name, node in nodes.items() if _is_sound(node, drained)),
    )
    running = [job for job in round_.jobs if job.running is not None]
    lost = before.each(
        "lost",
        running,
        lambda job: _lost(job, nodes, drained, sound),
        beside=(drained,),
        among=nodes,
        looks_up=_nodes_of,
    )
    lost = list(lost)  # what is kept is not changed
    for i in [i for i, one in enumerate(map(attrgetter("interactive"), running)) if one is not None]:
        if lost[i] is None and idle_too_long(running[i], round_.now):
            lost[i] = ForcedReason.IDLE
    kept = {job.name: job for job, reason in zip(running, lost, strict=True) if reason is None}
    forced = {job.name: reason for job, reason in zip(running, lost, strict=True) if reason is not None}
    for name in _overcounted(kept, nodes) if only_count else ():
        forced[name] = ForcedReason.DEVICE_UNHEALTHY
        del kept[name]
    return Present(
        kept={name: job.running.placements for name, job in kept.items() if job.running is not None},
        forced=forced,
    )


def _nodes(round_: Round) -> tuple[dict[str, Node], bool]:
    """Nodes by name, and whether devices of some only count."""
    nodes = {node.name: node for node in round_.cluster.nodes}
    return nodes, any(node.device_reporting is DeviceReporting.COUNT_ONLY for node in nodes.values())


def _nodes_of(job: Job) -> list[str]:
    return [] if job.running is None else [placement.node for placement in job.running.placements]


def _lost(
    job: Job, nodes: Mapping[str, Node], drained: Collection[str], sound: Collection[str]
) -> ForcedReason | None:
    """The gravest reason why a running job cannot stay, in the order in which they are declared.

    Idleness, the last of them, is left out: it hangs on the time. Nodes that are ``sound`` give no reason.
    """
    assert job.running is not None
    groups = {group.name: group for group in job.component.task_groups}
    found = {
        reason
        for placement in job.running.placements
        if placement.node not in sound
        for reason in _reasons(placement, nodes.get(placement.node), groups.get(placement.group), drained)
    }
    if found:
        return next(reason for reason in ForcedReason if reason in found)
    if _gang_broken(job, groups, nodes):
        return ForcedReason.GANG_BROKEN
    return ForcedReason.STOPPING if job.running.stopping else None


def _is_sound(node: Node, drained: Collection[str]) -> bool:
    """Whether nothing of a node can force off who runs there."""
    return (
        node.health is not NodeHealth.UNHEALTHY
        and node.name not in drained
        and not node.taints
        and not node.unhealthy_devices
        and not node.used_by_others.devices
    )


def _reasons(
    placement: TaskPlacement, node: Node | None, group: TaskGroup | None, drained: Collection[str]
) -> Iterator[ForcedReason]:
    if node is None:
        yield ForcedReason.NODE_GONE
        return
    if node.health is NodeHealth.UNHEALTHY:
        yield ForcedReason.NODE_UNHEALTHY
    if node.name in drained:
        yield ForcedReason.NODE_DRAINED
    tolerations = group.tolerations if group else ()
    if node.taints and any(
        taint.effect is TaintEffect.NO_EXECUTE and not any(t.tolerates(taint) for t in tolerations)
        for taint in node.taints
    ):
        yield ForcedReason.NODE_TAINTED
    if not node.unhealthy_devices.isdisjoint(placement.devices):
        yield ForcedReason.DEVICE_UNHEALTHY
    if not node.used_by_others.devices.isdisjoint(placement.devices):
        yield ForcedReason.DEVICE_LOST_TO_OTHERS


def _gang_broken(job: Job, groups: Mapping[str, TaskGroup], nodes: Mapping[str, Node]) -> bool:
    """Whether a running job, all of whose nodes exist, does not hold what its groups may hold."""
    assert job.running is not None
    tasks = dict.fromkeys(groups, 0)
    types: dict[str, str] = {}
    for placement in job.running.placements:
        group = groups.get(placement.group)
        if group is None:
            return True
        node = nodes[placement.node]
        tasks[group.name] += placement.tasks
        wanted = placement.tasks * group.devices_per_task
        if node.device_reporting is DeviceReporting.EXACT and len(placement.devices) != wanted:
            return True
        if not _as_asked(placement, group, node):
            return True
        if group.devices_per_task:
            kind = node.accelerator_type
            if kind is None or types.setdefault(group.name, kind) != kind:
                return True
    return any(tasks[group.name] not in group.allowed_counts for group in groups.values())


def _as_asked(placement: TaskPlacement, group: TaskGroup, node: Node) -> bool:
    """Whether a placement holds the part of its devices that the group asks for, where it can be told."""
    if group.device_share is None:
        return not placement.shares
    pinned = node.device_reporting is DeviceReporting.EXACT
    return pinned and placement.shares == (group.device_share,) * len(placement.devices)


def _overcounted(kept: Mapping[str, Job], nodes: Mapping[str, Node]) -> list[str]:
    """Jobs that must leave COUNT_ONLY nodes that lost devices: of all, the last started goes first."""
    held: dict[str, int] = defaultdict(int)
    share: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for job in kept.values():
        assert job.running is not None
        per_task = {group.name: group.devices_per_task for group in job.component.task_groups}
        for placement in job.running.placements:
            devices = placement.tasks * per_task[placement.group]
            if devices and nodes[placement.node].device_reporting is DeviceReporting.COUNT_ONLY:
                held[placement.node] += devices
                share[job.name][placement.node] += devices

    def age_rank(name: str) -> tuple[float, str]:
        running = kept[name].running
        assert running is not None
        return (float("inf") if running.started_at is None else running.started_at, name)

    over = {node for node, devices in held.items() if devices > nodes[node].usable_device_count}
    lost: list[str] = []
    for name in sorted(share, key=age_rank, reverse=True):
        if not over:
            break
        if over.isdisjoint(share[name]):
            continue
        lost.append(name)
        for node, devices in share[name].items():
            held[node] -= devices
            if held[node] <= nodes[node].usable_device_count:
                over.discard(node)
    return lost
