"""Topology on the wire -> :class:`~gangplan.domain.topology.Topology`."""

from __future__ import annotations

from collections.abc import Mapping

from gangplan.domain.topology import Domain, Topology
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.v1 import topology_pb2

_SHOWN = 5
"""Most names of a cycle that are told."""


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
    cycles = find_cycles({domain.name: domain.parent for domain in domains})
    level_of = {domain.name: domain.level for domain in domains}
    for index, domain in enumerate(domains):
        if domain.parent is None:
            continue
        at = f"{path}domains[{index}].parent"
        outer = level_of.get(domain.parent)
        if outer is None:
            fields.refuse(at, f"no domain is named {domain.parent!r}")
        elif domain.name in cycles:
            fields.refuse(at, f"{domain.name!r} is its own ancestor: {cycles[domain.name]}")
        elif outer in depth and domain.level in depth and depth[outer] >= depth[domain.level]:
            fields.refuse(
                at,
                f"{domain.parent!r} is on level {outer!r}, which does not lie outside level {domain.level!r}",
            )
    return Topology(levels, tuple(domains))


def find_cycles(parents: Mapping[str, str | None]) -> dict[str, str]:
    """Names that are their own ancestors, each with the way round in words; takes linear time.

    Args:
        parents: the parent of each name; None or a name that is not a key ends the way up.
    """
    settled: set[str] = set()
    cycles: dict[str, str] = {}
    for start in parents:
        way: dict[str, None] = {}
        here: str | None = start
        while here is not None and here in parents and here not in settled and here not in way:
            way[here] = None
            here = parents[here]
        if here is not None and here in way:
            names = list(way)
            ring = names[names.index(here) :]
            for place, name in enumerate(ring):
                round_ = [ring[(place + step) % len(ring)] for step in range(min(len(ring), _SHOWN))]
                cycles[name] = " -> ".join((*round_, *(["..."] if len(ring) > _SHOWN else []), name))
        settled.update(way)
    return cycles


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
