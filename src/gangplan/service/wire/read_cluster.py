"""Cluster on the wire -> :class:`~gangplan.domain.cluster.Cluster`."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from gangplan.domain.cluster import (
    AcceleratorType,
    Cluster,
    DeviceReporting,
    Node,
    NodeHealth,
    OtherUse,
    Resources,
    Taint,
    TaintEffect,
)
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_topology import read_topology
from gangplan.twins import twin_maker
from gangplan.v1 import accelerator_pb2, cluster_pb2, job_pb2, resources_pb2

TAINT_EFFECTS = {
    cluster_pb2.TAINT_EFFECT_NO_SCHEDULE: TaintEffect.NO_SCHEDULE,
    cluster_pb2.TAINT_EFFECT_NO_EXECUTE: TaintEffect.NO_EXECUTE,
}
_NOTHING = Resources()
_NO_OTHERS = OtherUse()
_node = twin_maker(Node)


def read_cluster(message: cluster_pb2.Cluster, path: str, types: frozenset[str], fields: Fields) -> Cluster:
    """The cluster, classes expanded; ``types`` are the catalogued accelerator types."""
    topology = read_topology(message.topology, f"{path}topology.", fields)
    domains = frozenset(domain.name for domain in topology.domains)
    seen: dict[str, str] = {}
    alike_nodes: dict[bytes, Node] = {}
    bare = cluster_pb2.Node()
    nodes: list[Node] = []
    names = [one.name for one in message.nodes]
    sure = fields.surely_names([*names, *(name for alike in message.node_classes for name in alike.names)])
    for index, (name, one) in enumerate(zip(names, message.nodes, strict=True)):
        here = f"{path}nodes[{index}]."
        if not sure:
            fields.name(name, here, "name")
            fields.unique(seen, name, f"{here}name")
        bare.CopyFrom(one)
        bare.ClearField("name")
        bare.ClearField("revision")
        key = bare.SerializeToString(deterministic=True)
        like = alike_nodes.get(key)
        if like is not None:
            nodes.append(_member(like, name, fields.text(one.revision, here, "revision")))
            continue
        before = len(fields.invalid)
        node = _read_node(one, here, domains, types, fields)
        nodes.append(node)
        if len(fields.invalid) == before:
            alike_nodes[key] = node
    for index, alike in enumerate(message.node_classes):
        here = f"{path}node_classes[{index}]."
        inside = f"{here}template."
        refuse_own_names(alike.template, inside, fields)
        template = _read_node(alike.template, inside, domains, types, fields)
        for name, revision in read_members(alike.names, alike.revisions, here, seen, fields, sure=sure):
            nodes.append(_member(template, name, revision))
    if not nodes and not message.node_classes:
        fields.refuse(f"{path}nodes", "the cluster has no node")
    return Cluster(topology, tuple(nodes))


def _member(template: Node, name: str, revision: str) -> Node:
    """A node like ``template``; ten times as quick as ``dataclasses.replace``."""
    return _node(
        name,
        template.domain,
        template.accelerator_type,
        template.device_count,
        template.resources,
        template.device_reporting,
        template.unhealthy_devices,
        template.unhealthy_device_count,
        template.labels,
        template.taints,
        template.cordoned,
        template.health,
        template.drain_time,
        template.used_by_others,
        revision,
    )


def refuse_own_names(template: cluster_pb2.Node | job_pb2.Job, path: str, fields: Fields) -> None:
    """Note a name or revision of a template; only the members of a class have them."""
    for name in ("name", "revision"):
        if getattr(template, name):
            fields.refuse(f"{path}{name}", "must be empty: the members of a class have their own")


def read_members(
    names: Sequence[str],
    revisions: Sequence[str],
    path: str,
    seen: dict[str, str],
    fields: Fields,
    *,
    sure: bool,
) -> list[tuple[str, str]]:
    """Names and revisions of the members of a class; ``sure``: the names are known to be good."""
    if not names:
        fields.refuse(f"{path}names", "a class has at least one member")
    if revisions and len(revisions) != len(names):
        fields.refuse(
            f"{path}revisions",
            f"has {len(revisions)} entries beside {len(names)} names; give one each or none",
        )
    if not sure:
        for index, name in enumerate(names):
            fields.name(name, path, f"names[{index}]")
            fields.unique(seen, name, f"{path}names[{index}]")
    told = [fields.text(revision, path, f"revisions[{i}]") for i, revision in enumerate(revisions)]
    return list(zip(names, [*told, *[""] * (len(names) - len(told))], strict=False))


def read_accelerators(
    messages: Sequence[accelerator_pb2.AcceleratorType], path: str, fields: Fields
) -> tuple[AcceleratorType, ...]:
    """The catalogue."""
    seen: dict[str, str] = {}
    catalogue = []
    for index, message in enumerate(messages):
        here = f"{path}accelerators[{index}]."
        name = fields.name(message.name, here, "name")
        fields.unique(seen, name, f"{here}name")
        speed = message.relative_speed if message.HasField("relative_speed") else 1.0
        speed = fields.real(speed, here, "relative_speed", limits.SMALLEST_FACTOR, limits.LARGEST_FACTOR)
        price = None
        if message.HasField("price_micros_per_hour"):
            price = fields.integer(
                message.price_micros_per_hour, here, "price_micros_per_hour", 0, limits.PRICE_MICROS
            )
        catalogue.append(AcceleratorType(name, speed, price))
    return tuple(catalogue)


def read_resources(message: resources_pb2.Resources, path: str, fields: Fields) -> Resources:
    """CPU and memory."""
    return Resources(
        fields.integer(message.cpu_milli, path, "cpu_milli", 0, limits.CPU_MILLI),
        fields.integer(message.memory_bytes, path, "memory_bytes", 0, limits.MEMORY_BYTES),
    )


def _read_node(
    message: cluster_pb2.Node, path: str, domains: frozenset[str], types: frozenset[str], fields: Fields
) -> Node:
    """A node, its name unchecked."""
    domain = message.domain or None
    fields.known(domain, domains, path, "domain", "domain")
    accelerator_type = message.accelerator_type or None
    fields.known(accelerator_type, types, path, "accelerator_type", "catalogued accelerator type")
    device_count = fields.integer(message.device_count, path, "device_count", 0, limits.DEVICES_PER_NODE)
    if device_count and accelerator_type is None:
        fields.refuse(f"{path}accelerator_type", "must be set on a node with devices")
    exact = message.device_reporting != cluster_pb2.DEVICE_REPORTING_COUNT_ONLY
    given = message.unhealthy_device_count if message.HasField("unhealthy_device_count") else None
    unhealthy, unhealthy_count = _read_devices(
        message.unhealthy_devices,
        given,
        ("unhealthy_devices", "unhealthy_device_count"),
        path,
        device_count,
        fields,
        exact=exact,
    )
    return Node(
        name=message.name,
        domain=domain,
        accelerator_type=accelerator_type,
        device_count=device_count,
        resources=read_resources(message.resources, f"{path}resources.", fields)
        if message.HasField("resources")
        else _NOTHING,
        device_reporting=DeviceReporting.EXACT if exact else DeviceReporting.COUNT_ONLY,
        unhealthy_devices=unhealthy,
        unhealthy_device_count=unhealthy_count,
        labels=fields.labels(message.labels, path, "labels"),
        taints=tuple(
            _read_taint(taint, f"{path}taints[{index}].", fields)
            for index, taint in enumerate(message.taints)
        ),
        cordoned=message.cordoned,
        health=NodeHealth.UNHEALTHY
        if message.health == cluster_pb2.NODE_HEALTH_UNHEALTHY
        else NodeHealth.HEALTHY,
        drain_time=fields.instant(message.drain_time, path, "drain_time")
        if message.HasField("drain_time")
        else None,
        used_by_others=_read_other_use(
            message.used_by_others, f"{path}used_by_others.", device_count, fields, exact=exact
        )
        if message.HasField("used_by_others")
        else _NO_OTHERS,
        revision=fields.text(message.revision, path, "revision"),
    )


def _read_other_use(
    message: cluster_pb2.OtherUse,
    path: str,
    device_count: int,
    fields: Fields,
    *,
    exact: bool,
) -> OtherUse:
    given = message.device_count if message.HasField("device_count") else None
    devices, count = _read_devices(
        message.devices, given, ("devices", "device_count"), path, device_count, fields, exact=exact
    )
    return OtherUse(devices, count, read_resources(message.resources, f"{path}resources.", fields))


def _read_devices(
    indices: Sequence[int],
    given: int | None,
    names: tuple[str, str],
    path: str,
    device_count: int,
    fields: Fields,
    *,
    exact: bool,
) -> tuple[frozenset[int], int]:
    """A set of a node's devices, as indices where the node is EXACT and as a number."""
    listed, counted = names
    if given is not None:
        fields.integer(given, path, counted, 0, device_count)
    if not exact:
        if indices:
            fields.refuse(f"{path}{listed}", f"the node is COUNT_ONLY: give {counted} in place of indices")
        return frozenset(), given or 0
    devices = check_indices(indices, f"{path}{listed}", device_count, fields)
    if given is not None and given != len(devices):
        fields.refuse(f"{path}{counted}", f"is {given}, but {listed} lists {len(devices)}")
    return devices, len(devices)


