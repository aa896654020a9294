"""Accelerators, topologies and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gangplan.domain.cluster import (
    AcceleratorType,
    DeviceReporting,
    Node,
    NodeHealth,
    OtherUse,
    Resources,
    Taint,
    TaintEffect,
)
from gangplan.domain.topology import Domain, Topology
from gangplan.testing.strategies.draw import GIB, NOW, Draw
from gangplan.testing.strategies.sizes import Bounds

_LEVELS = (
    ("rack",),
    (),
    ("island",),
    ("rack", "island"),
    ("spine", "rack", "island"),
    ("spine", "rack"),
    ("spine",),
)


def draw_accelerators(d: Draw) -> tuple[AcceleratorType, ...]:
    """One to three types; the last may be catalogued only, and absent from the cluster."""
    speeds = (1.0, 0.5, 0.25)
    count = d.one((1, 2, 2, 3))
    prices = (3_000_000, 400_000, 0) if d.chance(60) else (None, None, None)
    return tuple(AcceleratorType(f"T{i}", speeds[i], prices[i]) for i in range(count))


def draw_topology(d: Draw, bounds: Bounds) -> Topology:
    """Up to three levels; parents of any outer level (levels are skipped), so fan-out and depth are
    unequal.
    """
    levels = d.one(_LEVELS)
    domains: list[Domain] = []
    for level in levels:
        outer = list(domains)
        for i in range(d.number((1, bounds.domains))):
            parent = d.one(outer[::-1]).name if outer and d.chance(85) else None
            domains.append(Domain(f"{level}-{i}", level, parent))
    return Topology(levels, tuple(domains))


def draw_nodes(d: Draw, bounds: Bounds, types: Sequence[AcceleratorType], topology: Topology) -> list[Node]:
    """Nodes of a few shapes, many of them in the domain of the one before."""
    shapes = [
        _shape(d, bounds, types[: max(1, len(types) - d.one((0, 1)))], first=i == 0)
        for i in range(d.one((1, 2, 2, 3)))
    ]
    innermost = [domain.name for domain in topology.domains][::-1]
    nodes: list[Node] = []
    for i in range(d.number(bounds.nodes)):
        near = (nodes[-1].domain,) if nodes and d.chance(55) else tuple(innermost)
        nodes.append(_node(d, f"n{i}", d.one(shapes), near))
    return nodes


def _shape(d: Draw, bounds: Bounds, types: Sequence[AcceleratorType], *, first: bool) -> Node:
    """What alike nodes share."""
    if not first and d.chance(20):
        return Node("", resources=Resources(d.one((8, 16, 4)) * 1000, 64 * GIB))
    devices = d.one(bounds.devices)
    cpu = devices * d.one((8, 8, 4, 2))
    memory = devices * d.one((64, 64, 16)) * GIB
    reporting = DeviceReporting.COUNT_ONLY if d.chance(20) else DeviceReporting.EXACT
    return Node(
        "",
        accelerator_type=d.one(types).name,
        device_count=devices,
        resources=Resources(cpu * 1000, memory),
        device_reporting=reporting,
    )


def _node(d: Draw, name: str, shape: Node, domains: Sequence[str | None]) -> Node:
    """One node: a shape, a place, and now and then something out of the ordinary."""
    fields: dict[str, Any] = {"name": name, "revision": f"r{d.number((0, 9))}"}
    if domains and d.chance(90):
        fields["domain"] = d.one(domains)
    if d.chance(40):
        fields["labels"] = {"pool": d.one(("a", "b"))}
    if d.chance(12):
        fields["taints"] = (
            Taint("team", "x", TaintEffect.NO_EXECUTE if d.chance(25) else TaintEffect.NO_SCHEDULE),
        )
    fields["cordoned"] = d.chance(6)
    if d.chance(3):
        fields["health"] = NodeHealth.UNHEALTHY
    if d.chance(8):
        fields["drain_time"] = NOW + d.one((600.0, 60.0, 3_600.0, -60.0, 0.0))
    exact = shape.device_reporting is DeviceReporting.EXACT
    unhealthy = used = 0
    if shape.device_count and d.chance(12):
        unhealthy = d.number((1, max(1, shape.device_count // 2)))
    if shape.device_count > unhealthy and d.chance(12):
        used = d.number((1, max(1, (shape.device_count - unhealthy) // 2)))
    order = d.order(shape.device_count) if exact and unhealthy + used else ()
    fields["unhealthy_device_count"] = unhealthy
    if exact:
        fields["unhealthy_devices"] = frozenset(order[:unhealthy])
    if used or d.chance(10):
        host = Resources(d.one((1, 2, 4)) * 1000, d.one((4, 8)) * GIB)
        fields["used_by_others"] = OtherUse(frozenset(order[unhealthy : unhealthy + used]), used, host)
    return replace(shape, **fields)
