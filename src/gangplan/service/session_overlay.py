"""A round as it is while planned actions are under way: starts count as done, stops as begun."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from gangplan.domain.cluster import DeviceReporting, Node
from gangplan.domain.job import Job, Running, TaskPlacement
from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.kept import Kept
from gangplan.service.sessions.in_flight import InFlight, pending, waits
from gangplan.service.sessions.record import Record
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_running import read_placements
from gangplan.v1 import plan_pb2

_READ_IN_MEMORY = 32_768
"""Actions in flight of all sessions together that are not read anew each round."""


_Devices = tuple[tuple[tuple[str, int], bool], ...]
"""Devices that a job holds, each as node and index, and whether only a part of it."""


class _UnderWay(NamedTuple):
    """A job while an action in flight is under way, and what that was made from."""

    job: Job
    entry: InFlight
    blocked: bool
    after: Job | None
    devices: _Devices


class Overlay:
    """What is in flight in a session as it was in its last round, so that only what is new is made.

    Jobs that nothing new befalls are the same objects round after round. A set of results is never changed,
    only replaced by the next, so that several rounds may use it at once.
    """

    __slots__ = ("devices", "jobs")

    def __init__(self) -> None:
        self.jobs: dict[str, _UnderWay] = {}
        self.devices = Kept()

    def after(self, job: Job, entry: InFlight, *, blocked: bool) -> _UnderWay:
        """``job`` while ``entry`` is under way."""
        known = self.jobs.get(entry.name)
        if known is not None and known.job is job and known.entry is entry and known.blocked is blocked:
            return known
        after = _after(job, entry, blocked=blocked)
        return _UnderWay(job, entry, blocked, after, () if after is None else _devices(after))


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
        return round_
    jobs = {job.name: job for job in round_.jobs}
    nodes = {node.name: node for node in round_.cluster.nodes}
    running = [job for job in round_.jobs if job.running is not None]
    holders = _Holders(running, overlay.devices.each("devices", running, _devices))
    still = pending(entries)
    found: dict[str, _UnderWay] = {}
    for entry in entries:
        job = jobs.get(entry.job)
        if job is None:
            continue
        made = overlay.after(job, entry, blocked=waits(entry, still, record.settled))
        found[entry.name] = made
        after = made.after
        if after is None:
            continue
        if after.running is not job.running and not (
            _has_devices(after, nodes) and holders.free(after, made.devices)
        ):
            continue
        holders.move(job, made.devices)
        jobs[after.name] = after
    overlay.jobs = found
    return replace(round_, jobs=tuple([jobs[job.name] for job in round_.jobs]))


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


def _has_devices(job: Job, nodes: dict[str, Node]) -> bool:
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
