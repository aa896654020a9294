"""Kinds of components: those that are alike in all but their throughput profiles, told apart once.

A large round has many jobs and few kinds. The fields of all task groups are read column by column, so that
the interpreter does nothing for a single job; whatever is left to do is done by kind. Filters, the distinct
pairs of node selector and tolerations, are numbered on the way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from gangplan.domain.job import WHOLE_DEVICE, Component, TaskGroup, TaskSplit
from gangplan.model.program import IntArray

Names = tuple[str | None, ...]
"""A throughput profile for each task group, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """The kinds of the components of some jobs.

    Attributes:
        of_job: shape (jobs,), the kind of each.
        components: one of each kind, in the order in which they first occur; the names of groups and their
            profiles are not the kind's.
        filters: by kind: filter index of every task group.
        profiles: by job.
        groups: a task group of each filter, by index; filters are numbered as they first occur.
        labels: keys that some selector names.
    """

    of_job: IntArray
    components: tuple[Component, ...]
    filters: tuple[tuple[int, ...], ...]
    profiles: Sequence[Names]
    groups: tuple[TaskGroup, ...]
    labels: frozenset[str]

    @property
    def parts(self) -> int:
        """In how many parts a device is counted, so that every share is a whole number of them.

        1 where nobody asks for a part of a device.
        """
        shares = {
            group.device_share.compute_milli
            for component in self.components
            for group in component.task_groups
            if group.device_share is not None
        }
        return WHOLE_DEVICE // math.gcd(WHOLE_DEVICE, *shares)

    def jobs(self) -> list[IntArray]:
        """The jobs of each kind, ascending."""
        count = np.bincount(self.of_job, minlength=len(self.components))
        return np.split(np.argsort(self.of_job, kind="stable"), np.cumsum(count)[:-1]) if len(count) else []


def build_kinds(components: Sequence[Component]) -> Kinds:
    """Tell the kinds of ``components`` apart, one by job."""
    glance, profiles = _glances(components)
    at_glance, firsts = np.unique(glance, return_index=True)
    kinds: dict[object, int] = {}
    of_glance = np.zeros(len(at_glance), dtype=np.int64)
    first: list[Component] = []
    filters: list[tuple[int, ...]] = []
    numbers: dict[object, int] = {}
    groups: list[TaskGroup] = []
    for g, component in enumerate([components[j] for j in firsts.tolist()]):
        mine = []
        for group in component.task_groups:
            number = numbers.setdefault(_filter(group), len(groups))
            if number == len(groups):
                groups.append(group)
            mine.append(number)
        key = _kind(component, tuple(mine))
        kind = of_glance[g] = kinds.setdefault(key, len(first))
        if kind == len(first):
            first.append(component)
            filters.append(tuple(mine))
    return Kinds(
        of_job=of_glance[glance],
        components=tuple(first),
        filters=tuple(filters),
        profiles=profiles,
        groups=tuple(groups),
        labels=frozenset(label for group in groups for label in group.node_selector),
    )


def _glances(components: Sequence[Component]) -> tuple[IntArray, Sequence[Names]]:
    """What is seen of every component at a glance, numbered as it first occurs; and its profiles.

    Components alike in it are of one kind. Parts of groups are told apart by identity, as long as the
    components live: those that were read from alike messages are the same objects, and hashing takes long.
    """
    cut = list(map(attrgetter("task_groups"), components))
    groups = list(itertools.chain.from_iterable(cut))
    profiles = list(map(attrgetter("profile"), groups))
    columns: list[Iterable[object]] = [
        map(attrgetter("count"), groups),
        map(attrgetter("devices_per_task"), groups),
        map(id, map(attrgetter("allowed_counts"), groups)),
        map(id, map(attrgetter("resources_per_task"), groups)),
        map(id, map(attrgetter("accelerator_types"), groups)),
        map(id, map(attrgetter("split"), groups)),
        [profile is None for profile in profiles],
    ]
    for name in ("device_share", "node_selector", "tolerations"):
        column = list(map(attrgetter(name), groups))
        if any(column):
            columns.append([id(thing) if thing else 0 for thing in column])
    found = _numbered(zip(*columns, strict=True))
    parts: Iterable[object] = found
    names: Sequence[Names] = list(zip(profiles, strict=True))
    if len(groups) > len(cut):
        sizes = list(map(len, cut))
        rest, those = iter(found), iter(profiles)
        parts = [tuple(itertools.islice(rest, size)) for size in sizes]
        names = [tuple(itertools.islice(those, size)) for size in sizes]
    levels = [map(attrgetter(name), components) for name in ("required_level", "preferred_level")]
    return np.array(_numbered(zip(*levels, parts, strict=True)), dtype=np.int64), names


def _numbered(things: Iterable[object]) -> list[int]:
    """A number for each of some things, the same for equal ones, in the order in which they first occur."""
    seen: dict[object, int] = {}
    return [seen.setdefault(thing, len(seen)) for thing in things]


def _filter(group: TaskGroup) -> tuple[object, ...]:
    return (tuple(sorted(group.node_selector.items())), frozenset(group.tolerations))


def _kind(component: Component, filters: tuple[int, ...]) -> tuple[object, ...]:
    return (
        component.required_level,
        component.preferred_level,
        filters,
        tuple(
            [
                (
                    g.count,
                    g.allowed_counts,
                    g.devices_per_task,
                    g.device_milli,
                    g.resources_per_task.cpu_milli,  # hashing the numbers is quicker than the object
                    g.resources_per_task.memory_bytes,
                    tuple(sorted(g.accelerator_types)),  # in any order it is the same class of jobs
                    g.profile is None,
                    g.split is TaskSplit.FREE,
                )
                for g in component.task_groups
            ]
        ),
    )
