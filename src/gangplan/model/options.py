"""A component's options: every way to run it that could be worth choosing.

An option fixes the count of every task group, the accelerator types, and the scope: the level whose one
domain holds all tasks (Sia, SOSP 2023, section 3.3, calls it a configuration). Its demands are blocks: what
must sit together on one node, and how many such blocks it takes (decision 4).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gangplan.domain.job import Component, TaskGroup, TaskSplit
from gangplan.model.sites import CPU_ONLY, Vector, task_vector
from gangplan.model.throughput import Speeds, size


@dataclass(frozen=True, slots=True)
class Block:
    """What must sit together on one node.

    Attributes:
        demand: devices, CPU (milli), memory (bytes).
        types: accelerator types that serve it; empty: any node (CPU-only).
        built_in: the node must have exactly this many built-in devices; 0: any.
        filters: indices of the task-group filters (selector and tolerations) that the node must pass.
    """

    demand: Vector
    types: tuple[int, ...]
    built_in: int
    filters: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """``multiplicity`` blocks, each with ``tasks[g]`` tasks of group g."""

    block: Block
    multiplicity: int
    tasks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """One way to run a component.

    Attributes:
        counts: tasks by group.
        scope: index into the scopes, widest first; all tasks lie in one domain of that level.
        demands: blocks and how many of each.
        relative: X / X_ref of the slowest group.
        throughput: work units per second.
        devices: devices in all.
        devices_by_type: ``(type, devices)``; empty when types were merged (then no limit is by type).
        wider_than_preferred: the locality term's flag.
        apart: narrower scopes at which the job would run slower: at none of them may all its tasks lie in one
            domain, or the option is not what it says. Measured spread / packed ratios run from 0.2 to 1.35.
    """

    counts: tuple[int, ...]
    scope: int
    demands: tuple[Demand, ...]
    relative: float
    throughput: float
    devices: int
    devices_by_type: tuple[tuple[int, int], ...]
    wider_than_preferred: bool
    apart: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Isolated:
    """One way in which a job's fair self could run: packed, on its share (decision 11)."""

    throughput: float
    devices_by_type: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Site:
    """What options need to know of the cluster: types that are there, and node sizes of each.

    Attributes:
        node_sizes: built-in device counts of open nodes, ascending, by type index.
        levels: indices of scopes at which some open node has a domain (``cluster`` and ``node`` included).
        everywhere: those of the levels at which every open node has a domain.
        merge_types: whether options alike in all but the type may be one.
    """

    node_sizes: Mapping[int, tuple[int, ...]]
    levels: tuple[int, ...]
    everywhere: frozenset[int]
    merge_types: bool


def component_options(
    component: Component, speeds: Speeds, site: Site, filters: Sequence[int]
) -> tuple[Option, ...]:
    """All options of ``component`` worth keeping; ``filters`` gives each group's filter index."""
    required = 0 if component.required_level is None else speeds.scopes.index(component.required_level)
    preferred = 0 if component.preferred_level is None else speeds.scopes.index(component.preferred_level)
    found: list[Option] = []
    for counts, types in _choices(component, speeds, site):
        curve = _relative(component, speeds, counts, types)
        for scope in site.levels:
            if scope < required or curve[scope] <= 0.0:
                continue
            on_one_node = scope == len(speeds.scopes) - 1
            cuts = _demands(component, site, counts, types, filters, on_one_node=on_one_node)
            found.extend(
                Option(
                    counts=counts,
                    scope=scope,
                    demands=demands,
                    relative=curve[scope],
                    throughput=curve[scope] * _work_rate(component, speeds),
                    devices=sum(c * g.devices_per_task for c, g in _pairs(component, counts)),
                    devices_by_type=_by_type(component, counts, types),
                    wider_than_preferred=scope < preferred,
                    apart=tuple(s for s in site.levels if s > scope and curve[s] < curve[scope]),
                )
                for demands in cuts
            )
    found = _prune(found, component, site)
    return tuple(_merge_types(found) if site.merge_types else found)


def isolated_options(component: Component, speeds: Speeds) -> tuple[Isolated, ...]:
    """How the fair self could run, packed, on any catalogued types (decision 11)."""
    found = []
    for counts in itertools.product(*(g.allowed_counts for g in component.task_groups)):
        for types in itertools.product(*(_type_choices(g, speeds, None) for g in component.task_groups)):
            relative = _relative(component, speeds, counts, types)[-1]
            if relative > 0.0:
                found.append(
                    Isolated(relative * _work_rate(component, speeds), _by_type(component, counts, types))
                )
    return tuple(found)


