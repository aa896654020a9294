"""Exact node state while a decision is built: what is free on every node, and in every quota."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

import numpy as np

from gangplan.model.instance.instance import Instance, JobClass
from gangplan.model.instance.options import Option
from gangplan.model.instance.sites import NO_DOMAIN, task_vector
from gangplan.model.packing.assignment import Placed
from gangplan.model.packing.choose import best_on, copies_on, first_on, pack_on
from gangplan.model.program import IntArray

Taken = list[tuple[int, int]]
"""Node indices and how many copies of a block each got."""


class Fit(Enum):
    """Which node to prefer."""

    FIRST = "FIRST"
    """In order of names."""
    BEST = "BEST"
    """Where the least stays free; several blocks of a gang on as few nodes as possible."""


class Occupancy:
    """Free capacity beside jobs that stay, and what the quotas still allow."""

    def __init__(self, instance: Instance, kept_classes: Iterable[int]) -> None:
        self.instance = instance
        self.free: IntArray = instance.nodes.capacity.copy()
        self._demand: IntArray = np.array([block.demand for block in instance.blocks], dtype=np.int64)
        self._block_nodes: dict[int, IntArray] = {}
        self._queues = _Quotas(instance)
        for c in kept_classes:
            self.stay(c)

    def stay(self, c: int) -> None:
        """Let the running class ``c`` hold its present place."""
        for node, amounts in self.instance.keep_use[c].items():
            self.free[node] -= amounts
        self._queues.take_kept(c)

    def take_placed(self, j: int, placed: Placed, count: int = 1) -> None:
        """Let job ``j`` hold a new place; with a ``count`` of -1, give it up again."""
        groups = self.instance.jobs[j].component.task_groups
        for node, tasks in placed.spots:
            for group, number in zip(groups, tasks, strict=True):
                self.free[node] -= np.array(task_vector(group), dtype=np.int64) * (number * count)
        option = self.instance.option_at(placed.option)
        self.take_quota(self.instance.classes[int(self.instance.class_of_job[j])], option, count)

    def take_growth(self, j: int, placed: Placed) -> None:
        """Charge the quotas with what running job ``j`` would hold beyond what it holds now."""
        c = int(self.instance.class_of_job[j])
        option = self.instance.option_at(placed.option)
        if option.devices > sum(amounts[0] for amounts in self.instance.keep_use[c].values()):
            self._queues.give_kept(c)
            self.take_quota(self.instance.classes[c], option, 1)

    def can_stay(self, c: int) -> bool:
        """Whether the present place of class ``c`` is free, and its quotas allow it."""
        free = all((self.free[n] >= amounts).all() for n, amounts in self.instance.keep_use[c].items())
        return free and self._queues.kept_allowed(c)

    def block_nodes(self, block: int) -> IntArray:
        """Open nodes that could take ``block`` when empty, ascending."""
        if block not in self._block_nodes:
            pools = np.flatnonzero(self.instance.block_pools[block])
            members = [self.instance.pools.members[p] for p in pools]
            self._block_nodes[block] = (
                np.sort(np.concatenate(members)) if members else np.zeros(0, dtype=np.int64)
            )
        return self._block_nodes[block]

    def copies(self, block: int, nodes: IntArray) -> IntArray:
        """How many more copies of ``block`` each of ``nodes`` takes, shape (nodes,)."""
        return copies_on(self.free, nodes, self._demand[block], np.iinfo(np.int64).max)

    def take(
        self, block: int, count: int, nodes: IntArray, fit: Fit, *, together: bool, most: int | None = None
    ) -> Taken:
        """Take up to ``count`` copies of ``block`` on ``nodes``.

        ``together`` packs them on few nodes; ``most`` limits what one node takes of them.
        """
        limit = np.iinfo(np.int64).max if most is None else most
        pack = together and fit is Fit.BEST
        choose = pack_on if pack else best_on if fit is Fit.BEST else first_on
        places, numbers = choose(self.free, nodes, self._demand[block], count, limit)
        return list(zip(places.tolist(), numbers.tolist(), strict=True))

    def give_back(self, block: int, taken: Taken) -> None:
        """Undo :meth:`take`."""
        for node, number in taken:
            self.free[node] += self._demand[block] * number

    def members_allowed(self, job_class: JobClass, option: Option) -> int:
        """How many more gangs of ``option`` the quotas allow."""
        return self._queues.allowed(job_class, option)

    def quota_shortfall(self, job_class: JobClass, option: Option) -> tuple[int, str]:
        """Devices that ``option`` is short of under the tightest limit, and the queue that has it."""
        return self._queues.shortfall(job_class, option)

    def broken_queues(self) -> frozenset[int]:
        """Queues that hold more than they may."""
        return self._queues.broken()

    def take_quota(self, job_class: JobClass, option: Option, count: int) -> None:
        """Charge ``count`` gangs (negative: give back) to the class's queue and its ancestors."""
        self._queues.take(job_class, option, count)

    def domains(self, scope: int, block: int, multiplicity: int) -> list[IntArray]:
        """Node sets at ``scope`` where ``multiplicity`` copies may fit, tightest first."""
        nodes = self.block_nodes(block)
        if scope == 0:
            return [nodes]
        at = self.instance.nodes.domain_at[nodes, scope]
        inside = at != NO_DOMAIN
        nodes, at = nodes[inside], at[inside]
        if not len(nodes):
            return []
        room = np.bincount(at, weights=self.copies(block, nodes).clip(0, 2**31)).astype(np.int64)
        enough = np.flatnonzero(room >= multiplicity)
        order = enough[np.lexsort((enough, room[enough]))]
        return [nodes[at == domain] for domain in order.tolist()]


