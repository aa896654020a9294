"""Promises in force, by the verifier's own reading of the round (decision 19).

The rule itself is told in ``constraints/promise.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from gangplan.domain.cluster import DeviceReporting, Node, NodeHealth
from gangplan.domain.job import Job, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.round import Round
from gangplan.model.verifier.left import left_at
from gangplan.model.verifier.promised_room import Holdings
from gangplan.model.verifier.throughput import Throughput


class Due(NamedTuple):
    """A promise whose job starts in this round.

    Attributes:
        promise: the promise.
        stops: names of jobs that stop for it.
    """

    promise: Reservation
    stops: frozenset[str]


class Stops(NamedTuple):
    """What promises ask for in this round.

    Attributes:
        due: those whose jobs start.
        ahead: names of jobs that stop for one whose job starts later.
    """

    due: list[Due]
    ahead: set[str]


def promises_in_force(round_: Round) -> dict[str, Reservation]:
    """Promises in force by job: the earliest first, then who expires first, then by name and place."""
    if not round_.reservations:
        return {}
    waiting = {job.name: job for job in round_.jobs if job.running is None}
    there = {node.name for node in round_.cluster.nodes}
    found: dict[str, Reservation] = {}
    for promise in sorted(round_.reservations, key=before):
        job = waiting.get(promise.job)
        if job is None or promise.job in found or promise.expires_at <= round_.now:
            continue
        if {placement.node for placement in promise.placements} <= there and whole(job, promise.placements):
            found[promise.job] = promise
    return found


def before(promise: Reservation) -> tuple[float, float, str, tuple[tuple[object, ...], ...]]:
    """The order of promises; parts of devices are left out, with which a promise is not in force."""
    places = tuple((p.group, p.node, p.tasks, p.devices) for p in promise.placements)
    return promise.latest_start, promise.expires_at, promise.job, places


def whole(job: Job, placements: tuple[TaskPlacement, ...]) -> bool:
    """Whether ``placements`` have the tasks of a whole gang, and no part of a device."""
    counts: dict[str, int] = {}
    seen: set[tuple[str, str]] = set()
    for placement in placements:
        key = placement.group, placement.node
        if key in seen or placement.tasks < 1 or placement.shares:
            return False
        seen.add(key)
        counts[placement.group] = counts.get(placement.group, 0) + placement.tasks
    asked = {group.name: group for group in job.component.task_groups}
    if any(group.device_share is not None for group in asked.values()) or counts.keys() - asked.keys():
        return False
    return bool(placements) and all(counts.get(name, 0) in g.allowed_counts for name, g in asked.items())


def stops(round_: Round, kept: dict[str, Job], closed: set[str], promises: dict[str, Reservation]) -> Stops:
    """The promises that are due now, with who stops for each, and who stops ahead of that.

    A promise is due when nobody is in its way, on its nodes and in the queues of its job; or when it could
    not wait for another round, and all who are in its way may be stopped. It is not while its job is behind
    a gate, or a node of it is closed. While some of them may not be stopped yet, the others stop, each once
    his own notice could not wait for another round, until the latest start is over.

    Args:
        round_: the round.
        kept: running jobs that can go on beside the promises, by name.
        closed: names of jobs behind a gate.
        promises: those in force.
    """
    nodes = {node.name: node for node in round_.cluster.nodes}
    jobs = {job.name: job for job in round_.jobs}
    found, ahead = list[Due](), set[str]()
    holdings = Holdings(round_, kept)

    def turn(name: str) -> tuple[bool, float, str]:
        return stops_first(kept[name], round_)

    for name, promise in promises.items():
        if name in closed:
            continue
        blocking: set[str] = set()
        possible = True
        for node in {placement.node for placement in promise.placements}:
            others = in_the_way(jobs[name], promise.placements, nodes[node], kept, round_)
            possible = possible and others is not None
            blocking |= others or set()
        if not possible:
            continue
        leaving = blocking.union(ahead, *(one.stops for one in found))
        crowding = holdings.in_the_way(promise, leaving, [one.promise for one in found], turn)
        if crowding is None:
            continue
        blocking |= crowding
        if blocking:
            last = promise.latest_start - max(kept[other].checkpoint_seconds for other in blocking)
            if round_.now + round_.round_seconds <= last:
                continue
            may = {other for other in blocking if stoppable_from(kept[other], round_) <= round_.now}
            if may < blocking:
                if round_.now <= promise.latest_start:
                    next_ = round_.now + round_.round_seconds
                    ahead |= {o for o in may if next_ + kept[o].checkpoint_seconds > promise.latest_start}
                continue
        found.append(Due(promise, frozenset(blocking)))
    return Stops(found, ahead)


def in_the_way(
    job: Job, placements: tuple[TaskPlacement, ...], node: Node, holders: dict[str, Job], round_: Round
) -> set[str] | None:
    """Who holds what ``job`` needs of a node; None: the node could not take it if it were empty.

    Those who hold a device that it is to have. If CPU, memory or devices that only count are short beside the
    others, further those who hold some of what is short, until it is not: first those who may be stopped now,
    and of them the last started, unknown starts being the oldest; then by name.

    Args:
        job: to whom the place is promised.
        placements: the place.
        node: one of its nodes.
        holders: other jobs by name, where they run.
        round_: the round.
    """
    if node.health is not NodeHealth.HEALTHY or node.cordoned:
        return None
    if node.drain_time is not None and round_.now >= node.drain_time:
        return None
    exact = node.device_reporting is DeviceReporting.EXACT
    count, cpu, memory, listed = _held(job, placements, node.name)
    wanted = set(listed)
    if len(listed) != len(wanted) or len(listed) != (count if exact else 0):
        return None
    if not wanted <= node.usable_devices:
        return None
    limits = node.usable_device_count, node.usable_resources.cpu_milli, node.usable_resources.memory_bytes
    if any(asked > limit for asked, limit in zip((count, cpu, memory), limits, strict=True) if asked > 0):
        return None
    here = {
        name: _held(other, other.running.placements, node.name)
        for name, other in holders.items()
        if other.running is not None and any(p.node == node.name for p in other.running.placements)
    }
    found = {name for name, (_, _, _, devices) in here.items() if wanted & set(devices)}
    counted = [d for d, asked in enumerate((count, cpu, memory)) if asked > 0 and not (d == 0 and exact)]
    needs = (count, cpu, memory)

    def short() -> list[int]:
        staying = [held for name, held in here.items() if name not in found]
        return [d for d in counted if needs[d] + sum(held[:3][d] for held in staying) > limits[d]]

    for name in sorted(here.keys() - found, key=lambda name: stops_first(holders[name], round_)):
        if any(here[name][:3][d] > 0 for d in short()):
            found.add(name)
    return found


def stops_first(job: Job, round_: Round) -> tuple[bool, float, str]:
    """In this order jobs that are in the way stop where several could."""
    started = job.running.started_at if job.running is not None else None
    since = math.inf if started is None else round_.now - started
    return stoppable_from(job, round_) > round_.now, since, job.name


def _held(job: Job, placements: tuple[TaskPlacement, ...], node: str) -> tuple[int, int, int, list[int]]:
    """Devices, CPU and memory that ``placements`` of ``job`` hold on a node, and which devices."""
    groups = {group.name: group for group in job.component.task_groups}
    count = cpu = memory = 0
    devices: list[int] = []
    for placement in placements:
        if placement.node == node and placement.group in groups:
            group = groups[placement.group]
            count += placement.tasks * group.devices_per_task
            cpu += placement.tasks * group.resources_per_task.cpu_milli
            memory += placement.tasks * group.resources_per_task.memory_bytes
            devices += placement.devices
    return count, cpu, memory, devices


def stoppable_from(job: Job, round_: Round) -> float:
    """When a running job may be stopped for a promise; infinite: never."""
    if job.running is None or not job.capabilities.pausable:
        return math.inf
    earliest = -math.inf
    if job.running.started_at is not None:
        earliest = job.running.started_at + round_.policy.minimum_run_seconds
    for said in (job.running.next_safe_point, job.running.minimum_run_until):
        if said is not None:
            earliest = max(earliest, said)
    return earliest


def barred_by(
    job: Job, round_: Round, promises: Mapping[str, Reservation], throughput: Throughput, starts: float
) -> dict[str, set[str]]:
    """Nodes on which a start of ``job`` in this round could delay a promise, by the promise's job.

    On the nodes of its own promise it may delay those that come after. What starts in this round has started
    by ``starts``, see :func:`all_started`.
    """
    own = promises.get(job.name)
    found = {}
    for name, promise in promises.items():
        nodes = {placement.node for placement in promise.placements}
        if own is not None and before(own) <= before(promise):
            nodes -= {placement.node for placement in own.placements}
        if nodes and not leaves_in_time(job, promise.latest_start, round_, throughput, starts):
            found[name] = nodes
    return found


def all_started(round_: Round) -> float:
    """By when what starts in this round has started: who runs there may be given its notice first."""
    notices = [job.checkpoint_seconds for job in round_.jobs if job.running is not None]
    return round_.now + max(notices, default=0.0)


def leaves_in_time(job: Job, moment: float, round_: Round, throughput: Throughput, starts: float) -> bool:
    """Whether a job that starts in this round is gone by ``moment``, or can be stopped for it with notice."""
    if starts + longest_run(job, round_, throughput) + round_.round_seconds <= moment:
        return True
    if job.checkpoint_seconds <= 0 or not job.capabilities.pausable:
        return False
    return (
        starts + round_.policy.minimum_run_seconds + round_.round_seconds + job.checkpoint_seconds <= moment
    )


def longest_run(job: Job, round_: Round, throughput: Throughput) -> float:
    """Seconds from start to end however the job is placed, at the policy's quantile; infinite: unknown."""
    left = left_at(job, round_.policy.promise_quantile)
    if left is None:
        return math.inf
    pace = throughput.least(job.component)
    return job.restart_seconds + left / pace if pace > 0 else math.inf
