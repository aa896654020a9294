"""What every queue's subtree may still take, in all and by type."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from gangplan.model.instance.instance import Instance, JobClass
from gangplan.model.instance.options import Option
from gangplan.model.program import IntArray

UNLIMITED = 2**62
"""Where there is no limit; so much that nothing taken of it matters."""


class Quotas:
    """Device limits along the queue tree; limits that are broken now may not get worse.

    Attributes:
        left: shape (queues, types + 1), device parts that each queue's subtree may still take by type, and in
            all in the last column; about :data:`UNLIMITED` without a limit.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._all = len(instance.speeds.type_names)
        limits = instance.limits
        self.left: IntArray = np.full((len(limits.names), self._all + 1), UNLIMITED, dtype=np.int64)
        for q, name in enumerate(limits.names):
            queue = limits.queues[name]
            for type_, limit in queue.device_limit_by_type.items():
                self.left[q, instance.speeds.type_index[type_]] = limit * instance.nodes.parts
            if queue.device_limit is not None:
                self.left[q, self._all] = queue.device_limit * instance.nodes.parts
        self.left = np.maximum(self.left, self._held(np.flatnonzero(instance.kept)))

    def _ancestors(self, job_class: JobClass) -> tuple[int, ...]:
        return self._instance.limits.ancestors[job_class.queue] if job_class.queue >= 0 else ()

    def _held(self, classes: IntArray) -> IntArray:
        """Devices that running ``classes`` hold under every queue, shape of :attr:`left`."""
        own, held = np.zeros_like(self.left), np.zeros_like(self.left)
        if len(held):
            queue = self._instance.queue[classes]
            np.add.at(own, queue[queue >= 0], self._instance.keeps.devices[classes[queue >= 0]])
            for q, ancestors in enumerate(self._instance.limits.ancestors):
                held[list(ancestors)] += own[q]
        return held

    def _option(self, option: Option) -> Iterable[tuple[int, int]]:
        return (*option.devices_by_type, (self._all, option.devices))

    def take_all_kept(self, classes: IntArray) -> None:
        """Charge what running ``classes`` hold."""
        self.left -= self._held(classes)

    def take_kept(self, c: int) -> None:
        """Charge what running class ``c`` holds."""
        self.left[list(self._ancestors(self._instance.classes[c]))] -= self._instance.keeps.devices[c]

    def give_kept(self, c: int) -> None:
        """Give that back."""
        self.left[list(self._ancestors(self._instance.classes[c]))] += self._instance.keeps.devices[c]

    def take(self, job_class: JobClass, option: Option, count: int) -> None:
        """Charge ``count`` gangs (negative: give back) to the class's queue and its ancestors."""
        for ancestor in self._ancestors(job_class):
            for column, number in self._option(option):
                self.left[ancestor, column] -= number * count

    def kept_allowed(self, c: int) -> bool:
        """Whether the quotas still allow what class ``c`` holds now."""
        held = self._instance.keeps.devices[c]
        counted = held > 0
        counted[self._all] = True
        ancestors = list(self._ancestors(self._instance.classes[c]))
        return bool((held <= self.left[ancestors])[:, counted].all())

    def allowed(self, job_class: JobClass, option: Option) -> int:
        """How many more gangs of ``option`` fit, at most the members of the class."""
        most = len(job_class.jobs)
        for ancestor in self._ancestors(job_class):
            for column, number in self._option(option):
                if number:
                    most = min(most, max(0, int(self.left[ancestor, column])) // number)
        return most

    def broken(self) -> frozenset[int]:
        """Queues over some limit."""
        return frozenset(np.flatnonzero((self.left < 0).any(axis=1)).tolist())

    def shortfall(self, job_class: JobClass, option: Option) -> tuple[int, str]:
        """How many devices over the tightest limit, and whose limit it is."""
        worst = (0, "")
        for ancestor in self._ancestors(job_class):
            for column, number in self._option(option):
                if number:
                    short = number - int(self.left[ancestor, column])
                    worst = max(worst, (short, self._instance.limits.names[ancestor]))
        return worst


def option_devices(instance: Instance) -> IntArray:
    """Devices of every distinct option by type, and in all in the last column."""
    found = np.zeros((len(instance.distinct), len(instance.speeds.type_names) + 1), dtype=np.int64)
    for o, option in enumerate(instance.distinct):
        for type_, devices in option.devices_by_type:
            found[o, type_] = devices
        found[o, -1] = option.devices
    return found
