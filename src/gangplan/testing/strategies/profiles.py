"""Throughput profiles."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.domain.cluster import AcceleratorType
from gangplan.domain.job import ThroughputProfile
from gangplan.domain.topology import Topology
from gangplan.testing.strategies.draw import Draw
from gangplan.testing.strategies.sizes import Bounds


def draw_profiles(
    d: Draw, bounds: Bounds, types: Sequence[AcceleratorType], topology: Topology
) -> tuple[ThroughputProfile, ...]:
    """Profiles whose throughput is monotone in nothing, with cells missing and cells of 0."""
    profiles: list[ThroughputProfile] = []
    for i in range(d.one((0, 1, 2))):
        cells: dict[tuple[str, int, str], float] = {}
        ratio = {scope: d.one((1.0, 0.8, 0.4, 1.3)) for scope in topology.scopes}
        absent = d.one(topology.scopes) if d.chance(40) else None
        for type_ in types:
            if d.chance(10):
                continue
            for count in sorted(set(bounds.counts)):
                scaling = d.one((1.0, 0.9, 0.7)) if count > 1 else 1.0
                for scope in topology.scopes:
                    if scope == absent:
                        continue
                    x = 8.0 * type_.relative_speed * count * scaling * (ratio[scope] if count > 1 else 1.0)
                    cells[type_.name, count, scope] = 0.0 if scope == "cluster" and ratio[scope] == 0.4 else x
        profiles.append(ThroughputProfile(f"p{i}", cells))
    return tuple(profiles)
