"""Filters: the distinct pairs of node selector and tolerations that task groups have."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.domain.job import Component, Job, TaskGroup


class Filters:
    """Distinct (selector, tolerations) of the task groups, and the labels that matter.

    Attributes:
        groups: a task group of each filter, by index.
        labels: keys that some selector names.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.groups: list[TaskGroup] = []
        self._index: dict[object, int] = {}
        labels: set[str] = set()
        for job in jobs:
            for group in job.component.task_groups:
                key = _filter_key(group) if group.node_selector or group.tolerations else ()
                if key not in self._index:
                    self._index[key] = len(self.groups)
                    self.groups.append(group)
                    labels.update(group.node_selector)
        self.labels = frozenset(labels)

    def of(self, component: Component) -> tuple[int, ...]:
        """Filter index of every task group of ``component``."""
        index, groups = self._index, component.task_groups
        return tuple([index[_filter_key(g) if g.node_selector or g.tolerations else ()] for g in groups])


def _filter_key(group: TaskGroup) -> tuple[object, ...]:
    return (tuple(sorted(group.node_selector.items())), frozenset(group.tolerations))
