"""Room in queues for those who are promised a place, by the model's own reading (decision 19).

A promise that is not due yet holds devices in every limited queue above its job. It becomes a limit like a
queue's own, on those of its jobs who would still hold something when the first of the promises is due, so
that rows, prices and quotas of the packing know it as one more limit (``limits.py``). The rule is told in
``constraints/promise.py``; the verifier has another reading (``verifier/promised_room.py``).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from gangplan.domain.cluster import Node
from gangplan.domain.job import WHOLE_DEVICE, Job, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.model.instance.gates import stoppable_from
from gangplan.model.instance.left import counted_left
from gangplan.model.instance.pace import run_seconds, slowest
from gangplan.model.instance.throughput import Speeds

Key = tuple[str, str | None]
"""A queue, and the accelerator type that a limit of it is on; None: all types."""


class PromisedRoom(NamedTuple):
    """What a limit leaves to those who would keep a promise waiting.

    Attributes:
        queue: whose limit it is.
        kind: the accelerator type that it is on; None: all types.
        limit: devices that ``members`` may hold together.
        members: names of the jobs in its subtree that may still be there when a promise is due.
    """

    queue: str
    kind: str | None
    limit: int
    members: frozenset[str]


class Rooms(NamedTuple):
    """What promises make of the limits of a round.

    Attributes:
        limits: what they leave.
        frozen: names of running jobs that are gone in time where they are, and would not be elsewhere; and of
            those who may still be there, where they hold more than a promise leaves.
    """

    limits: tuple[PromisedRoom, ...] = ()
    frozen: frozenset[str] = frozenset()


def promised_rooms(
    round_: Round,
    promises: Sequence[Reservation],
    due: Collection[str],
    kept: Mapping[str, Sequence[TaskPlacement]],
    speeds: Speeds,
    begins: float,
) -> Rooms:
    """What promises leave of the limits of queues.

    Args:
        round_: the round.
        promises: in force.
        due: names of the jobs of those that are due.
        kept: what those hold who may stay, by name.
        speeds: throughput of any group anywhere.
        begins: by when a start of this round has begun.
    """
    needs, first = _needs(round_, promises, due)
    if not first:
        return Rooms()
    above = chains(round_.queues)
    nodes = {node.name: node for node in round_.cluster.nodes}
    most = {(queue.name, kind): limit for queue in round_.queues for kind, limit in limits_of(queue)}
    staying: dict[Key, dict[str, int]] = {key: {} for key in first}
    members: dict[Key, set[str]] = {key: set() for key in first}
    frozen: set[str] = set()
    for job in round_.jobs:
        keys = [key for key in first if job.queue is not None and key[0] in above[job.queue]]
        if not keys or job.name in due:
            continue
        stays = gone_where_it_is(job, round_, speeds) if job.name in kept else None
        starts = gone_if_it_starts(job, round_, speeds, begins)
        for key in keys:
            if stays is not None and stays > first[key]:
                staying[key][job.name] = held(job, kept[job.name], nodes, key[1])
            elif starts > first[key] and stays is not None:
                frozen.add(job.name)
            elif starts > first[key] and largest(job) > needs[key].get(job.name, -1):
                members[key].add(job.name)
    limits = []
    for key in sorted(first, key=lambda key: (key[0], key[1] or "")):
        limit = max(0, most[key] - sum(needs[key].values()))
        if sum(staying[key].values()) > limit * WHOLE_DEVICE:
            limit = 0
            frozen.update(staying[key])
        else:
            members[key].update(staying[key])
        limits.append(PromisedRoom(*key, limit, frozenset(members[key])))
    return Rooms(tuple(limits), frozenset(frozen))


class Crowd:
    """What running jobs hold under the limits of queues; looked up once for each limit.

    Args:
        round_: the round.
        kept: what those hold who may stay, by name.
    """

    def __init__(self, round_: Round, kept: Mapping[str, Sequence[TaskPlacement]]) -> None:
        self._kept = kept
        self._jobs = {job.name: job for job in round_.jobs}
        self._nodes = {node.name: node for node in round_.cluster.nodes}
        self._queues = {queue.name: queue for queue in round_.queues}
        self._above = chains(round_.queues)
        self._known: dict[Key, dict[str, int]] = {}

    def stops(
        self,
        promise: Reservation,
        gone: Collection[str],
        started: Sequence[Reservation],
        turn: Callable[[Job], tuple[bool, float, str]],
    ) -> set[str] | None:
        """Who else has to stop so that a promise has room in its queues; None: it has none whoever stops.

        Args:
            promise: that may be due.
            gone: names of those who stop anyway.
            started: promises that start in this round.
            turn: who stops first before who stops last.
        """
        job, stops = self._jobs[promise.job], set[str]()
        for name in self._above[job.queue] if job.queue is not None else ():
            for kind, limit in sorted(limits_of(self._queues[name]), key=lambda entry: entry[0] or ""):
                need = held(job, promise.placements, self._nodes, kind)
                if not need:
                    continue
                mine = {
                    other: amount
                    for other, amount in self._holders(name, kind).items()
                    if other not in gone and other not in stops
                }
                taken = need + sum(mine.values())
                for each in started:
                    if self._is_under(each.job, name):
                        taken += held(self._jobs[each.job], each.placements, self._nodes, kind)
                over = taken - limit * WHOLE_DEVICE
                for other in sorted((self._jobs[one] for one in mine), key=turn) if over > 0 else ():
                    if over > 0:
                        stops.add(other.name)
                        over -= mine[other.name]
                if over > 0:
                    return None
        return stops

    def _holders(self, queue: str, kind: str | None) -> dict[str, int]:
        """Thousandths of devices that each of those who hold some under a limit holds."""
        if (queue, kind) not in self._known:
            amounts = (
                (name, held(self._jobs[name], placements, self._nodes, kind))
                for name, placements in self._kept.items()
                if self._is_under(name, queue)
            )
            self._known[queue, kind] = {name: amount for name, amount in amounts if amount}
        return self._known[queue, kind]

    def _is_under(self, job: str, queue: str) -> bool:
        own = self._jobs[job].queue
        return own is not None and queue in self._above[own]


def gone_where_it_is(job: Job, round_: Round, speeds: Speeds) -> float:
    """By when a running job that goes on has ended or can have been stopped; seconds since the epoch."""
    left, pace = counted_left(job, round_.policy.promise_quantile), slowest(job.component, speeds)
    ends = math.inf if left is None or pace <= 0.0 else round_.now + left / pace + round_.round_seconds
    if job.running is None or not job.capabilities.pausable:
        return ends
    free = max(round_.now, stoppable_from(job, round_))
    return min(ends, free + round_.round_seconds + job.checkpoint_seconds)


def gone_if_it_starts(job: Job, round_: Round, speeds: Speeds, begins: float) -> float:
    """The same of one that starts, moves or is resized; who waits and gives no notice is never stopped."""
    ends = begins + run_seconds(job, round_, speeds) + round_.round_seconds
    if not job.capabilities.pausable or (job.running is None and job.checkpoint_seconds <= 0.0):
        return ends
    policy = round_.policy
    return min(ends, begins + policy.minimum_run_seconds + round_.round_seconds + job.checkpoint_seconds)


def chain(queues: Mapping[str, Queue], name: str) -> tuple[str, ...]:
    """A queue with those above it, its own name first."""
    found = []
    here: str | None = name
    while here is not None:
        found.append(here)
        here = queues[here].parent
    return tuple(found)


def chains(queues: Sequence[Queue]) -> dict[str, tuple[str, ...]]:
    """:func:`chain` of every queue."""
    by_name = {queue.name: queue for queue in queues}
    return {name: chain(by_name, name) for name in by_name}


def limits_of(queue: Queue) -> Iterator[tuple[str | None, int]]:
    """Its limits: on all types, then by type."""
    if queue.device_limit is not None:
        yield None, queue.device_limit
    yield from queue.device_limit_by_type.items()


def held(job: Job, placements: Sequence[TaskPlacement], nodes: Mapping[str, Node], kind: str | None) -> int:
    """Thousandths of devices of a type (None: of all) that ``placements`` of a job hold."""
    groups = {group.name: group for group in job.component.task_groups}
    return sum(
        place.tasks * groups[place.group].device_milli
        for place in placements
        if kind is None or nodes[place.node].accelerator_type == kind
    )


def largest(job: Job) -> int:
    """Devices that a job holds at most."""
    return sum(max(g.allowed_counts) * g.devices_per_task for g in job.component.task_groups)


def _needs(
    round_: Round, promises: Sequence[Reservation], due: Collection[str]
) -> tuple[dict[Key, dict[str, int]], dict[Key, float]]:
    """Devices that each promise needs under every limit, by job; and the first time of one not due."""
    jobs = {job.name: job for job in round_.jobs}
    nodes = {node.name: node for node in round_.cluster.nodes}
    queues = {queue.name: queue for queue in round_.queues}
    above = chains(round_.queues)
    needs: dict[Key, dict[str, int]] = defaultdict(dict)
    first: dict[Key, float] = {}
    for promise in promises:
        job = jobs[promise.job]
        for name in above[job.queue] if job.queue is not None else ():
            for kind, _ in limits_of(queues[name]):
                devices = held(job, promise.placements, nodes, kind) // WHOLE_DEVICE
                if devices:
                    key = name, kind
                    needs[key][job.name] = devices
                    if job.name not in due:
                        first[key] = min(promise.latest_start, first.get(key, math.inf))
    return dict(needs), first
