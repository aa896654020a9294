"""Promises in force: what is kept free, for whom, and from when on; the model's own reading (decision 19).

A promise becomes an eligibility: its nodes carry a mark that only those pass who will be gone in time, so
that options, pools, prices and the binder know it without a row of its own. In queues with a limit it keeps
room as well (``promised_room.py``). The rule is told in
``constraints/promise.py``; the verifier has another reading (``verifier/promised.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from gangplan.domain.cluster import DeviceReporting, Node, NodeHealth
from gangplan.domain.job import Job, TaskGroup, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import Claim, ForcedReason
from gangplan.domain.round import Round
from gangplan.model.instance.gates import stoppable_from
from gangplan.model.instance.pace import run_seconds
from gangplan.model.instance.present import Present
from gangplan.model.instance.promised_room import Crowd, Rooms, promised_rooms
from gangplan.model.instance.throughput import Speeds

_MARK = "\0promise/"
"""Begins the label that nodes without the promise have; no label of a caller begins so."""


class Promised(NamedTuple):
    """What the promises of a round make of it.

    Attributes:
        round: the round in which nodes are marked, who may not go there passes unmarked nodes only, and the
            promises that are due are claims.
        present: with those forced off who hold what is due to others.
        rooms: what promises leave of the limits of queues.
    """

    round: Round
    present: Present
    rooms: Rooms = Rooms()


def promised(round_: Round, present: Present, closed: Collection[str], speeds: Speeds) -> Promised:
    """Make marks, claims and stops of the promises in force; as it is where there are none.

    Args:
        round_: the round.
        present: who may stay beside the promises.
        closed: names of jobs that may not start.
        speeds: throughput of any group anywhere.
    """
    promises = in_force(round_)
    if not promises:
        return Promised(round_, present)
    begins = round_.now + longest_notice(round_)
    jobs = {job.name: job for job in round_.jobs}
    nodes = {node.name: node for node in round_.cluster.nodes}
    forced: dict[str, ForcedReason] = {}
    due: list[Reservation] = []
    crowd = Crowd(round_, present.kept)
    for promise in promises:
        if promise.job in closed:
            continue
        stops = _on_nodes(promise, round_, jobs, nodes, present)
        if stops is None:
            continue
        crowding = crowd.stops(promise, stops | forced.keys(), due, partial(_stops_late, round_=round_))
        if crowding is None:
            continue
        stops |= crowding
        late = {name for name in stops if _too_late_next(promise, jobs[name], round_)}
        may = {name for name in stops if _may_stop(jobs[name], round_)}
        if may == stops:
            if stops and not late:
                continue  # it can wait
            due.append(promise)
        else:  # ahead of it, who may and could not be stopped in time later; nobody once it is too late
            stops = may & late if round_.now <= promise.latest_start else set()
        forced.update(dict.fromkeys(stops, ForcedReason.PROMISE_DUE))
    claims = [Claim(promise.job, promise.placements, promise.expires_at) for promise in due]
    kept = {name: held for name, held in present.kept.items() if name not in forced}
    starting = {promise.job for promise in due}
    return Promised(
        replace(
            round_,
            cluster=replace(round_.cluster, nodes=tuple(_marked(round_.cluster.nodes, promises))),
            jobs=tuple(_kept_off(job, round_, promises, speeds, begins) for job in round_.jobs),
            claims=(*round_.claims, *claims),
        ),
        Present(kept=kept, forced={**present.forced, **forced}),
        promised_rooms(round_, promises, starting, kept, speeds, begins),
    )


def over_run_limit(round_: Round, speeds: Speeds) -> frozenset[str]:
    """Names of jobs that give longer notice than the policy lets jobs run, or may run longer unpaused."""
    limit = round_.policy.longest_run_seconds
    if limit is None:
        return frozenset()
    return frozenset(
        job.name
        for job in round_.jobs
        if job.checkpoint_seconds > limit
        or (not job.capabilities.pausable and run_seconds(job, round_, speeds) > limit)
    )


def in_force(round_: Round) -> tuple[Reservation, ...]:
    """The promises in force, in the order in which they go before each other; one for each job."""
    if not round_.reservations:
        return ()
    jobs = {job.name: job for job in round_.jobs}
    nodes = {node.name for node in round_.cluster.nodes}
    found: dict[str, Reservation] = {}
    for promise in sorted(round_.reservations, key=rank):
        job = jobs.get(promise.job)
        if (
            job is not None
            and job.running is None
            and promise.job not in found
            and promise.expires_at > round_.now
            and all(placement.node in nodes for placement in promise.placements)
            and _is_a_gang(job, promise.placements)
        ):
            found[promise.job] = promise
    return tuple(found.values())


def rank(promise: Reservation) -> tuple[object, ...]:
    """Which of two promises goes before the other."""
    places = [(place.group, place.node, place.tasks, place.devices) for place in promise.placements]
    return (promise.latest_start, promise.expires_at, promise.job, places)


def promised_nodes(round_: Round) -> frozenset[str]:
    """Names of nodes that are promised to somebody."""
    return frozenset(placement.node for promise in in_force(round_) for placement in promise.placements)


def longest_notice(round_: Round) -> float:
    """Seconds for which a start of this round may have to wait for others to stop."""
    return max([job.checkpoint_seconds for job in round_.jobs if job.running is not None], default=0.0)


def _is_a_gang(job: Job, placements: tuple[TaskPlacement, ...]) -> bool:
    """Whether a place has tasks of every group, as many as it may have, each on a node of its own."""
    groups = {group.name: group for group in job.component.task_groups}
    tasks: dict[str, int] = dict.fromkeys(groups, 0)
    spots = {(placement.group, placement.node) for placement in placements}
    if len(spots) < len(placements) or not placements:
        return False
    for placement in placements:
        if placement.group not in groups or placement.tasks < 1 or placement.shares:
            return False
        tasks[placement.group] += placement.tasks
    return all(
        tasks[group.name] in group.allowed_counts and group.device_share is None for group in groups.values()
    )


def _marked(nodes: Sequence[Node], promises: Sequence[Reservation]) -> Iterator[Node]:
    """The nodes, with a label for every promise that they are not part of.

    Where an earlier promise has a node of it, another label is on the earlier one's nodes, too.
    """
    held = [{placement.node for placement in promise.placements} for promise in promises]
    shared = [(i, k) for i in range(len(held)) for k in range(i) if held[i] & held[k]]
    for node in nodes:
        labels = {f"{_MARK}{i}": "" for i, mine in enumerate(held) if node.name not in mine}
        for i, k in shared:
            if node.name not in held[i] or node.name in held[k]:
                labels[f"{_MARK}{i}/{k}"] = ""
        yield replace(node, labels={**node.labels, **labels})


def _kept_off(job: Job, round_: Round, promises: Sequence[Reservation], speeds: Speeds, begins: float) -> Job:
    """The job, its groups on nodes only that are not promised to anybody whom it could keep waiting.

    Args:
        job: that may start.
        round_: the round.
        promises: in force.
        speeds: throughput of any group anywhere.
        begins: by when a start of this round has begun.
    """
    run = run_seconds(job, round_, speeds)
    own = next((i for i, promise in enumerate(promises) if promise.job == job.name), None)
    mine = set() if own is None else {placement.node for placement in promises[own].placements}
    barred: dict[str, str] = {}
    for i, promise in enumerate(promises):
        if i == own or _is_gone(job, run, promise.latest_start, round_, begins):
            continue
        goes_before = own is not None and own < i and any(p.node in mine for p in promise.placements)
        barred[f"{_MARK}{i}/{own}" if goes_before else f"{_MARK}{i}"] = ""
    if not barred:
        return job
    groups = tuple(
        replace(group, node_selector={**group.node_selector, **barred}) for group in job.component.task_groups
    )
    return replace(job, component=replace(job.component, task_groups=groups))


def _is_gone(job: Job, run: float, moment: float, round_: Round, begins: float) -> bool:
    """Whether a job that starts now has ended by then, or can be stopped for it with notice."""
    if begins + run + round_.round_seconds <= moment:
        return True
    stopped = begins + round_.policy.minimum_run_seconds + round_.round_seconds + job.checkpoint_seconds
    return job.capabilities.pausable and job.checkpoint_seconds > 0.0 and stopped <= moment


def _on_nodes(
    promise: Reservation,
    round_: Round,
    jobs: Mapping[str, Job],
    nodes: Mapping[str, Node],
    present: Present,
) -> set[str] | None:
    """Who is in the way of a promise on its nodes; None: it can be kept in no way now."""
    groups = {group.name: group for group in jobs[promise.job].component.task_groups}
    holders: dict[str, list[tuple[Job, TaskGroup, TaskPlacement]]] = defaultdict(list)
    for name, placements in present.kept.items():
        mine = {group.name: group for group in jobs[name].component.task_groups}
        for placement in placements:
            holders[placement.node].append((jobs[name], mine[placement.group], placement))
    in_the_way: set[str] = set()
    for node in {placement.node for placement in promise.placements}:
        here = [(groups[p.group], p) for p in promise.placements if p.node == node]
        who = _conflicts(nodes[node], here, holders[node], round_)
        if who is None:
            return None
        in_the_way |= who
    return in_the_way


def _too_late_next(promise: Reservation, job: Job, round_: Round) -> bool:
    """Whether the notice of who is in the way would not end in time any more, given in the next round."""
    return round_.now + round_.round_seconds + job.checkpoint_seconds > promise.latest_start


def _conflicts(
    node: Node,
    wanted: Sequence[tuple[TaskGroup, TaskPlacement]],
    holders: Sequence[tuple[Job, TaskGroup, TaskPlacement]],
    round_: Round,
) -> set[str] | None:
    """Names of jobs without whose stop there is no room; None: there is none at all, now.

    Who holds a device that is wanted; and while room is short beside the others, one after the other of those
    who hold what is short: who may be stopped now before who may not, then who started last.
    """
    drained = node.drain_time is not None and node.drain_time <= round_.now
    if node.health is not NodeHealth.HEALTHY or node.cordoned or drained:
        return None
    devices = [device for _, placement in wanted for device in placement.devices]
    exact = node.device_reporting is DeviceReporting.EXACT
    if exact:
        asked = sum(placement.tasks * group.devices_per_task for group, placement in wanted)
        if not len(devices) == len(set(devices)) == asked or not node.usable_devices.issuperset(devices):
            return None
    elif devices:
        return None
    need = _use((group, placement) for group, placement in wanted)
    room = (
        node.usable_device_count,
        node.usable_resources.cpu_milli,
        node.usable_resources.memory_bytes,
    )
    if any(a > b for a, b in zip(need, room, strict=True) if a):
        return None
    over = {job.name for job, _, placement in holders if not set(devices).isdisjoint(placement.devices)}
    rest = list(_use((group, placement) for job, group, placement in holders if job.name not in over))
    counted = range(1 if exact else 0, 3)
    others = {job.name: job for job, _, _ in holders if job.name not in over}
    for job in sorted(others.values(), key=lambda job: _stops_late(job, round_)):
        short = [r for r in counted if need[r] and need[r] + rest[r] > room[r]]
        mine = _use((group, placement) for other, group, placement in holders if other is job)
        if any(mine[r] for r in short):
            over.add(job.name)
            rest = [all_ - own for all_, own in zip(rest, mine, strict=True)]
    return over


def _stops_late(job: Job, round_: Round) -> tuple[bool, float, str]:
    """In this order jobs stop for a promise."""
    started = None if job.running is None else job.running.started_at
    return (not _may_stop(job, round_), float("inf") if started is None else -started, job.name)


def _use(held: Iterator[tuple[TaskGroup, TaskPlacement]]) -> tuple[int, int, int]:
    """Devices, CPU and memory."""
    devices = cpu = memory = 0
    for group, placement in held:
        devices += group.devices_per_task * placement.tasks
        cpu += group.resources_per_task.cpu_milli * placement.tasks
        memory += group.resources_per_task.memory_bytes * placement.tasks
    return devices, cpu, memory


def _may_stop(job: Job, round_: Round) -> bool:
    """Whether a running job may be stopped for a promise: its owner lets it, and it has run long enough."""
    return job.running is not None and job.capabilities.pausable and stoppable_from(job, round_) <= round_.now