def _choices(
    component: Component, speeds: Speeds, site: Site
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for counts in itertools.product(*(g.allowed_counts for g in component.task_groups)):
        for types in itertools.product(*(_type_choices(g, speeds, site) for g in component.task_groups)):
            yield counts, types


def _type_choices(group: TaskGroup, speeds: Speeds, site: Site | None) -> tuple[int, ...]:
    if not group.devices_per_task:
        return (CPU_ONLY,)
    return tuple(t for t in speeds.allowed_types(group) if site is None or t in site.node_sizes)


def _pairs(component: Component, counts: Sequence[int]) -> Iterator[tuple[int, TaskGroup]]:
    return zip(counts, component.task_groups, strict=True)


def _relative(
    component: Component, speeds: Speeds, counts: Sequence[int], types: Sequence[int]
) -> tuple[float, ...]:
    """X / X_ref of the slowest group by scope, widest first; 0 where the option does not exist."""
    ratios = []
    for (count, group), type_ in zip(_pairs(component, counts), types, strict=True):
        if group.devices_per_task:
            reference = speeds.reference(group)
            curve = speeds.group(group, type_, count)
            ratios.append([x / reference if reference > 0 else 0.0 for x in curve])
    if not ratios:
        share = min(count / group.count for count, group in _pairs(component, counts))
        return (share,) * len(speeds.scopes)
    return tuple(min(at_scope) for at_scope in zip(*ratios, strict=True))


def _work_rate(component: Component, speeds: Speeds) -> float:
    """X_ref of the group that work is counted in: the first with devices, else tasks of the first."""
    for group in component.task_groups:
        if group.devices_per_task:
            return speeds.reference(group)
    return float(component.task_groups[0].count)


def _by_type(
    component: Component, counts: Sequence[int], types: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    devices: dict[int, int] = {}
    for (count, group), type_ in zip(_pairs(component, counts), types, strict=True):
        if group.devices_per_task:
            devices[type_] = devices.get(type_, 0) + count * group.devices_per_task
    return tuple(sorted(devices.items()))


def _demands(
    component: Component,
    site: Site,
    counts: Sequence[int],
    types: Sequence[int],
    filters: Sequence[int],
    *,
    on_one_node: bool,
) -> Iterator[tuple[Demand, ...]]:
    """Ways to cut the tasks into blocks: one block on one node, else blocks group by group."""
    groups = component.task_groups
    if on_one_node:
        device_types = {t for t in types if t != CPU_ONLY}
        if len(device_types) <= 1:
            yield (_block(groups, tuple(counts), tuple(sorted(device_types)), 0, filters, 1),)
        return
    ways = [list(_group_demands(g, groups, counts[g], types[g], filters, site)) for g in range(len(groups))]
    for demands in itertools.product(*ways):
        if sum(d.multiplicity for d in demands) > 1:
            yield demands


def _group_demands(
    g: int, groups: Sequence[TaskGroup], count: int, type_: int, filters: Sequence[int], site: Site
) -> Iterator[Demand]:
    group = groups[g]

    def blocks(tasks: int, multiplicity: int, built_in: int) -> Demand:
        counts = tuple(tasks if i == g else 0 for i in range(len(groups)))
        device_type = () if type_ == CPU_ONLY else (type_,)
        return _block(groups, counts, device_type, built_in, filters, multiplicity)

    if group.split is TaskSplit.FREE or not group.devices_per_task:
        yield blocks(1, count, 0)
        return
    if len(groups) > 1:
        yield blocks(count, 1, 0)
    for built_in in site.node_sizes[type_]:
        tasks, rest = divmod(built_in, group.devices_per_task)
        if rest == 0 and tasks and count > tasks and count % tasks == 0:
            yield blocks(tasks, count // tasks, built_in)


def _block(
    groups: Sequence[TaskGroup],
    counts: tuple[int, ...],
    types: tuple[int, ...],
    built_in: int,
    filters: Sequence[int],
    multiplicity: int,
) -> Demand:
    demand = [0, 0, 0]
    used = set()
    for g, count in enumerate(counts):
        if count:
            used.add(filters[g])
            for r, amount in enumerate(task_vector(groups[g])):
                demand[r] += count * amount
    return Demand(
        Block((demand[0], demand[1], demand[2]), types, built_in, tuple(sorted(used))), multiplicity, counts
    )


def _prune(options: Sequence[Option], component: Component, site: Site) -> list[Option]:
    """Drop an option that another one contains at the same throughput (decision 30).

    A wider scope with the same demands contains every placement of a narrower one, where every node has a
    domain of it; with freely split groups it also contains the placement on one node. If it is as fast, keeps
    no more apart, and pays no locality cost that the narrower one does not pay, the narrower one can never be
    better.
    """
    free = all(g.split is TaskSplit.FREE or not g.devices_per_task for g in component.task_groups)
    kept: list[Option] = []
    for option in options:
        contained = any(
            wider.scope < option.scope
            and wider.scope in site.everywhere
            and wider.counts == option.counts
            and wider.devices_by_type == option.devices_by_type
            and (wider.demands == option.demands or (free and len(option.demands) == 1))
            and wider.relative == option.relative
            and set(wider.apart) <= set(option.apart)
            and wider.wider_than_preferred == option.wider_than_preferred
            for wider in options
        )
        if not contained:
            kept.append(option)
    return kept


def _merge_types(options: Sequence[Option]) -> list[Option]:
    """Make one of single-block options that differ in nothing but the accelerator type."""
    merged: dict[object, Option] = {}
    for option in options:
        single = len(option.demands) == 1 and option.demands[0].multiplicity == 1
        if not single:
            merged[option] = option
            continue
        demand = option.demands[0]
        key = (
            option.counts,
            option.scope,
            option.relative,
            option.throughput,
            option.wider_than_preferred,
            demand.block.demand,
            demand.block.filters,
        )
        other = merged.get(key)
        if other is None:
            merged[key] = option
            continue
        types = tuple(sorted({*other.demands[0].block.types, *demand.block.types}))
        block = Block(demand.block.demand, types, 0, demand.block.filters)
        merged[key] = Option(
            counts=option.counts,
            scope=option.scope,
            demands=(Demand(block, 1, demand.tasks),),
            relative=option.relative,
            throughput=option.throughput,
            devices=option.devices,
            devices_by_type=(),
            wider_than_preferred=option.wider_than_preferred,
            apart=(),
        )
    return list(merged.values())


__all__ = ["Block", "Demand", "Isolated", "Option", "Site", "component_options", "isolated_options", "size"]
