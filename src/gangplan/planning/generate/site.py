"""The cluster as arrays: racks of one type each under spines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.planning.generate.arrays import FloatArray, IntArray
from gangplan.planning.generate.families import Mix
from gangplan.planning.generate.names import Size

TYPES = ("gen4", "gen3", "gen2", "gen1")
SPEEDS = np.array([1.0, 0.55, 0.32, 0.16])
SHARES = np.array([0.4, 0.3, 0.2, 0.1])
CPU_PER_DEVICE = 12
MEMORY_PER_DEVICE = 96 * 2**30


@dataclass(frozen=True, slots=True)
class Site:
    """The cluster as arrays; racks hold one type, nodes are numbered rack by rack."""

    size: Size
    mix: Mix
    rack_type: IntArray
    """Shape (racks,)."""
    rack_spine: IntArray
    """Shape (racks,)."""
    node_rack: IntArray
    """Shape (nodes,)."""
    node_type: IntArray
    """Shape (nodes,)."""
    node_devices: IntArray
    """Shape (nodes,)."""

    @property
    def devices(self) -> int:
        """Devices of the whole cluster."""
        return int(self.node_devices.sum())

    @property
    def devices_by_type(self) -> FloatArray:
        """Shape (types,)."""
        return np.bincount(
            self.node_type, weights=self.node_devices.astype(np.float64), minlength=len(TYPES)
        ).astype(np.float64)

    @property
    def spines(self) -> int:
        """How many spines there are."""
        return int(self.rack_spine[-1]) + 1


def build_site(size: Size, mix: Mix, rng: np.random.Generator) -> Site:
    """Add racks of the type that is furthest below its share until there are enough devices; shuffle them."""
    held = np.zeros(len(TYPES))
    racks: list[int] = []
    while held.sum() < size.devices:
        kind = int(np.argmax(SHARES * size.devices - held))
        racks.append(kind)
        held[kind] += size.nodes_per_rack * mix.devices_per_node[kind]
    rack_type = rng.permutation(np.array(racks, dtype=np.int64))
    node_rack = np.repeat(np.arange(len(rack_type)), size.nodes_per_rack)
    node_type = rack_type[node_rack]
    return Site(
        size=size,
        mix=mix,
        rack_type=rack_type,
        rack_spine=np.arange(len(rack_type)) // size.racks_per_spine,
        node_rack=node_rack,
        node_type=node_type,
        node_devices=np.array(mix.devices_per_node)[node_type],
    )
