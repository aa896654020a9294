"""Topology on the wire -> :class:`~gangplan.domain.topology.Topology`."""

from __future__ import annotations

from collections.abc import Mapping

from gangplan.domain.topology import Domain, Topology
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.v1 import topology_pb2


def read_topology(message: topology_pb2.Topology, path: str, fields: Fields) -> Topology:
    """The tree; every parent known and of an outer level, so that there is no cycle."""
    levels = _read_levels(message, path, fields)
    depth = {level: index for index, level in enumerate(levels)}
    seen: dict[str, str] = {}
    domains = []
    for index, one in enumerate(message.domains):
        here = f"{path}domains[{index}]."
        name = fields.name(one.name, here, "name")
        fields.unique(seen, name, f"{here}name")
        fields.known(one.level, depth, here, "level", "declared level")
        domains.append(Domain(name, one.level, one.parent or None))
    parents = {domain.name: domain.parent for domain in domains}
    level_of = {domain.name: domain.level for domain in domains}
    for index, domain in enumerate(domains):
        if domain.parent is None:
            continue
        at = f"{path}domains[{index}].parent"
        cycle = find_cycle(domain.name, parents)
        outer = level_of.get(domain.parent)
        if outer is None:
            fields.refuse(at, f"no domain is named {domain.parent!r}")
        elif cycle:
            fields.refuse(at, f"{domain.name!r} is its own ancestor: {' -> '.join(cycle)}")
        elif outer in depth and domain.level in depth and depth[outer] >= depth[domain.level]:
            fields.refuse(
                at,
                f"{domain.parent!r} is on level {outer!r}, which does not lie outside level {domain.level!r}",
            )
    return Topology(levels, tuple(domains))


def find_cycle(name: str, parents: Mapping[str, str | None]) -> list[str]:
    """The way from ``name`` up to itself, when there is one; else empty."""
    way = [name]
    here = parents.get(name)
    while here is not None:
        way.append(here)
        if here == name:
            return way
        if len(way) > len(parents) + 1:
            break  # a cycle above, which does not hold this name
        here = parents.get(here)
    return []


def _read_levels(message: topology_pb2.Topology, path: str, fields: Fields) -> tuple[str, ...]:
    if len(message.levels) > limits.LEVELS:
        fields.refuse(
            f"{path}levels", f"has {len(message.levels)} levels; at most {limits.LEVELS} are allowed"
        )
    seen: dict[str, str] = {}
    for index, level in enumerate(message.levels):
        here = f"{path}levels[{index}]."
        fields.name(level.name, here, "name")
        fields.unique(seen, level.name, f"{here}name")
        if level.name in limits.RESERVED_LEVELS:
            fields.refuse(f"{here}name", f"{level.name!r} is reserved and never declared")
    return tuple(level.name for level in message.levels)
