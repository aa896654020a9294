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
                key = _filter_key(group)
                if key not in self._index:
                    self._index[key] = len(self.groups)
                    self.groups.append(group)
                    labels.update(group.node_selector)
        self.labels = frozenset(labels)

    def of(self, component: Component) -> tuple[int, ...]:
        """Filter index of every task group of ``component``."""
        return tuple(self._index[_filter_key(g)] for g in component.task_groups)


def _filter_key(group: TaskGroup) -> tuple[object, ...]:
    if not group.node_selector and not group.tolerations:
        return ()
    return (tuple(sorted(group.node_selector.items())), frozenset(group.tolerations))
