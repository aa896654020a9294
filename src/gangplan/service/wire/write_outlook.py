""":class:`~gangplan.domain.outlook.Outlook` -> the wire."""

from __future__ import annotations

from gangplan.domain.outlook import Outlook, Reservation
from gangplan.service.wire.times import write_seconds
from gangplan.service.wire.write_job import write_placements
from gangplan.v1 import outlook_pb2, plan_pb2


def write_outlook(outlook: Outlook) -> outlook_pb2.Outlook:
    """An outlook that reads back as the same one, times rounded to the nanosecond."""
    message = outlook_pb2.Outlook(relaxed=outlook.relaxed)
    write_seconds(outlook.made_at, message.made_at)
    write_seconds(outlook.round_seconds, message.round_length)
    for entry in outlook.jobs:
        written = message.jobs.add(
            job=entry.job,
            target=entry.target,
            deficit=entry.deficit,
            work_done=entry.work_done,
            worth=entry.worth,
        )
        if entry.estimated_start is not None:
            write_seconds(entry.estimated_start, written.estimated_start)
        if entry.estimated_end is not None:
            write_seconds(entry.estimated_end, written.estimated_end)
        if entry.estimated_start_by is not None:
            write_seconds(entry.estimated_start_by, written.estimated_start_by)
        if entry.told_at is not None:
            write_seconds(entry.told_at, written.told_at)
            write_seconds(entry.told_seconds, written.told_wait)
    for errors in outlook.start_errors:
        message.start_errors.add(kind=errors.kind, ratios=errors.ratios)
    for kind in outlook.free_blocks:
        message.free_blocks.add(
            accelerator_type=kind.accelerator_type,
            node_devices=kind.node_devices,
            nodes=kind.nodes,
            level=kind.level or "",
            number=kind.number,
            worth=kind.worth,
            arrivals=kind.arrivals,
        )
    if outlook.watched_seconds:
        write_seconds(outlook.watched_seconds, message.watched)
    for promise in outlook.reservations:
        write_reservation(promise, message.reservations.add())
    return message


def write_reservation(promise: Reservation, message: plan_pb2.Reservation) -> None:
    """Set a promise in its place."""
    message.job, message.domain = promise.job, promise.domain or ""
    write_seconds(promise.latest_start, message.latest_start)
    write_seconds(promise.expires_at, message.expires_at)
    if promise.duration_seconds is not None:
        write_seconds(promise.duration_seconds, message.duration)
    write_placements(promise.placements, message.placements)
