"""How fast a component runs under an option: X, X_ref and the slowest member.

Effective throughput as in Gavel (Narayanan et al., OSDI 2020, section 3), normalised by a reference that
never depends on what is present or free (decision 2); a gang runs at the speed of its slowest group
(decision 7).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gangplan.domain.cluster import Resources
from gangplan.domain.job import Component, TaskGroup, ThroughputProfile
from gangplan.domain.round import Round


@dataclass(frozen=True, slots=True)
class Speeds:
    """Throughput of any task group anywhere.

    Attributes:
        type_names: catalogued accelerator types, sorted by name.
        type_index: position by name.
        scopes: level names, widest first.
        relative: work per second of one device, by type index.
        profiles: by profile name, then (type index, count): throughput by scope, widest first; 0 where
            that option does not exist.
        reference_host: CPU and memory that go with one reference device.
    """

    type_names: tuple[str, ...]
    type_index: Mapping[str, int]
    scopes: tuple[str, ...]
    relative: tuple[float, ...]
    profiles: Mapping[str, Mapping[tuple[int, int], tuple[float, ...]]]
    reference_host: Resources
    _references: dict[object, float] = field(default_factory=dict, repr=False, compare=False)

    def group(self, group: TaskGroup, type_: int, count: int) -> tuple[float, ...]:
        """X of a device group by scope, widest first; 0 where the option does not exist."""
        return self.curve(group, group.profile, type_, count)

    def curve(self, group: TaskGroup, profile: str | None, type_: int, count: int) -> tuple[float, ...]:
        """The same for a group like ``group`` with another profile."""
        if profile is None:
            return (self.relative[type_] * count * group.devices_per_task,) * len(self.scopes)
        return self.profiles[profile].get((type_, count), (0.0,) * len(self.scopes))

    def allowed_types(self, group: TaskGroup) -> tuple[int, ...]:
        """Type indices that ``group`` may use, whether present or not."""
        if not group.accelerator_types:
            return tuple(range(len(self.type_names)))
        return tuple(sorted(self.type_index[name] for name in set(group.accelerator_types)))

    def reference(self, group: TaskGroup) -> float:
        """X_ref: the request on its best catalogued type, packed; 0 when no type can run it."""
        key = (group.profile, group.accelerator_types, group.count, group.devices_per_task)
        if key not in self._references:
            types = self.allowed_types(group)
            self._references[key] = max((self.group(group, t, group.count)[-1] for t in types), default=0.0)
        return self._references[key]


def build_speeds(round_: Round) -> Speeds:
    """Index the catalogue and resolve every profile to all scopes."""
    types = sorted(round_.accelerators, key=lambda a: a.name)
    type_index = {a.name: i for i, a in enumerate(types)}
    scopes = round_.cluster.topology.scopes
    return Speeds(
        type_names=tuple(a.name for a in types),
        type_index=type_index,
        scopes=scopes,
        relative=tuple(a.relative_speed for a in types),
        profiles={p.name: _resolve(p, type_index, scopes) for p in round_.profiles},
        reference_host=round_.policy.reference_host,
    )


def _resolve(
    profile: ThroughputProfile, type_index: Mapping[str, int], scopes: Sequence[str]
) -> dict[tuple[int, int], tuple[float, ...]]:
    """Fill the scopes that a profile does not list with the next wider listed one."""
    listed: dict[tuple[int, int], dict[str, float]] = {}
    for (type_name, count, scope), value in profile.throughput.items():
        if type_name in type_index:
            listed.setdefault((type_index[type_name], count), {})[scope] = value
    resolved = {}
    for key, by_scope in listed.items():
        row: list[float] = []
        for scope in scopes:
            row.append(by_scope.get(scope, row[-1] if row else 0.0))
        resolved[key] = tuple(row)
    return resolved


def size(component: Component, reference_host: Resources) -> float:
    """req_j: requested devices; for CPU-only work its dominant share of a reference device's host
    (decision 41; dominant share as in Ghodsi et al., NSDI 2011).
    """
    devices = sum(g.count * g.devices_per_task for g in component.task_groups)
    if devices:
        return float(devices)
    cpu = sum(g.count * g.resources_per_task.cpu_milli for g in component.task_groups)
    memory = sum(g.count * g.resources_per_task.memory_bytes for g in component.task_groups)
    return max(cpu / reference_host.cpu_milli, memory / reference_host.memory_bytes)
