"""Which running jobs cannot go on where they are, and why (decisions 17 and 20)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from gangplan.domain.cluster import DeviceReporting, Node, NodeHealth, TaintEffect
from gangplan.domain.job import Job, TaskGroup
from gangplan.domain.plan import ForcedReason
from gangplan.domain.round import Round
from gangplan.kept import Kept
from gangplan.model.verifier.gates import is_idle

_ORDER = tuple(ForcedReason)


def forced_reasons(round_: Round, kept: Kept | None = None) -> dict[str, ForcedReason]:
    """The reason of every running job that is forced off, by job name.

    When several reasons hold for one job, the first in the order of :class:`ForcedReason` is named, whatever
    the order of its placements, so that shuffled input gives the same answer (property P13).

    * ``NODE_GONE``: a node of it is absent.
    * ``NODE_UNHEALTHY``, ``NODE_DRAINED``: a node of it is out of order, or past its drain time.
    * ``NODE_TAINTED``: a NO_EXECUTE taint of a node that the group there does not tolerate.
    * ``DEVICE_UNHEALTHY``: one of its devices is out of order or does not exist; or it runs on a COUNT_ONLY
      node with fewer usable devices than the jobs there hold, and is among those that lose: latest start
      first (unknown is latest), then largest name, until the rest fits. Jobs that are forced off anyway hold
      nothing there.
    * ``DEVICE_LOST_TO_OTHERS``: one of its devices is used by others.
    * ``GANG_BROKEN``: a group is missing, unknown, of a count that is not allowed, spread over several
      accelerator types, has a wrong number of device indices, or holds another part of a device than it asks
      for, or a part where devices only count.
    * ``STOPPING``: it is being stopped already.
    * ``IDLE``: it is interactive, and nobody has used it for as long as its limit.

    Args:
        round_: the round.
        kept: the verifier's own of an earlier round; None: nothing.
    """
    kept = kept or Kept()
    nodes = kept.once("nodes", (round_.cluster,), lambda: {node.name: node for node in round_.cluster.nodes})
    past_drain = frozenset(
        node.name
        for node in round_.cluster.nodes
        if node.drain_time is not None and node.drain_time <= round_.now
    )
    running = [job for job in round_.jobs if job.running is not None]
    found = kept.each(
        "forced",
        running,
        lambda job: _reason(job, nodes, past_drain),
        beside=(past_drain,),
        among=nodes,
        looks_up=_places,
    )
    reasons: dict[str, ForcedReason] = {}
    for job, reason in zip(running, found, strict=True):
        if reason is not None:
            reasons[job.name] = reason
        elif is_idle(job, round_.now):
            reasons[job.name] = ForcedReason.IDLE
    if kept.once("count only", (round_.cluster,), lambda: _some_only_count(round_)):
        reasons.update(_losers(round_, nodes, reasons))
    return reasons


def _places(job: Job) -> list[str]:
    """Names of the nodes where a job runs."""
    return [] if job.running is None else [placement.node for placement in job.running.placements]


def _reason(job: Job, nodes: Mapping[str, Node], past_drain: Collection[str]) -> ForcedReason | None:
    """The first reason in order that holds for ``job``, short of the count of COUNT_ONLY devices and of
    idleness.
    """
    assert job.running is not None
    groups = {group.name: group for group in job.component.task_groups}
    found: set[ForcedReason] = set()
    for placement in job.running.placements:
        node = nodes.get(placement.node)
        if node is None:
            found.add(ForcedReason.NODE_GONE)
            continue
        if node.health is NodeHealth.UNHEALTHY:
            found.add(ForcedReason.NODE_UNHEALTHY)
        if node.name in past_drain:
            found.add(ForcedReason.NODE_DRAINED)
        group = groups.get(placement.group)
        if group is not None and node.taints and _repelled(group, node):
            found.add(ForcedReason.NODE_TAINTED)
        for device in placement.devices:
            if device in node.unhealthy_devices or not 0 <= device < node.device_count:
                found.add(ForcedReason.DEVICE_UNHEALTHY)
            elif device in node.used_by_others.devices:
                found.add(ForcedReason.DEVICE_LOST_TO_OTHERS)
    if not found and _broken(job, groups, nodes):
        found.add(ForcedReason.GANG_BROKEN)
    if not found and job.running.stopping:
        return ForcedReason.STOPPING
    return min(found, key=_ORDER.index) if found else None


def _repelled(group: TaskGroup, node: Node) -> bool:
    return any(
        taint.effect is TaintEffect.NO_EXECUTE and not any(t.tolerates(taint) for t in group.tolerations)
        for taint in node.taints
    )


def _broken(job: Job, groups: Mapping[str, TaskGroup], nodes: Mapping[str, Node]) -> bool:
    """Whether what runs is no legal gang. All its nodes are known to be present."""
    assert job.running is not None
    counts = dict.fromkeys(groups, 0)
    types: dict[str, str] = {}
    for placement in job.running.placements:
        group = groups.get(placement.group)
        if group is None or placement.tasks < 1:
            return True
        node = nodes[placement.node]
        counts[group.name] += placement.tasks
        exact = node.device_reporting is DeviceReporting.EXACT
        expected = placement.tasks * group.devices_per_task if exact else 0
        if len(placement.devices) != expected or len(set(placement.devices)) != expected:
            return True
        part = () if group.device_share is None else (group.device_share,)
        if placement.shares != part * placement.tasks or (part and not exact):
            return True
        if group.devices_per_task and (
            node.accelerator_type is None
            or types.setdefault(group.name, node.accelerator_type) != node.accelerator_type
        ):
            return True
    return any(counts[group.name] not in group.allowed_counts for group in groups.values())


def _some_only_count(round_: Round) -> bool:
    return any(node.device_reporting is DeviceReporting.COUNT_ONLY for node in round_.cluster.nodes)


def _losers(
    round_: Round, nodes: Mapping[str, Node], reasons: Mapping[str, ForcedReason]
) -> dict[str, ForcedReason]:
    """Jobs that a COUNT_ONLY node with too few usable devices can no longer hold."""
    held: dict[str, dict[str, int]] = {}
    use: dict[str, int] = {}
    for job in round_.jobs:
        if job.running is None or job.name in reasons:
            continue
        per_task = {group.name: group.devices_per_task for group in job.component.task_groups}
        for placement in job.running.placements:
            devices = placement.tasks * per_task[placement.group]
            if devices and nodes[placement.node].device_reporting is DeviceReporting.COUNT_ONLY:
                mine = held.setdefault(job.name, {})
                mine[placement.node] = mine.get(placement.node, 0) + devices
                use[placement.node] = use.get(placement.node, 0) + devices
    spare = {name: nodes[name].usable_device_count - total for name, total in use.items()}
    if all(left >= 0 for left in spare.values()):
        return {}
    losers: dict[str, ForcedReason] = {}
    for job in sorted((job for job in round_.jobs if job.name in held), key=_latest, reverse=True):
        mine = held[job.name]
        if any(spare[name] < 0 for name in mine):
            losers[job.name] = ForcedReason.DEVICE_UNHEALTHY
            for name, devices in mine.items():
                spare[name] += devices
    return losers


def _latest(job: Job) -> tuple[float, str]:
    assert job.running is not None
    started = job.running.started_at
    return (math.inf if started is None else started, job.name)