def are_indices(indices: Sequence[int], distinct: AbstractSet[int], device_count: int | None) -> bool:
    """Whether ``indices``, as a set ``distinct``, come once each and are in range; None: any that may be."""
    return not indices or (
        len(distinct) == len(indices)
        and min(distinct) >= 0
        and (device_count is None or max(distinct) < device_count)
    )


def check_indices(
    indices: Sequence[int], path: str, device_count: int | None, fields: Fields
) -> frozenset[int]:
    """Device indices, each once and in range; ``device_count`` None is a node that is not there."""
    devices = frozenset(indices)
    if are_indices(indices, devices, device_count):
        return devices
    seen: set[int] = set()
    for position, index in enumerate(indices):
        if index < 0 or (device_count is not None and index >= device_count):
            last = (
                ""
                if device_count is None
                else f" to {device_count - 1}"
                if device_count
                else "; the node has none"
            )
            fields.refuse(f"{path}[{position}]", f"{index} is no device index: they go from 0{last}")
        elif index in seen:
            fields.refuse(f"{path}[{position}]", f"device {index} is listed twice")
        seen.add(index)
    return devices


def _read_taint(message: cluster_pb2.Taint, path: str, fields: Fields) -> Taint:
    return Taint(
        fields.name(message.key, path, "key"),
        fields.text(message.value, path, "value"),
        TAINT_EFFECTS.get(message.effect, TaintEffect.NO_SCHEDULE),
    )
