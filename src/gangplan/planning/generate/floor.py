"""What stands where: the nodes with what is free of them."""

from __future__ import annotations

import numpy as np

from gangplan.planning.generate.arrays import IntArray
from gangplan.planning.generate.columns import SCOPES, Columns
from gangplan.planning.generate.crowd import Crowd
from gangplan.planning.generate.site import CPU_PER_DEVICE, TYPES, Site


class Floor:
    """Who holds which devices of which node, exactly; every job at most once."""

    def __init__(self, site: Site, crowd: Crowd) -> None:
        self._site = site
        self._crowd = crowd
        self.free = site.node_devices.copy()
        self._free_cpu = site.node_devices * CPU_PER_DEVICE
        self._idle = np.bincount(site.node_rack)
        self._free_by_type = site.devices_by_type.astype(np.int64)
        self._tenant_use = np.zeros(len(crowd.tenant_limit), dtype=np.int64)
        self._nodes_of = [(site.node_type == kind).nonzero()[0] for kind in range(len(TYPES))]
        self._racks_of = [(site.rack_type == kind).nonzero()[0] for kind in range(len(TYPES))]
        self.held: dict[int, list[tuple[int, int, int]]] = {}
        """By job: (node, first device, devices)."""
        self.type_of: dict[int, int] = {}
        self.column_of: dict[int, int] = {}

    def try_place(self, columns: Columns, column: int) -> bool:
        """Place the column's job, tightest fit first; False when it does not fit, or is placed already."""
        job, kind, count = int(columns.job[column]), int(columns.type[column]), int(columns.count[column])
        tenant = self._crowd.tenant[job]
        if job in self.held or count > self._free_by_type[kind]:
            return False
        if self._tenant_use[tenant] + count > self._crowd.tenant_limit[tenant]:
            return False
        per_node = self._site.mix.devices_per_node[kind]
        need = int(self._crowd.cpu_per_device[job])
        if count <= per_node:
            nodes = self._tightest_node(kind, count, need * count)
        else:
            nodes = self._whole_nodes(kind, count // per_node, SCOPES[columns.scope[column]])
        if nodes is None:
            return False
        self.type_of[job] = kind
        self.column_of[job] = column
        self.held[job] = [self._take(int(node), min(count, per_node), need) for node in nodes]
        self._free_by_type[kind] -= count
        self._tenant_use[tenant] += count
        return True

    def _take(self, node: int, devices: int, cpu_per_device: int) -> tuple[int, int, int]:
        first = int(self._site.node_devices[node] - self.free[node])
        if first == 0:
            self._idle[self._site.node_rack[node]] -= 1
        self.free[node] -= devices
        self._free_cpu[node] -= devices * cpu_per_device
        return node, first, devices

    def _tightest_node(self, kind: int, devices: int, cpu: int) -> IntArray | None:
        nodes = self._nodes_of[kind]
        fits: IntArray = nodes[(self.free[nodes] >= devices) & (self._free_cpu[nodes] >= cpu)]
        if not len(fits):
            return None
        untouched = self._idle[self._site.node_rack[fits]]
        best = int(np.argmin(self.free[fits] * (len(self.free) + 1) + untouched))
        return fits[best : best + 1]

    def _whole_nodes(self, kind: int, count: int, scope: str) -> IntArray | None:
        racks = self._racks_of[kind]
        idle = self._idle[racks]
        if scope == "rack":
            racks = racks[idle >= count]
            if not len(racks):
                return None
            racks = racks[[np.argmin(self._idle[racks])]]
        elif scope == "spine":
            by_spine = np.bincount(
                self._site.rack_spine[racks], weights=idle, minlength=self._site.spines
            ).astype(np.int64)
            able = (by_spine >= count).nonzero()[0]
            if not len(able):
                return None
            racks = racks[self._site.rack_spine[racks] == able[np.argmin(by_spine[able])]]
        elif idle.sum() < count:
            return None
        racks = racks[np.argsort(self._idle[racks], kind="stable")]
        chosen: list[IntArray] = []
        for rack in racks:
            start = int(rack) * self._site.size.nodes_per_rack
            span = np.arange(start, start + self._site.size.nodes_per_rack)
            nodes = span[self.free[span] == self._site.node_devices[span]][:count]
            chosen.append(nodes)
            count -= len(nodes)
            if count == 0:
                break
        return np.concatenate(chosen)

    @property
    def devices_held(self) -> int:
        """Devices that are held now."""
        return int(self._site.devices - self.free.sum())
