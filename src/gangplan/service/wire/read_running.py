"""Present placements on the wire -> :class:`~gangplan.domain.job.Running`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from gangplan.domain.cluster import DeviceReporting, Node
from gangplan.domain.job import WHOLE_DEVICE, DeviceShare, Running, TaskPlacement
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_cluster import are_indices, check_indices
from gangplan.service.wire.read_share import read_share
from gangplan.twins import twin_maker
from gangplan.v1 import job_pb2

_PARTS = "\nparts"
"""Stands after a node's name where its devices are held in parts; no name has a line's end."""
_running, _placement = twin_maker(Running), twin_maker(TaskPlacement)


def read_running(
    message: job_pb2.Running,
    path: str,
    groups: AbstractSet[str],
    nodes: Mapping[str, Node],
    taken: dict[str, dict[int, str]],
    fields: Fields,
) -> Running:
    """Where a job runs.

    A node that is not there, a wrong number of devices or a count that is not allowed is the state of the
    world and no error (the job is evicted, forced); indices that cannot be, or one device held twice,
    contradict themselves.

    Args:
        message: what to read.
        path: where it stands.
        groups: the job's task groups.
        nodes: the cluster's nodes by name.
        taken: path of the placement that holds a device, by node and index; of parts under the node's name
            and :data:`_PARTS`; added to.
        fields: collects what is wrong.
    """
    if not message.placements:
        fields.refuse(
            f"{path}placements", "a job that runs has at least one placement; leave `running` unset otherwise"
        )
    placements = read_placements(message.placements, path, groups, fields)
    for index, placement in enumerate(placements):
        if not placement.devices:
            continue
        here = f"{path}placements[{index}]"
        node = nodes.get(placement.node)
        if node is not None and node.device_reporting is DeviceReporting.COUNT_ONLY:
            fields.refuse(f"{here}.devices", f"node {node.name!r} is COUNT_ONLY: it has no device indices")
            continue
        devices = set(placement.devices)
        count = None if node is None else node.device_count
        if not are_indices(placement.devices, devices, count):
            check_indices(message.placements[index].devices, f"{here}.devices", count, fields)
        if node is None:
            continue
        held = taken.setdefault(node.name, {})
        if placement.shares:  # parts may be of one device; together too much of it is the state of the world
            for device in sorted(devices & held.keys()):
                fields.refuse(
                    f"{here}.devices",
                    f"device {device} of node {node.name!r} is also held, all of it, at {held[device]}",
                )
            parts = taken.setdefault(node.name + _PARTS, {})
            for device in devices:
                parts.setdefault(device, here)
            continue
        for device in sorted(devices & taken.get(node.name + _PARTS, {}).keys()):
            first = taken[node.name + _PARTS][device]
            fields.refuse(
                f"{here}.devices", f"device {device} of node {node.name!r} is also held, a part, at {first}"
            )
        if held.keys().isdisjoint(devices):
            held.update(dict.fromkeys(devices, here))
            continue
        for device in sorted(devices):
            first = held.setdefault(device, here)
            if first is not here:
                fields.refuse(
                    f"{here}.devices", f"device {device} of node {node.name!r} is also held at {first}"
                )
    return _running(
        placements,
        fields.instant(message.started_at, path, "started_at") if message.HasField("started_at") else None,
        fields.duration(message.checkpoint_age, path, "checkpoint_age")
        if message.HasField("checkpoint_age")
        else None,
        fields.instant(message.next_safe_point, path, "next_safe_point")
        if message.HasField("next_safe_point")
        else None,
        fields.instant(message.minimum_run_until, path, "minimum_run_until")
        if message.HasField("minimum_run_until")
        else None,
        message.stopping,
    )


def holds(running: Running, path: str, taken: dict[str, dict[int, str]]) -> bool:
    """Note what a plain job holds, where that is surely nobody else's; else note nothing.

    Args:
        running: where it runs, read in some other way.
        path: where that stands, with a dot at its end.
        taken: as for :func:`read_running`.

    Returns:
        Whether it was noted.
    """
    own: dict[str, dict[int, str]] = {}
    for index, placement in enumerate(running.placements):
        if not placement.devices:
            continue
        mine = own.setdefault(placement.node, {})
        held = taken.get(placement.node, {})
        if (
            placement.node + _PARTS in taken
            or not held.keys().isdisjoint(placement.devices)
            or not mine.keys().isdisjoint(placement.devices)
        ):
            return False
        mine.update(dict.fromkeys(placement.devices, f"{path}placements[{index}]"))
    for node, mine in own.items():
        taken.setdefault(node, {}).update(mine)
    return True


def read_placements(
    messages: Sequence[job_pb2.TaskPlacement], path: str, groups: AbstractSet[str] | None, fields: Fields
) -> tuple[TaskPlacement, ...]:
    """Placements, one for each pair of group and node; ``groups`` None: any group's name will do."""
    seen: set[tuple[str, str]] = set()
    placements = []
    for index, message in enumerate(messages):
        here = f"{path}placements[{index}]"
        group = message.group
        if groups is None:
            fields.name(group, here, ".group")
        elif group not in groups:
            fields.refuse(f"{here}.group", f"the job has no task group {group!r}")
        node = fields.name(message.node, here, ".node")
        if (group, node) in seen:
            fields.refuse(
                here, f"tasks of {group!r} on {node!r} are listed twice; give one entry with their sum"
            )
        seen.add((group, node))
        tasks = fields.integer(message.tasks, here, ".tasks", 1, limits.TASKS)
        devices: tuple[int, ...] = tuple(sorted(message.devices[:]))
        shares: tuple[DeviceShare, ...] = ()
        if message.shares:
            devices, shares = _read_parts(message, here, fields)
        placements.append(_placement(group, node, tasks, devices, shares))
    return tuple(placements)


def _read_parts(
    message: job_pb2.TaskPlacement, path: str, fields: Fields
) -> tuple[tuple[int, ...], tuple[DeviceShare, ...]]:
    """Devices, ascending, and what of each; nothing where it is all of all."""
    shares = [
        read_share(share, f"{path}.shares[{index}]", fields) for index, share in enumerate(message.shares)
    ]
    if len(shares) != len(message.devices):
        counts = f"{len(shares)} entries for {len(message.devices)} devices"
        fields.refuse(f"{path}.shares", f"has {counts}; give mode and compute_milli of each")
    pairs = sorted(zip(message.devices, shares, strict=False), key=lambda pair: pair[0])
    parts = tuple(share or DeviceShare(WHOLE_DEVICE) for _, share in pairs)
    return tuple(device for device, _ in pairs), parts if any(shares) else ()
