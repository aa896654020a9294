"""Throughput of groups and gangs, looked up: the verifier's own reading of profiles and catalogue.

Sources: relative (effective) throughput, Narayanan et al., *Heterogeneity-Aware Cluster Scheduling Policies
for Deep Learning Workloads* (Gavel), OSDI 2020, section 3.1; reference throughput, decision 2; slowest group,
decision 7; missing throughput cells, decision 42.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gangplan.domain.cells import figures, listed
from gangplan.domain.job import WHOLE_DEVICE, Component, TaskGroup
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE

_NO_CELLS: Mapping[tuple[str, int, str], float] = {}
_Cell = TypeVar("_Cell", int, float)


_what_counts = attrgetter(
    "profile", "accelerator_types", "count", "allowed_counts", "devices_per_task", "device_share"
)
"""What the throughput of a device group on one node depends on; its profile first."""


class Packed(NamedTuple):
    """Alike device groups on one node.

    Attributes:
        rows: which of the groups that were asked about.
        pairs: accelerator types and task counts: every allowed catalogued type at every allowed count, and at
            the requested one.
        x: X, work units/s, shape (rows, pairs); 0 where that option does not exist.
        reference: X_ref, shape (rows,): the best at the requested count; 0 without any (decision 2).
    """

    rows: list[int]
    pairs: list[tuple[str, int]]
    x: NDArray[np.float64]
    reference: NDArray[np.float64]


class Throughput:
    """Throughput lookup: profile cells, catalogue speeds and references of one round."""

    def __init__(self, round_: Round) -> None:
        self._scopes = round_.cluster.topology.scopes
        self._rank = {scope: rank for rank, scope in enumerate(self._scopes)}
        self._speeds = {entry.name: entry.relative_speed for entry in round_.accelerators}
        self._every_type = tuple(self._speeds)
        self._cells = {profile.name: profile.throughput for profile in round_.profiles}
        self._references: dict[int, tuple[TaskGroup, float]] = {}
        """By identity, which is quicker than by value; the group beside it, so that it stays the same one."""
        self._best: dict[int, tuple[Component, float]] = {}

    def forget(self, most: int) -> None:
        """Forget what was looked up, if that is of more than ``most`` groups: of jobs that are gone."""
        if len(self._references) > most:
            self._references = {}
        if len(self._best) > most:
            self._best = {}

    def of_group(self, group: TaskGroup, accelerator_type: str | None, count: int, scope: str) -> float:
        """X of a device group, work units/s; 0 when that option does not exist.

        The cell of ``scope``, or of the next wider listed scope for the same type and count (decision 42).
        Without a profile: relative speed of the type times devices, at any scope; a part of a device is as
        fast as that part.
        """
        if accelerator_type is None or accelerator_type not in self._speeds:
            return 0.0
        if group.profile is None:
            return self._speeds[accelerator_type] * count * (group.device_milli / WHOLE_DEVICE)
        cells = self._cells.get(group.profile, _NO_CELLS)
        x = cells.get((accelerator_type, count, scope))
        return self._wider(cells, accelerator_type, count, scope, 0.0) if x is None else x

    def _wider(
        self,
        cells: Mapping[tuple[str, int, str], _Cell],
        accelerator_type: str,
        count: int,
        scope: str,
        nothing: _Cell,
    ) -> _Cell:
        """The cell of the scope, or of the next wider listed one; ``nothing`` without any."""
        for rank in range(self._rank.get(scope, 0), -1, -1):
            cell = cells.get((accelerator_type, count, self._scopes[rank]))
            if cell is not None:
                return cell
        return nothing

    def types(self, group: TaskGroup) -> tuple[str, ...]:
        """Catalogued types that a device group may run on."""
        if not group.accelerator_types:
            return self._every_type
        return tuple(name for name in group.accelerator_types if name in self._speeds)

    def reference(self, group: TaskGroup) -> float:
        """X_ref of a device group: its requested count, packed, on its best allowed catalogued type (decision
        2).

        It depends neither on what is present nor on what is free. 0 when no such cell exists.
        """
        known = self._references.get(id(group))
        if known is None:
            wanted = [self.of_group(group, name, group.count, NODE) for name in self.types(group)]
            known = self._references[id(group)] = group, max(wanted, default=0.0)
        return known[1]

    def best(self, component: Component) -> float:
        """The most work units/s that a component can make: any allowed types and counts, at any scope.

        All its groups are at the same scope, the slowest of them sets the pace, and what is present does not
        matter (decisions 2 and 7).
        """
        known = self._best.get(id(component))
        if known is None or known[0] is not component:
            known = self._best[id(component)] = component, self._fastest(component)
        return known[1]

    def _fastest(self, component: Component) -> float:
        groups = [group for group in component.task_groups if group.devices_per_task]
        if not groups:
            most = {group.name: max(group.allowed_counts) for group in component.task_groups}
            return self.of_gang(component, most, {}, NODE)[1]
        found = 0.0
        for scope in self._scopes:
            chosen: dict[str, tuple[float, str, int]] = {}
            for group in groups:
                ways = [
                    (self.of_group(group, name, count, scope), name, count)
                    for name in self.types(group)
                    for count in group.allowed_counts
                ]
                chosen[group.name] = max(ways, default=(0.0, "", 0))
            counts = {name: way[2] for name, way in chosen.items()}
            types: dict[str, str | None] = {name: way[1] for name, way in chosen.items()}
            found = max(found, self.of_gang(component, counts, types, scope)[1])
        return found

    def least(self, component: Component) -> float:
        """Work units/s below which a component never falls while it runs: the slowest way of each group.

        As :meth:`best`, it hangs on the catalogue alone; 0 when it cannot run at all.
        """
        groups = component.task_groups
        if all(group.devices_per_task == 0 for group in groups):
            return groups[0].count * min(min(group.allowed_counts) / group.count for group in groups)
        shares: list[float] = []
        unit = 0.0
        for group in groups:
            if group.devices_per_task == 0:
                continue
            reference = self.reference(group)
            if reference <= 0:
                return 0.0
            unit = unit or reference
            for name in self.types(group):
                for count in group.allowed_counts:
                    paces = [self.of_group(group, name, count, scope) for scope in self._scopes]
                    shares += [pace / reference for pace in paces if pace > 0]
        return min(shares, default=0.0) * unit

    def packed(self, groups: Sequence[TaskGroup]) -> list[Packed]:
        """What device groups make on one node (scope ``node``), alike ones together.

        Those are alike that differ in the figures of their profiles at most.
        """
        numbers: dict[object, int] = {}
        cells_of: dict[str | None, int] = {
            name: numbers.setdefault(listed(x), len(numbers)) for name, x in self._cells.items()
        }
        cells_of[None] = -1
        alike: dict[object, list[int]] = {}
        for i, (profile, *rest) in enumerate(map(_what_counts, groups)):
            alike.setdefault((cells_of.get(profile), *rest), []).append(i)
        found = [self._packed(groups, rows) for rows in alike.values()]
        for packed in found:
            for i, reference in zip(packed.rows, packed.reference.tolist(), strict=True):
                self._references[id(groups[i])] = groups[i], reference
        return found

    def _packed(self, groups: Sequence[TaskGroup], rows: list[int]) -> Packed:
        one = groups[rows[0]]
        counts = dict.fromkeys((*one.allowed_counts, one.count))
        pairs = [(name, count) for name in self.types(one) for count in counts]
        if one.profile is None:
            x = np.array([[self.of_group(one, name, count, NODE) for name, count in pairs]] * len(rows))
        else:
            tables = [self._cells.get(str(groups[i].profile), _NO_CELLS) for i in rows]
            place = {cell: column for column, cell in enumerate(tables[0])}
            column = [self._wider(place, name, count, NODE, len(place)) for name, count in pairs]
            x = np.zeros((len(rows), len(place) + 1))  # the last column: no such cell
            if place:
                x[:, :-1] = np.frombuffer(figures(tables), dtype=np.float64).reshape(len(rows), len(place))
            x = x[:, column]
        wanted = [at for at, (_, count) in enumerate(pairs) if count == one.count]
        reference = x[:, wanted].max(axis=1, initial=0.0)
        return Packed(rows, pairs, x, reference)

    def of_gang(
        self, component: Component, counts: Mapping[str, int], types: Mapping[str, str | None], scope: str
    ) -> tuple[float, float]:
        """Relative and absolute throughput of a component; ``(0, 0)`` when that option does not exist.

        A gang runs at the speed of its slowest group (decision 7): ``min X / X_ref`` over groups with
        devices, or ``min count / requested count`` when there is none. The absolute figure is the relative
        one times X_ref of the first device group (CPU-only: times its first group's requested count).
        """
        if len(component.task_groups) == 1 and component.task_groups[0].devices_per_task:
            only = component.task_groups[0]
            reference = self.reference(only)
            x = self.of_group(only, types.get(only.name), counts.get(only.name, 0), scope)
            return (x / reference, x / reference * reference) if x > 0 and reference > 0 else (0.0, 0.0)
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
