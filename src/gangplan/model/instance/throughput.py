"""How fast a component runs under an option: X, X_ref and the slowest member.

Effective throughput as in Gavel (Narayanan et al., OSDI 2020, section 3), normalised by a reference that
never depends on what is present or free (decision 2); a gang runs at the speed of its slowest group
(decision 7).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gangplan.domain.cells import figures, listed
from gangplan.domain.cluster import Resources
from gangplan.domain.job import WHOLE_DEVICE, Component, TaskGroup, ThroughputProfile
from gangplan.domain.round import Round
from gangplan.model.program import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Profiles that list the same cells in the same order.

    Attributes:
        pairs: position by (type index, count).
        values: shape (profiles, pairs + 1, scopes), work units per second, widest scope first; 0 where that
            option does not exist, as everywhere at the last position.
    """

    pairs: Mapping[tuple[int, int], int]
    values: FloatArray

    def position(self, type_: int, count: int) -> int:
        """Position of a pair; that of nothing where it is not listed."""
        return self.pairs.get((type_, count), len(self.pairs))


@dataclass(frozen=True, slots=True)
class Speeds:
    """Throughput of any task group anywhere.

    Attributes:
        type_names: catalogued accelerator types, sorted by name.
        type_index: position by name.
        scopes: level names, widest first.
        relative: work per second of one device, by type index.
        tables: throughput of all profiles.
        profiles: by profile name: its table, and its row there.
        reference_host: CPU and memory that go with one reference device.
    """

    type_names: tuple[str, ...]
    type_index: Mapping[str, int]
    scopes: tuple[str, ...]
    relative: tuple[float, ...]
    tables: tuple[Table, ...]
    profiles: Mapping[str, tuple[int, int]]
    reference_host: Resources
    _references: dict[object, float] = field(default_factory=dict, repr=False, compare=False)

    def group(self, group: TaskGroup, type_: int, count: int, scope: int) -> float:
        """X of a device group at a scope; 0 where the option does not exist."""
        if group.profile is None:
            return self.relative[type_] * count * (group.device_milli / WHOLE_DEVICE)
        number, row = self.profiles[group.profile]
        table = self.tables[number]
        return table.values.item(row, table.position(type_, count), scope)

    def curves(
        self, group: TaskGroup, profiles: Sequence[str | None], pairs: Sequence[tuple[int, int]]
    ) -> FloatArray:
        """X by scope of groups like ``group`` with other profiles, shape (profiles, pairs, scopes).

        Args:
            group: a device group.
            profiles: names; all None, or none of them.
            pairs: type index and count.
        """
        shape = (len(profiles), len(pairs), len(self.scopes))
        if group.profile is None:
            each = group.device_milli / WHOLE_DEVICE
            flat = [self.relative[type_] * count * each for type_, count in pairs]
            return np.broadcast_to(np.array(flat, dtype=np.float64).reshape(1, -1, 1), shape)
        named = itertools.chain.from_iterable([self.profiles[name] for name in profiles if name is not None])
        places = np.fromiter(named, dtype=np.int64, count=2 * len(profiles)).reshape(-1, 2)
        found = np.empty(shape, dtype=np.float64)
        for t in np.unique(places[:, 0]).tolist():
            table = self.tables[t]
            mine = np.flatnonzero(places[:, 0] == t)
            columns = [table.position(type_, count) for type_, count in pairs]
            found[mine] = table.values[places[mine, 1][:, None], columns]
        return found

    def allowed_types(self, group: TaskGroup) -> tuple[int, ...]:
        """Type indices that ``group`` may use, whether present or not."""
        if not group.accelerator_types:
            return tuple(range(len(self.type_names)))
        return tuple(sorted(self.type_index[name] for name in set(group.accelerator_types)))

    def reference(self, group: TaskGroup) -> float:
        """X_ref: the request on its best catalogued type, packed; 0 when no type can run it."""
        key = (group.profile, group.accelerator_types, group.count, group.device_milli)
        if key not in self._references:
            packed = len(self.scopes) - 1
            self._references[key] = max(
                [self.group(group, t, group.count, packed) for t in self.allowed_types(group)], default=0.0
            )
        return self._references[key]

    def best(self, component: Component) -> float:
        """Work units per second of a component at its best: any allowed counts and types, at any scope.

        As X_ref it depends neither on what is present nor on what is free; 0 when it cannot run at all.
        """
        groups = component.task_groups
        with_devices = [group for group in groups if group.devices_per_task]
        if not with_devices:
            return min([max(g.allowed_counts) / g.count for g in groups]) * groups[0].count
        references = [self.reference(group) for group in with_devices]
        if min(references) <= 0.0:
            return 0.0
        fastest = 0.0
        for scope in range(len(self.scopes)):
            ratios = [
                max(
                    [self.group(g, t, n, scope) for t in self.allowed_types(g) for n in g.allowed_counts],
                    default=0.0,
                )
                / reference
                for g, reference in zip(with_devices, references, strict=True)
            ]
            fastest = max(fastest, min(ratios))
        return fastest * references[0]


def build_speeds(round_: Round) -> Speeds:
    """Index the catalogue and resolve every profile to all scopes."""
    types = sorted(round_.accelerators, key=lambda a: a.name)
    type_index = {a.name: i for i, a in enumerate(types)}
    scopes = round_.cluster.topology.scopes
    alike: dict[object, list[ThroughputProfile]] = {}
    for profile in round_.profiles:
        alike.setdefault(listed(profile.throughput), []).append(profile)
    return Speeds(
        type_names=tuple(a.name for a in types),
        type_index=type_index,
        scopes=scopes,
        relative=tuple(a.relative_speed for a in types),
        tables=tuple(_table(mine, type_index, scopes) for mine in alike.values()),
        profiles={p.name: (t, row) for t, mine in enumerate(alike.values()) for row, p in enumerate(mine)},
        reference_host=round_.policy.reference_host,
    )


def _table(
    profiles: Sequence[ThroughputProfile],
    type_index: Mapping[str, int],
    scopes: Sequence[str],
) -> Table:
    """Fill the scopes that the profiles do not list with the next wider listed one."""
    cells = tuple(profiles[0].throughput)
    nothing = len(cells)
    pairs: dict[tuple[int, int], dict[str, int]] = {}
    for column, (type_name, count, scope) in enumerate(cells):
        if type_name in type_index:
            pairs.setdefault((type_index[type_name], count), {})[scope] = column
    source = np.full((len(pairs) + 1, len(scopes)), nothing, dtype=np.int64)
    for pair, by_scope in enumerate(pairs.values()):
        column = nothing
        for s, scope in enumerate(scopes):
            column = source[pair, s] = by_scope.get(scope, column)
    values = np.zeros((len(profiles), nothing + 1), dtype=np.float64)
    if nothing:
        rows = np.frombuffer(figures([profile.throughput for profile in profiles]), dtype=np.float64)
        values[:, :nothing] = rows.reshape(len(profiles), nothing)
    return Table({pair: i for i, pair in enumerate(pairs)}, values[:, source])


def size(component: Component, reference_host: Resources) -> float:
    """req_j: requested devices; for CPU-only work its dominant share of a reference device's host
    (decision 41; dominant share as in Ghodsi et al., NSDI 2011).
    """
    milli = sum(g.count * g.device_milli for g in component.task_groups)
    if milli:
        return milli / WHOLE_DEVICE
    cpu = sum(g.count * g.resources_per_task.cpu_milli for g in component.task_groups)
    memory = sum(g.count * g.resources_per_task.memory_bytes for g in component.task_groups)
    return max(cpu / reference_host.cpu_milli, memory / reference_host.memory_bytes)
