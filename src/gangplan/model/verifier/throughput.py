"""Throughput of groups and gangs, looked up: the verifier's own reading of profiles and catalogue.

Sources: relative (effective) throughput, Narayanan et al., *Heterogeneity-Aware Cluster Scheduling Policies
for Deep Learning Workloads* (Gavel), OSDI 2020, section 3.1; reference throughput, decision 2; slowest group,
decision 7; missing throughput cells, decision 42.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from gangplan.domain.job import Component, TaskGroup
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE

_NO_CELLS: Mapping[tuple[str, int, str], float] = {}


class Packed(NamedTuple):
    """A device group on one node, by (type, count), at the counts it allows and the one it asks for.

    Attributes:
        x: X, work units/s, where it is above 0.
        reference: X_ref: the best of them at the requested count; 0 without any.
    """

    x: Mapping[tuple[str, int], float]
    reference: float


class Throughput:
    """Throughput lookup: profile cells, catalogue speeds and references of one round."""

    def __init__(self, round_: Round) -> None:
        self._scopes = round_.cluster.topology.scopes
        self._rank = {scope: rank for rank, scope in enumerate(self._scopes)}
        self._speeds = {entry.name: entry.relative_speed for entry in round_.accelerators}
        self._every_type = tuple(self._speeds)
        self._cells = {profile.name: profile.throughput for profile in round_.profiles}
        self._packed: dict[object, Packed] = {}

    def of_group(self, group: TaskGroup, accelerator_type: str | None, count: int, scope: str) -> float:
        """X of a device group, work units/s; 0 when that option does not exist.

        The cell of ``scope``, or of the next wider listed scope for the same type and count (decision 42).
        Without a profile: relative speed of the type times devices, at any scope.
        """
        if accelerator_type is None or accelerator_type not in self._speeds:
            return 0.0
        if group.profile is None:
            return self._speeds[accelerator_type] * count * group.devices_per_task
        cells = self._cells.get(group.profile, _NO_CELLS)
        x = cells.get((accelerator_type, count, scope))
        return self._wider(cells, accelerator_type, count, scope) if x is None else x

    def _wider(
        self, cells: Mapping[tuple[str, int, str], float], accelerator_type: str, count: int, scope: str
    ) -> float:
        """The cell of the next wider listed scope; 0 without any."""
        for rank in range(self._rank.get(scope, 0), -1, -1):
            cell = cells.get((accelerator_type, count, self._scopes[rank]))
            if cell is not None:
                return cell
        return 0.0

    def types(self, group: TaskGroup) -> tuple[str, ...]:
        """Catalogued types that a device group may run on."""
        if not group.accelerator_types:
            return self._every_type
        return tuple(name for name in group.accelerator_types if name in self._speeds)

    def packed(self, group: TaskGroup) -> Packed:
        """What a device group makes on one node (scope ``node``); alike groups are looked up once.

        X_ref (decision 2) is that of its requested count on its best allowed catalogued type. It depends
        neither on what is present nor on what is free.
        """
        key = (
            group.profile,
            group.accelerator_types,
            group.count,
            group.allowed_counts,
            group.devices_per_task,
        )
        found = self._packed.get(key)
        if found is None:
            found = self._packed[key] = self._at_node(group)
        return found

    def _at_node(self, group: TaskGroup) -> Packed:
        wanted, counts = group.count, group.allowed_counts
        if wanted not in counts:
            counts = (*counts, wanted)
        cells = _NO_CELLS if group.profile is None else self._cells.get(group.profile, _NO_CELLS)
        found: dict[tuple[str, int], float] = {}
        reference = 0.0
        for name in self.types(group):
            for count in counts:
                x = cells.get((name, count, NODE))
                if x is None:
                    x = self.of_group(group, name, count, NODE)
                if x > 0:
                    found[name, count] = x
                    if count == wanted and x > reference:
                        reference = x
        return Packed(found, reference)

    def reference(self, group: TaskGroup) -> float:
        """X_ref of a device group: its requested count, packed, on its best allowed catalogued type (decision
        2).

        It depends neither on what is present nor on what is free. 0 when no such cell exists.
        """
        return self.packed(group).reference

    def of_gang(
        self, component: Component, counts: Mapping[str, int], types: Mapping[str, str | None], scope: str
    ) -> tuple[float, float]:
        """Relative and absolute throughput of a component; ``(0, 0)`` when that option does not exist.

        A gang runs at the speed of its slowest group (decision 7): ``min X / X_ref`` over groups with
        devices, or ``min count / requested count`` when there is none. The absolute figure is the relative
        one times X_ref of the first device group (CPU-only: times its first group's requested count).
        """
        relative = math.inf
        unit = 0.0
        for group in component.task_groups:
            if group.devices_per_task == 0:
                continue
            reference = self.reference(group)
            if reference <= 0:
                return 0.0, 0.0
            unit = unit or reference
            x = self.of_group(group, types.get(group.name), counts.get(group.name, 0), scope)
            relative = min(relative, x / reference)
        if not unit:
            unit = float(component.task_groups[0].count)
            relative = min(counts.get(group.name, 0) / group.count for group in component.task_groups)
        return (relative, relative * unit) if relative > 0 else (0.0, 0.0)