class _Quotas:
    """What every queue's subtree may still take, in all and by type (broken limits may not get worse)."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._all = len(instance.speeds.type_names)
        self._left: list[dict[int, int]] = []
        limits = {queue.name: queue for queue in instance.round.queues}
        for name in instance.queue_names:
            queue = limits[name]
            left = {instance.speeds.type_index[t]: limit for t, limit in queue.device_limit_by_type.items()}
            if queue.device_limit is not None:
                left[self._all] = queue.device_limit
            self._left.append(left)
        held: list[dict[int, int]] = [dict.fromkeys(left, 0) for left in self._left]
        for c in np.flatnonzero(instance.kept).tolist():
            for ancestor in self._ancestors(instance.classes[c]):
                for column, devices in self._kept(c).items():
                    if column in held[ancestor]:
                        held[ancestor][column] += devices
        for left, now in zip(self._left, held, strict=True):
            for column, devices in now.items():
                left[column] = max(left[column], devices)

    def _ancestors(self, job_class: JobClass) -> tuple[int, ...]:
        return self._instance.queue_ancestors[job_class.queue] if job_class.queue >= 0 else ()

    def _kept(self, c: int) -> dict[int, int]:
        devices: dict[int, int] = {}
        for node, amounts in self._instance.keep_use[c].items():
            if amounts[0]:
                type_ = int(self._instance.nodes.type_of[node])
                devices[type_] = devices.get(type_, 0) + amounts[0]
        devices[self._all] = sum(devices.values())
        return devices

    def _option(self, option: Option) -> tuple[tuple[int, int], ...]:
        return (*option.devices_by_type, (self._all, option.devices))

    def take_kept(self, c: int) -> None:
        for ancestor in self._ancestors(self._instance.classes[c]):
            self._charge(ancestor, self._kept(c).items(), 1)

    def give_kept(self, c: int) -> None:
        for ancestor in self._ancestors(self._instance.classes[c]):
            self._charge(ancestor, self._kept(c).items(), -1)

    def take(self, job_class: JobClass, option: Option, count: int) -> None:
        for ancestor in self._ancestors(job_class):
            self._charge(ancestor, self._option(option), count)

    def _charge(self, queue: int, devices: Iterable[tuple[int, int]], count: int) -> None:
        left = self._left[queue]
        for column, number in devices:
            if column in left:
                left[column] -= number * count

    def kept_allowed(self, c: int) -> bool:
        """Whether the quotas still allow what class ``c`` holds now."""
        return all(
            devices <= self._left[ancestor].get(column, devices)
            for ancestor in self._ancestors(self._instance.classes[c])
            for column, devices in self._kept(c).items()
        )

    def allowed(self, job_class: JobClass, option: Option) -> int:
        """How many more gangs of ``option`` fit, at most the members of the class."""
        most = len(job_class.jobs)
        for ancestor in self._ancestors(job_class):
            left = self._left[ancestor]
            for column, number in self._option(option):
                if number and column in left:
                    most = min(most, max(0, left[column]) // number)
        return most

    def broken(self) -> frozenset[int]:
        """Queues over some limit."""
        return frozenset(q for q, left in enumerate(self._left) if any(n < 0 for n in left.values()))

    def shortfall(self, job_class: JobClass, option: Option) -> tuple[int, str]:
        """How many devices over the tightest limit, and whose limit it is."""
        worst = (0, "")
        for ancestor in self._ancestors(job_class):
            left = self._left[ancestor]
            for column, number in self._option(option):
                if number and column in left:
                    worst = max(worst, (number - left[column], self._instance.queue_names[ancestor]))
        return worst


def spots_of(parts: Sequence[tuple[tuple[int, ...], Taken]]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Merge blocks on the same node: ``(tasks per copy, taken)`` by demand -> spots by node."""
    merged: dict[int, list[int]] = {}
    for tasks, taken in parts:
        for node, number in taken:
            here = merged.setdefault(node, [0] * len(tasks))
            for g, count in enumerate(tasks):
                here[g] += count * number
    return tuple((node, tuple(counts)) for node, counts in sorted(merged.items()))
