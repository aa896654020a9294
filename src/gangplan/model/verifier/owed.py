"""What jobs and queues are owed, followed upwards from each job: the verifier's own arithmetic."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import cached_property

from gangplan.domain.job import Job
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE
from gangplan.model.verifier.fairness import RHO_MAX, RHO_MIN
from gangplan.model.verifier.throughput import Throughput


class Owed:
    """Shares of jobs and ratios of queues in one round.

    Args:
        round_: the round.
        bases: base weight by job name.
        capacity: usable devices by type.
        throughput: the lookup.
        absent: names of the jobs that may not start, which are owed nothing.
    """

    def __init__(
        self,
        round_: Round,
        bases: Mapping[str, float],
        capacity: Mapping[str, int],
        throughput: Throughput,
        absent: Collection[str],
    ) -> None:
        self._round, self._bases, self._capacity, self._throughput = round_, bases, capacity, throughput
        self._absent = absent
        self._queues = {queue.name: queue for queue in round_.queues}

    @cached_property
    def _direct(self) -> dict[str | None, float]:
        """Sum of base weights of the jobs that are in a queue itself; None: in no queue."""
        sums: dict[str | None, list[float]] = {}
        for job in self._round.jobs:
            if job.name in self._absent:
                continue
            sums.setdefault(job.queue, []).append(self._bases[job.name])
        return {name: math.fsum(values) for name, values in sums.items()}

    @cached_property
    def _busy(self) -> frozenset[str]:
        """Queues with a job in their subtree."""
        busy: set[str] = set()
        for name in self._direct:
            here = name
            while here is not None and here not in busy:
                busy.add(here)
                here = self._queues[here].parent
        return frozenset(busy)

    def _siblings(self, parent: str | None) -> list[Queue]:
        return [q for q in self._queues.values() if q.parent == parent and q.name in self._busy]

    @cached_property
    def _sums(self) -> dict[str | None, float]:
        """By node of the tree: the weights that share what it has."""
        sums: dict[str | None, float] = dict.fromkeys(self._direct, 1.0)
        for name in self._busy:
            queue = self._queues[name]
            sums[queue.parent] = sums.get(queue.parent, 0.0) + queue.weight
        return sums

    def share(self, job: Job) -> float:
        """The fraction of the cluster that ``job`` is owed."""
        if job.name in self._absent:
            return 0.0
        fraction = self._bases[job.name] / self._direct[job.queue] / self._sums[job.queue]
        name = job.queue
        while name is not None:
            queue = self._queues[name]
            fraction *= queue.weight / self._sums[queue.parent]
            name = queue.parent
        return fraction

    def devices(self, job: Job) -> float:
        """Devices that ``job`` is owed: of types that it may use, and no more than it asks for."""
        groups = [group for group in job.component.task_groups if group.devices_per_task]
        types = {name for group in groups for name in self._throughput.types(group)}
        usable = sum(count for name, count in self._capacity.items() if name in types)
        asked = math.fsum(group.count * group.device_milli / 1000 for group in groups)
        return min(asked, self.share(job) * usable)

    def equal(self, job: Job) -> float:
        """X-equal of Gavel: work units/s with an equal share of every type on which the job runs."""
        groups = [group for group in job.component.task_groups if group.devices_per_task]
        asked = math.fsum(group.count * group.device_milli / 1000 for group in groups)
        counts = {group.name: group.count for group in job.component.task_groups}
        share, time, work = self.share(job), [], []
        for name, usable in self._capacity.items():
            if not groups or any(name not in self._throughput.types(group) for group in groups):
                continue
            types: dict[str, str | None] = {group.name: name for group in groups}
            x = self._throughput.of_gang(job.component, counts, types, NODE)[1]
            if x > 0.0:
                time.append(share * usable / asked)
                work.append(time[-1] * x)
        return math.fsum(work) / max(1.0, math.fsum(time))

    def queue_ratio(self, job: Job) -> float:
        """Owed over received of its queue and of all that is in, multiplied and clipped; 1 where unknown."""
        return 1.0 if job.name in self._absent else self.ratio_of(job.queue)

    def ratio_of(self, queue: str | None) -> float:
        """Owed over received of ``queue`` and all that it is in, multiplied and clipped; 1 where unknown."""
        return max(RHO_MIN, min(RHO_MAX, self._path_ratio(queue)))

    def _path_ratio(self, name: str | None) -> float:
        ratio = 1.0
        while name is not None:
            queue = self._queues[name]
            ratio *= self._level_ratios(queue.parent).get(name, 1.0)
            name = queue.parent
        return ratio

    def _level_ratios(self, parent: str | None) -> dict[str, float]:
        """Share owed over share received of the siblings below ``parent`` that say what they have had."""
        if parent in self._levels:
            return self._levels[parent]
        received = {
            queue.name: queue.service_received
            for queue in self._siblings(parent)
            if queue.service_received is not None
        }
        weights = math.fsum(self._queues[name].weight for name in received)
        round_of_all = sum(self._capacity.values()) * self._round.round_seconds
        had = {
            name: service + round_of_all * self._queues[name].weight / weights
            for name, service in received.items()
        }
        found: dict[str, float] = {}
        if len(had) > 1 and min(had.values()) > 0.0:
            total = math.fsum(had.values())
            found = {name: self._queues[name].weight / weights / (mine / total) for name, mine in had.items()}
        self._levels[parent] = found
        return found

    @cached_property
    def _levels(self) -> dict[str | None, dict[str, float]]:
        return {}
