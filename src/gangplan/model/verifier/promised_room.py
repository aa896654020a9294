"""Room in queues for who is promised a place, by the verifier's own reading of the round (decision 19).

The rule itself is told in ``constraints/promise.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from gangplan.domain.cluster import Node
from gangplan.domain.job import WHOLE_DEVICE, Job, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.round import Round
from gangplan.model.verifier.left import left_at
from gangplan.model.verifier.throughput import Throughput


class Limit(NamedTuple):
    """A limit of a queue.

    Attributes:
        queue: its name.
        kind: the accelerator type that the limit is on; empty: all types.
    """

    queue: str
    kind: str


class Room(NamedTuple):
    """What is promised under one limit.

    Attributes:
        most: devices that the queue may hold.
        first: when the first promise is due that does not start now, seconds since the epoch.
        needs: devices of each promise, by its job.
    """

    most: int
    first: float
    needs: Mapping[str, int]

    @property
    def rest(self) -> int:
        """Thousandths of devices for all who would keep a promise waiting."""
        return max(0, self.most - sum(self.needs.values())) * WHOLE_DEVICE

    def is_of(self, job: Job) -> bool:
        """Whether a job can take no more than what is promised to it here."""
        size = sum(g.devices_per_task * max(g.allowed_counts) for g in job.component.task_groups)
        return size <= self.needs.get(job.name, -1)


def rooms(
    round_: Round, promises: Sequence[Reservation], starting: Sequence[Reservation] = ()
) -> dict[Limit, Room]:
    """What promises keep, by limit: ``promises`` that do not start now, and beside them ``starting``."""
    jobs = {job.name: job for job in round_.jobs}
    nodes = {node.name: node for node in round_.cluster.nodes}
    above = limits_by_queue(round_)
    found: dict[Limit, Room] = {}
    for promise in [*promises, *starting]:
        job = jobs[promise.job]
        waits = promise not in starting
        for limit, most in above[job.queue].items():
            need = devices_of(job, promise.placements, nodes, limit.kind) // WHOLE_DEVICE
            if need and (waits or limit in found):
                known = found.get(limit, Room(most, math.inf, {}))
                first = min(known.first, promise.latest_start) if waits else known.first
                found[limit] = Room(most, first, {**known.needs, job.name: need})
    return found


def limits_by_queue(round_: Round) -> dict[str | None, dict[Limit, int]]:
    """The limits that jobs of each queue count under, from their own upwards; that on all types first."""
    queues = {queue.name: queue for queue in round_.queues}
    found: dict[str | None, dict[Limit, int]] = {None: {}}
    for name in queues:
        found[name] = {}
        seen: set[str] = set()
        here: str | None = name
        while here is not None and here in queues and here not in seen:
            seen.add(here)
            queue = queues[here]
            if queue.device_limit is not None:
                found[name][Limit(here, "")] = queue.device_limit
            for kind, most in sorted(queue.device_limit_by_type.items()):
                found[name][Limit(here, kind)] = most
            here = queue.parent
    return found


def devices_of(job: Job, placements: Sequence[TaskPlacement], nodes: Mapping[str, Node], kind: str) -> int:
    """Thousandths of devices of a type (empty: of all) in ``placements``."""
    milli = {group.name: group.device_milli for group in job.component.task_groups}
    return sum(
        [p.tasks * milli[p.group] for p in placements if kind in ("", nodes[p.node].accelerator_type or "")]
    )


class Holdings:
    """What running jobs hold under each limit.

    Args:
        round_: the round.
        kept: running jobs that can go on, by name.
    """

    def __init__(self, round_: Round, kept: Mapping[str, Job]) -> None:
        self._jobs = {job.name: job for job in round_.jobs}
        self._nodes = {node.name: node for node in round_.cluster.nodes}
        self._above = limits_by_queue(round_)
        self._kept = kept
        self._found: dict[Limit, dict[str, int]] = {}

    def in_the_way(
        self,
        promise: Reservation,
        leaving: AbstractSet[str],
        started: Sequence[Reservation],
        turn: Callable[[str], tuple[bool, float, str]],
    ) -> set[str] | None:
        """Who has to stop so that a promise has room in its queues; None: it has none whoever stops.

        Args:
            promise: the promise.
            leaving: names of those who stop anyway.
            started: promises that start in this round.
            turn: who of those who could stop stops first.
        """
        stops: set[str] = set()
        for limit, most in self._above[self._jobs[promise.job].queue].items():
            asked = self._of(promise, limit)
            if not asked:
                continue
            rest = most * WHOLE_DEVICE - asked
            rest -= sum(self._of(each, limit) for each in started)
            beside = {name: n for name, n in self._under(limit).items() if name not in leaving | stops}
            rest -= sum(beside.values())
            while rest < 0 and beside:
                first = min(beside, key=turn)
                stops.add(first)
                rest += beside.pop(first)
            if rest < 0:
                return None
        return stops

    def _of(self, promise: Reservation, limit: Limit) -> int:
        job = self._jobs[promise.job]
        counts = limit in self._above[job.queue]
        return devices_of(job, promise.placements, self._nodes, limit.kind) if counts else 0

    def _under(self, limit: Limit) -> dict[str, int]:
        """Who of them holds how much there, thousandths of devices."""
        if limit not in self._found:
            mine = self._found[limit] = {}
            for name, job in self._kept.items():
                if job.running is not None and limit in self._above[job.queue]:
                    amount = devices_of(job, job.running.placements, self._nodes, limit.kind)
                    if amount:
                        mine[name] = amount
        return self._found[limit]


def leaves(job: Job, round_: Round, throughput: Throughput, since: float) -> float:
    """By when a running job that goes on has ended, or can have been stopped; infinite: never.

    Args:
        job: the job.
        round_: the round.
        throughput: of its options.
        since: from when on it may be stopped.
    """
    left, pace = left_at(job, round_.policy.promise_quantile), throughput.least(job.component)
    ended = stopped = math.inf
    if left is not None and pace > 0:
        ended = round_.now + left / pace + round_.round_seconds
    if job.capabilities.pausable:
        stopped = max(round_.now, since) + round_.round_seconds + job.checkpoint_seconds
    return min(ended, stopped)


def leaves_after_start(
    job: Job, round_: Round, longest_run: float, starts: float, *, noticed: bool = False
) -> float:
    """The same of a job that starts, moves or is resized in this round, and has started by ``starts``.

    Args:
        job: the job.
        round_: the round.
        longest_run: seconds that it runs at most.
        starts: seconds since the epoch.
        noticed: whether one that waits and gives no notice is never stopped.
    """
    ended = starts + longest_run + round_.round_seconds
    if not job.capabilities.pausable or (noticed and job.running is None and job.checkpoint_seconds <= 0):
        return ended
    least = round_.policy.minimum_run_seconds
    return min(ended, starts + least + round_.round_seconds + job.checkpoint_seconds)
