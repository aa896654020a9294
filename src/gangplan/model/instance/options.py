"""Options: every way to run a component that could be worth choosing.

An option fixes the count of every task group, the accelerator types, and the scope: the level whose one
domain holds all tasks (Sia, SOSP 2023, section 3.3, calls it a configuration). Its demands are blocks: what
must sit together on one node, and how many such blocks it takes (decision 4). How fast a job runs under an
option is another matter (``shapes.py``): jobs that are alike in all but their throughput share the options.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gangplan.domain.job import Component, TaskGroup, TaskSplit
from gangplan.model.instance.sites import CPU_ONLY, Vector, task_vector


@dataclass(frozen=True, slots=True)
class Block:
    """What must sit together on one node.

    Attributes:
        demand: devices (in parts), CPU (milli), memory (bytes).
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
    """One way to run a component, shared by all jobs that can run so.

    Attributes:
        counts: tasks by group.
        scope: index into the scopes, widest first; all tasks lie in one domain of that level.
        demands: blocks and how many of each.
        devices: devices in all, in parts.
        devices_by_type: ``(type, devices)``, in parts; empty when types were merged (then no limit is by
            type).
        wider_than_preferred: the locality term's flag.
        apart: narrower scopes at which the job would run slower: at none of them may all its tasks lie in one
            domain, or the option is not what it says. Measured spread / packed ratios run from 0.2 to 1.35.
    """

    counts: tuple[int, ...]
    scope: int
    demands: tuple[Demand, ...]
    devices: int
    devices_by_type: tuple[tuple[int, int], ...]
    wider_than_preferred: bool
    apart: tuple[int, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether it is one block on one node."""
        return len(self.demands) == 1 and self.demands[0].multiplicity == 1


@dataclass(frozen=True, slots=True)
class Site:
    """What options need to know of the cluster: types that are there, and node sizes of each.

    Attributes:
        node_sizes: built-in device counts of open nodes, ascending, by type index.
        scopes: number of scopes, ``cluster`` and ``node`` included.
        levels: indices of scopes at which some open node has a domain (``cluster`` and ``node`` included).
        everywhere: those of the levels at which every open node has a domain.
        merge_types: whether options alike in all but the type may be one.
        parts: parts of a device.
    """

    node_sizes: Mapping[int, tuple[int, ...]]
    scopes: int
    levels: tuple[int, ...]
    everywhere: frozenset[int]
    merge_types: bool
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Choice:
    """Counts and types of all groups; CPU_ONLY for groups without devices."""

    counts: tuple[int, ...]
    types: tuple[int, ...]


def choices(component: Component, types: Sequence[Sequence[int]]) -> Iterator[Choice]:
    """Every combination of allowed counts and of ``types`` (by group)."""
    for counts in itertools.product(*(g.allowed_counts for g in component.task_groups)):
        for combination in itertools.product(*types):
            yield Choice(counts, combination)


def choice_options(
    component: Component, choice: Choice, site: Site, filters: Sequence[int], *, required: int, preferred: int
) -> Iterator[Option]:
    """The options of one choice at every scope from ``required`` inwards."""
    devices = sum(c * task_vector(g, site.parts)[0] for c, g in _pairs(component, choice))
    by_type = devices_by_type(component, choice, site.parts)
    several = None
    for scope in site.levels:
        if scope < required:
            continue
        if scope == site.scopes - 1:
            found = _on_one_node(component, choice, filters, site.parts)
        else:
            found = several = _demands(component, site, choice, filters) if several is None else several
        for demands in found:
            yield Option(choice.counts, scope, demands, devices, by_type, scope < preferred)


def contains(wide: Option, narrow: Option, component: Component, site: Site) -> bool:
    """Whether every placement of ``narrow`` is one of ``wide``, throughput and ``apart`` aside.

    A wider scope with the same demands contains every placement of a narrower one, where every node has a
    domain of it; with freely split groups it also contains the placement on one node.
    """
    if wide.scope >= narrow.scope or wide.scope not in site.everywhere:
        return False
    return (
        wide.counts == narrow.counts
        and wide.devices_by_type == narrow.devices_by_type
        and wide.wider_than_preferred == narrow.wider_than_preferred
        and (
            wide.demands == narrow.demands
            or (
                len(narrow.demands) == 1
                and all(g.split is TaskSplit.FREE or not g.devices_per_task for g in component.task_groups)
            )
        )
    )


def merged(options: Sequence[Option]) -> Option:
    """One option for single blocks that differ in nothing but the accelerator type."""
    first = options[0]
    if len(options) == 1:
        return first
    demand = first.demands[0]
    types = tuple(sorted({t for option in options for t in option.demands[0].block.types}))
    block = Block(demand.block.demand, types, 0, demand.block.filters)
    return Option(
        counts=first.counts,
        scope=first.scope,
        demands=(Demand(block, 1, demand.tasks),),
        devices=first.devices,
        devices_by_type=(),
        wider_than_preferred=first.wider_than_preferred,
    )


def merge_key(option: Option) -> object:
    """Options with the same key may be merged where they are worth the same; None: never."""
    if not option.is_single:
        return None
    block = option.demands[0].block
    return option.counts, option.scope, option.wider_than_preferred, block.demand, block.filters


def devices_by_type(component: Component, choice: Choice, parts: int) -> tuple[tuple[int, int], ...]:
    """``(type, devices)`` that a choice holds, in ``parts``."""
    devices: dict[int, int] = {}
    for (count, group), type_ in zip(_pairs(component, choice), choice.types, strict=True):
        if group.devices_per_task:
            devices[type_] = devices.get(type_, 0) + count * task_vector(group, parts)[0]
    return tuple(sorted(devices.items()))


def _pairs(component: Component, choice: Choice) -> Iterator[tuple[int, TaskGroup]]:
    return zip(choice.counts, component.task_groups, strict=True)


def _on_one_node(
    component: Component, choice: Choice, filters: Sequence[int], parts: int
) -> list[tuple[Demand, ...]]:
    """One block of all tasks; none for tasks on several types."""
    types = tuple(sorted({t for t in choice.types if t != CPU_ONLY}))
    if len(types) > 1:
        return []
    return [(_block(component.task_groups, choice.counts, types, 0, filters, 1, parts),)]


def _demands(
    component: Component, site: Site, choice: Choice, filters: Sequence[int]
) -> list[tuple[Demand, ...]]:
    """Ways to cut the tasks into several blocks, group by group; the same at every scope."""
    groups = component.task_groups
    ways = [
        list(_group_demands(g, groups, choice.counts[g], choice.types[g], filters, site))
        for g in range(len(groups))
    ]
    return [demands for demands in itertools.product(*ways) if sum(d.multiplicity for d in demands) > 1]


def _group_demands(
    g: int, groups: Sequence[TaskGroup], count: int, type_: int, filters: Sequence[int], site: Site
) -> Iterator[Demand]:
    group = groups[g]

    def blocks(tasks: int, multiplicity: int, built_in: int) -> Demand:
        counts = tuple(tasks if i == g else 0 for i in range(len(groups)))
        device_type = () if type_ == CPU_ONLY else (type_,)
        return _block(groups, counts, device_type, built_in, filters, multiplicity, site.parts)

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
    parts: int,
) -> Demand:
    demand = [0, 0, 0]
    used = set()
    for g, count in enumerate(counts):
        if count:
            used.add(filters[g])
            for r, amount in enumerate(task_vector(groups[g], parts)):
                demand[r] += count * amount
    return Demand(
        Block((demand[0], demand[1], demand[2]), types, built_in, tuple(sorted(used))), multiplicity, counts
    )
