""":class:`~gangplan.domain.cluster.Cluster` -> the wire."""

from __future__ import annotations

from gangplan.domain.cluster import (
    AcceleratorType,
    Cluster,
    DeviceReporting,
    Node,
    NodeHealth,
    OtherUse,
    Resources,
    TaintEffect,
)
from gangplan.service.wire.fold import bodies_of, fold
from gangplan.service.wire.times import write_seconds
from gangplan.v1 import accelerator_pb2, cluster_pb2, resources_pb2

TAINT_EFFECTS = {
    TaintEffect.NO_SCHEDULE: cluster_pb2.TAINT_EFFECT_NO_SCHEDULE,
    TaintEffect.NO_EXECUTE: cluster_pb2.TAINT_EFFECT_NO_EXECUTE,
}
_REPORTING = {
    DeviceReporting.EXACT: cluster_pb2.DEVICE_REPORTING_EXACT,
    DeviceReporting.COUNT_ONLY: cluster_pb2.DEVICE_REPORTING_COUNT_ONLY,
}
_HEALTH = {
    NodeHealth.HEALTHY: cluster_pb2.NODE_HEALTH_HEALTHY,
    NodeHealth.UNHEALTHY: cluster_pb2.NODE_HEALTH_UNHEALTHY,
}
_NOTHING = Resources()
_NO_OTHERS = OtherUse()


def write_cluster(cluster: Cluster, message: cluster_pb2.Cluster, *, compact: bool) -> None:
    """Fill in the cluster; ``compact`` folds alike nodes to classes."""
    message.topology.SetInParent()
    for level in cluster.topology.levels:
        message.topology.levels.add(name=level)
    for domain in cluster.topology.domains:
        message.topology.domains.add(name=domain.name, level=domain.level, parent=domain.parent or "")
    if compact:
        bodies = bodies_of(cluster.nodes, _write_node, cluster_pb2.Node())
        fold(cluster.nodes, bodies, message, "nodes", "node_classes")
        return
    for node in cluster.nodes:
        _write_node(node, message.nodes.add(name=node.name, revision=node.revision))


def write_accelerator(accelerator: AcceleratorType) -> accelerator_pb2.AcceleratorType:
    """An entry of the catalogue."""
    return accelerator_pb2.AcceleratorType(
        name=accelerator.name,
        relative_speed=accelerator.relative_speed,
        price_micros_per_hour=accelerator.price_micros_per_hour,
    )


def write_resources(resources: Resources) -> resources_pb2.Resources:
    """CPU and memory."""
    return resources_pb2.Resources(cpu_milli=resources.cpu_milli, memory_bytes=resources.memory_bytes)


def _write_node(node: Node, message: cluster_pb2.Node) -> None:
    """Fill in a node, but for its name and revision."""
    count_only = node.device_reporting is DeviceReporting.COUNT_ONLY
    message.domain = node.domain or ""
    message.accelerator_type = node.accelerator_type or ""
    message.device_count = node.device_count
    message.device_reporting = _REPORTING[node.device_reporting]
    message.health = _HEALTH[node.health]
    message.cordoned = node.cordoned
    if node.unhealthy_devices:
        message.unhealthy_devices.extend(sorted(node.unhealthy_devices))
    for key, value in node.labels.items():
        message.labels[key] = value
    for taint in node.taints:
        message.taints.add(key=taint.key, value=taint.value, effect=TAINT_EFFECTS[taint.effect])
    if node.resources != _NOTHING:
        _write_resources(node.resources, message.resources)
    if count_only and node.unhealthy_device_count:
        message.unhealthy_device_count = node.unhealthy_device_count
    if node.drain_time is not None:
        write_seconds(node.drain_time, message.drain_time)
    if node.used_by_others != _NO_OTHERS:
        use = node.used_by_others
        message.used_by_others.SetInParent()
        message.used_by_others.devices.extend(sorted(use.devices))
        if count_only and use.device_count:
            message.used_by_others.device_count = use.device_count
        if use.resources != _NOTHING:
            _write_resources(use.resources, message.used_by_others.resources)


def _write_resources(resources: Resources, message: resources_pb2.Resources) -> None:
    message.cpu_milli = resources.cpu_milli
    message.memory_bytes = resources.memory_bytes
