"""A round as it is while planned actions are under way: starts count as done, stops as begun."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gangplan.domain.job import Job, Running, TaskPlacement
from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.service.sessions.in_flight import InFlight, waits
from gangplan.service.sessions.record import Record
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_running import read_placements
from gangplan.v1 import plan_pb2


def under_way(round_: Round, record: Record) -> Round:
    """``round_`` with what is in flight in a session; what is void by then does not count.

    A job that is to be stopped, or stopped and started elsewhere after others, is being stopped. One that
    waits for nobody runs where it was planned, since the plan. What contradicts the caller's own words (a
    device that somebody else holds, a start of who runs already) does not count either.
    """
    entries = [entry for entry in record.in_flight if round_.now <= entry.void_after]
    if not entries:
        return round_
    jobs = {job.name: job for job in round_.jobs}
    holders = _holders(jobs.values())
    for entry in entries:
        job = jobs.get(entry.job)
        after = None if job is None else _after(job, entry, blocked=waits(entry, entries, record.settled))
        if job is None or after is None:
            continue
        if after.running is not job.running and not _free(after, holders):
            continue
        for device in _devices(job):
            holders.pop(device, None)
        holders.update(dict.fromkeys(_devices(after), after.name))
        jobs[after.name] = after
    return replace(round_, jobs=tuple(jobs[job.name] for job in round_.jobs))


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
    forced = plan_pb2.Action.FromString(entry.action).forced_reason
    return forced == plan_pb2.FORCED_REASON_UNSPECIFIED


def _started(entry: InFlight) -> Running:
    return Running(placements_of(entry), started_at=entry.since, checkpoint_age_seconds=0.0)


def placements_of(entry: InFlight) -> tuple[TaskPlacement, ...]:
    """Where an action in flight leads."""
    return read_placements(plan_pb2.Action.FromString(entry.action).placements, "", None, Fields())


def _devices(job: Job) -> list[tuple[str, int]]:
    """Whole devices that a job holds."""
    if job.running is None:
        return []
    return [
        (place.node, device)
        for place in job.running.placements
        if not place.shares
        for device in place.devices
    ]


def _holders(jobs: Iterable[Job]) -> dict[tuple[str, int], str]:
    return {device: job.name for job in jobs for device in _devices(job)}


def _free(job: Job, holders: dict[tuple[str, int], str]) -> bool:
    return all(holders.get(device, job.name) == job.name for device in _devices(job))
