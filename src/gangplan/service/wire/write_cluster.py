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
    Taint,
    TaintEffect,
)
from gangplan.service.wire.fold import fold
from gangplan.service.wire.times import to_timestamp
from gangplan.v1 import accelerator_pb2, cluster_pb2, resources_pb2, topology_pb2

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


def write_cluster(cluster: Cluster, *, compact: bool) -> cluster_pb2.Cluster:
    """The cluster; ``compact`` folds alike nodes to classes."""
    topology = topology_pb2.Topology(
        levels=[topology_pb2.Level(name=level) for level in cluster.topology.levels],
        domains=[
            topology_pb2.Domain(name=domain.name, level=domain.level, parent=domain.parent or "")
            for domain in cluster.topology.domains
        ],
    )
    nodes = [_write_node(node) for node in cluster.nodes]
    if not compact:
        return cluster_pb2.Cluster(topology=topology, nodes=nodes)
    single, classes = fold(nodes, cluster_pb2.NodeClass)
    return cluster_pb2.Cluster(topology=topology, nodes=single, node_classes=classes)


def write_accelerator(accelerator: AcceleratorType) -> accelerator_pb2.AcceleratorType:
    """An entry of the catalogue."""
    return accelerator_pb2.AcceleratorType(name=accelerator.name, relative_speed=accelerator.relative_speed)


def write_resources(resources: Resources) -> resources_pb2.Resources:
    """CPU and memory."""
    return resources_pb2.Resources(cpu_milli=resources.cpu_milli, memory_bytes=resources.memory_bytes)


def _write_node(node: Node) -> cluster_pb2.Node:
    count_only = node.device_reporting is DeviceReporting.COUNT_ONLY
    message = cluster_pb2.Node(
        name=node.name,
        domain=node.domain or "",
        accelerator_type=node.accelerator_type or "",
        device_count=node.device_count,
        device_reporting=_REPORTING[node.device_reporting],
        unhealthy_devices=sorted(node.unhealthy_devices),
        labels=dict(sorted(node.labels.items())),
        taints=[_write_taint(taint) for taint in node.taints],
        cordoned=node.cordoned,
        health=_HEALTH[node.health],
        revision=node.revision,
    )
    if node.resources != _NOTHING:
        message.resources.CopyFrom(write_resources(node.resources))
    if count_only and node.unhealthy_device_count:
        message.unhealthy_device_count = node.unhealthy_device_count
    if node.drain_time is not None:
        message.drain_time.CopyFrom(to_timestamp(node.drain_time))
    if node.used_by_others != _NO_OTHERS:
        use = node.used_by_others
        message.used_by_others.devices.extend(sorted(use.devices))
        if count_only and use.device_count:
            message.used_by_others.device_count = use.device_count
        if use.resources != _NOTHING:
            message.used_by_others.resources.CopyFrom(write_resources(use.resources))
    return message


def _write_taint(taint: Taint) -> cluster_pb2.Taint:
    return cluster_pb2.Taint(key=taint.key, value=taint.value, effect=TAINT_EFFECTS[taint.effect])
