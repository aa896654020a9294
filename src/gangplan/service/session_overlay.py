"""A round as it is while planned actions are under way: starts count as done, stops as begun."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import compress
from operator import attrgetter, is_not, ne
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from gangplan.domain.cluster import DeviceReporting, Node
from gangplan.domain.job import Job, Running, TaskPlacement
from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.service.sessions.in_flight import InFlight, pending, waits
from gangplan.service.sessions.record import Record
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_running import read_placements
from gangplan.v1 import plan_pb2

_READ_IN_MEMORY = 32_768
"""Actions in flight of all sessions together that are not read anew each round."""


_name = attrgetter("name")
_Named = TypeVar("_Named", Job, Node)
_Device = tuple[str, int]
"""A device as node and index."""
_Devices = tuple[tuple[_Device, bool], ...]
"""Devices that a job holds, and whether only a part of each."""


class _UnderWay(NamedTuple):
    """A job while an action in flight is under way, and what that was made from."""

    job: Job
    entry: InFlight
    blocked: bool
    after: Job | None
    devices: _Devices


class _Last(NamedTuple):
    """A round with what was in flight.

    Attributes:
        told: the round as the caller told it; None: there was none.
        entries: what was in flight, by id, in order.
        blocked: ids of those that waited for others.
        touched: by name of every job that ran or had an entry: devices that it held or was to hold.
        made: by id of an entry: the job under way.
        after: by name: jobs that are otherwise than they were told.
    """

    told: Round | None
    entries: Mapping[int, InFlight]
    blocked: Collection[int]
    touched: dict[str, tuple[_Device, ...]]
    made: dict[int, _UnderWay]
    after: dict[str, Job]


_NEVER = _Last(None, {}, (), {}, {}, {})


class Overlay:
    """What is in flight in a session as it was in its last round, so that only what is new is made.

    Jobs that nothing new befalls are the same objects round after round. A set of results is never changed,
    only replaced by the next, so that several rounds may use it at once. The next one is a copy, with what is
    other in it: a copy as a dict copies itself costs next to nothing, and one thing after the other does.
    """

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = _NEVER


def under_way(round_: Round, record: Record, overlay: Overlay | None = None) -> Round:
    """``round_`` with what is in flight in a session; what is void by then does not count.

    A job that is to be stopped, or stopped and started elsewhere after others, is being stopped. One that
    waits for nobody runs where it was planned, since the plan. What contradicts the caller's own words (a
    device that somebody else holds or that its node does not have, a start of who runs already) does not
    count either.

    Args:
        round_: what the caller told.
        record: of the session.
        overlay: of its last round; None: nothing is known of it.
    """
    overlay = overlay or Overlay()
    entries = [entry for entry in record.in_flight if round_.now <= entry.void_after]
    if not entries:
        overlay.last = _NEVER
        return round_
    last = overlay.last
    dependent = [entry for entry in entries if entry.depends_on]
    still = pending(entries) if dependent else frozenset()
    blocked = {id(entry) for entry in dependent if waits(entry, still, record.settled)}
    here = last._replace(
        told=round_, entries=dict(zip(map(id, entries), entries, strict=True)), blocked=blocked
    )
    other = _otherwise(last, here)
    here = here._replace(touched=_touched(last.touched, here, other))
    here = _settled(here, last, _with_neighbours(last, here, other))
    overlay.last = here
    return replace(round_, jobs=tuple(map(here.after.get, map(_name, round_.jobs), round_.jobs)))


def _otherwise(last: _Last, here: _Last) -> set[str]:
    """Names of the jobs of whom, or of whose actions, something else is known than before."""
    told, before = here.told, last.told
    assert told is not None
    if before is None:
        return {job.name for job in told.jobs}.union(entry.job for entry in here.entries.values())
    found = _other(before.jobs, told.jobs)
    gone = [entry for at, entry in last.entries.items() if at not in here.entries]
    new = [entry for at, entry in here.entries.items() if at not in last.entries]
    found.update(entry.job for entry in (*gone, *new))
    if _in_another_order(last.entries, here.entries):
        found.update(entry.job for entry in here.entries.values())
    waiting = set(last.blocked).symmetric_difference(here.blocked)
    found.update(here.entries[at].job for at in waiting if at in here.entries)
    if told.cluster is not before.cluster:
        nodes = _other(before.cluster.nodes, told.cluster.nodes)
        found.update(
            name for name, devices in last.touched.items() if any(node in nodes for node, _ in devices)
        )
    return found


def _in_another_order(before: Mapping[int, InFlight], now: Mapping[int, InFlight]) -> bool:
    """Whether entries that there were and are do not follow each other as they did."""
    stayed = filter(now.__contains__, before)
    return any(map(ne, stayed, filter(before.__contains__, now)))


def _touched(
    before: Mapping[str, tuple[_Device, ...]], here: _Last, other: Collection[str]
) -> dict[str, tuple[_Device, ...]]:
    """Devices that jobs hold or are to hold, by name; for those not ``other``, as before."""
    assert here.told is not None
    touched = dict(before)
    for name in other:
        touched.pop(name, None)
    for job in _named(here.told.jobs, other):
        if job.running is not None:
            touched[job.name] = _held(job)
    for entry in here.entries.values():
        if entry.job in other:
            touched[entry.job] = touched.get(entry.job, ()) + _wanted(entry)
    return touched


def _with_neighbours(last: _Last, here: _Last, other: Collection[str]) -> Collection[str]:
    """Names of the jobs for which it must be found out anew what is under way.

    ``other``, and whoever holds or is to hold one of their devices, and so on: what counts of an action hangs
    on nothing else.
    """
    found = set(other)
    new: Collection[str] = other
    while new:
        devices = {
            device
            for name in new
            for touched in (last.touched, here.touched)
            for device in touched.get(name, ())
        }
        if not devices:
            break
        new = [
            name for name, mine in here.touched.items() if name not in found and not devices.isdisjoint(mine)
        ]
        found.update(new)
    return found


def _named(jobs: Sequence[Job], names: Collection[str]) -> list[Job]:
    """Those of ``jobs`` that have one of ``names``."""
    return list(compress(jobs, map(names.__contains__, map(_name, jobs))))


def _other(before: Sequence[_Named], now: Sequence[_Named]) -> set[str]:
    """Names of those that are not the same objects any more, or only now, or gone."""
    if len(before) == len(now):  # most stand where they stood
        moved = list(map(is_not, before, now))
        before, now = list(compress(before, moved)), list(compress(now, moved))
    known = {one.name: one for one in before}
    here = {one.name: one for one in now}
    return (known.keys() ^ here.keys()) | {name for name, one in here.items() if known.get(name) is not one}


def _settled(here: _Last, last: _Last, anew: Collection[str]) -> _Last:
    """``here`` with what is under way: of the jobs ``anew`` as it is found out, of others as in ``last``."""
    assert here.told is not None
    jobs = {job.name: job for job in _named(here.told.jobs, anew)}
    nodes = {node.name: node for node in here.told.cluster.nodes}
    running = [job for job in jobs.values() if job.running is not None]
    holders = _Holders(running, map(_devices, running))
    made, after = dict(last.made), dict(last.after)
    for at in last.entries.keys() - here.entries.keys():
        made.pop(at, None)
    for name in anew:
        after.pop(name, None)
    for at, entry in here.entries.items():
        if entry.job not in anew:
            continue  # it is as it was
        known = made.pop(at, None)
        if entry.job not in jobs:
            continue
        job = jobs[entry.job]
        each = made[at] = _made(known, job, entry, blocked=at in here.blocked)
        if each.after is None:
            continue
        if each.after.running is not job.running and not (
            _has_devices(each.after, nodes) and holders.free(each.after, each.devices)
        ):
            continue
        holders.move(job, each.devices)
        jobs[job.name] = after[job.name] = each.after
    return here._replace(made=made, after=after)


def _made(known: _UnderWay | None, job: Job, entry: InFlight, *, blocked: bool) -> _UnderWay:
    """``job`` while ``entry`` is under way; what is known, if it is of the same."""
    if known is not None and known.job is job and known.entry is entry and known.blocked is blocked:
        return known
    after = _after(job, entry, blocked=blocked)
    return _UnderWay(job, entry, blocked, after, () if after is None else _devices(after))


def _after(job: Job, entry: InFlight, *, blocked: bool) -> Job | None:
    """The job while ``entry`` is under way; None: as it is."""
    running = job.running
    if entry.kind is ActionKind.EVICT:
        return None if running is None else replace(job, running=replace(running, stopping=True))
    if entry.kind is ActionKind.PLACE:
        started = running is None and not blocked
        return replace(job, running=_started(entry)) if started else None
    if running is None:
        return replace(job, running=_started(entry)) if entry.stopped and not blocked else None
    if blocked:
        return replace(job, running=replace(running, stopping=True))
    disrupted_at = (*job.disrupted_at, entry.since) if _is_chosen(entry) else job.disrupted_at
    return replace(job, running=_started(entry), disrupted_at=disrupted_at)


def _is_chosen(entry: InFlight) -> bool:
    return _read(entry.action)[1]


def _started(entry: InFlight) -> Running:
    return Running(placements_of(entry), started_at=entry.since, checkpoint_age_seconds=0.0)


def placements_of(entry: InFlight) -> tuple[TaskPlacement, ...]:
    """Where an action in flight leads."""
    return _read(entry.action)[0]


@lru_cache(_READ_IN_MEMORY)
def _read(action: bytes) -> tuple[tuple[TaskPlacement, ...], bool]:
    """The placements of an encoded action, and whether it was chosen; read once, not round after round."""
    message = plan_pb2.Action.FromString(action)
    placements = read_placements(message.placements, "", None, Fields())
    return placements, message.forced_reason == plan_pb2.FORCED_REASON_UNSPECIFIED


def _has_devices(job: Job, nodes: Mapping[str, Node]) -> bool:
    """Whether every device that a job is to hold can be there; a node that is gone is no contradiction."""
    for place in job.running.placements if job.running is not None else ():
        node = nodes.get(place.node)
        if node is None or not place.devices:
            continue
        if node.device_reporting is DeviceReporting.COUNT_ONLY or max(place.devices) >= node.device_count:
            return False
    return True


class _Holders:
    """Who holds which device: one all of it, or several a part.

    Args:
        jobs: that run.
        devices: of each.
    """

    def __init__(self, jobs: Iterable[Job], devices: Iterable[_Devices]) -> None:
        self._part_by_job: dict[tuple[str, int], dict[str, bool]] = defaultdict(dict)
        self._devices: dict[str, _Devices] = {}
        for job, mine in zip(jobs, devices, strict=True):
            self._add(job.name, mine)

    def free(self, job: Job, devices: _Devices) -> bool:
        """Whether nobody else is in the way of what ``job`` is to hold."""
        for device, part in devices:
            for name, others_part in self._part_by_job.get(device, _NOBODY).items():
                if name != job.name and not (part and others_part):
                    return False
        return True

    def move(self, job: Job, devices: _Devices) -> None:
        """What a job holds now instead."""
        for device, _ in self._devices.get(job.name, ()):
            self._part_by_job[device].pop(job.name, None)
        self._add(job.name, devices)

    def _add(self, name: str, devices: _Devices) -> None:
        self._devices[name] = devices
        for device, part in devices:
            self._part_by_job[device][name] = part


_NOBODY: Mapping[str, bool] = MappingProxyType({})


def _devices(job: Job) -> _Devices:
    """Devices that a job holds, and whether only a part of each."""
    return tuple(
        [
            ((place.node, device), bool(place.shares))
            for place in (job.running.placements if job.running is not None else ())
            for device in place.devices
        ]
    )


def _held(job: Job) -> tuple[_Device, ...]:
    """Devices that a job holds."""
    return tuple([device for device, _ in _devices(job)])


def _wanted(entry: InFlight) -> tuple[_Device, ...]:
    """Devices to which an action in flight leads."""
    return tuple([(place.node, device) for place in placements_of(entry) for device in place.devices])
