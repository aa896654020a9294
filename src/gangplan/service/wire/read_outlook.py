"""An outlook on the wire -> :class:`~gangplan.domain.outlook.Outlook`."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.domain.outlook import FreeBlocks, JobOutlook, Outlook, Reservation, StartErrors
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_running import read_placements
from gangplan.v1 import outlook_pb2, plan_pb2


def read_outlook(message: outlook_pb2.Outlook, path: str, fields: Fields) -> Outlook:
    """The outlook; jobs that it names need not be there any more."""
    made_at, length = 0.0, 1.0
    if message.HasField("made_at"):
        made_at = fields.instant(message.made_at, path, "made_at")
    else:
        fields.refuse(f"{path}made_at", "must be set")
    if message.HasField("round_length"):
        length = fields.duration(message.round_length, path, "round_length", positive=True)
    else:
        fields.refuse(f"{path}round_length", "must be set")
    watched = 0.0
    if message.HasField("watched"):
        watched = fields.duration(message.watched, path, "watched")
    seen: dict[str, str] = {}
    jobs = []
    for index, entry in enumerate(message.jobs):
        here = f"{path}jobs[{index}]."
        jobs.append(_read_job(entry, here, fields))
        fields.unique(seen, entry.job, f"{here}job")
    return Outlook(
        made_at=made_at,
        round_seconds=length,
        jobs=tuple(jobs),
        reservations=read_reservations(message.reservations, f"{path}reservations", fields),
        relaxed=tuple(
            fields.text(phrase, path, f"relaxed[{index}]") for index, phrase in enumerate(message.relaxed)
        ),
        start_errors=_read_errors(message.start_errors, path, fields),
        free_blocks=_read_free(message.free_blocks, path, fields),
        watched_seconds=watched,
    )


def read_reservations(
    messages: Sequence[plan_pb2.Reservation], path: str, fields: Fields
) -> tuple[Reservation, ...]:
    """Promises, in their order; ``path`` is that of the list."""
    return tuple(
        read_reservation(message, f"{path}[{index}].", fields) for index, message in enumerate(messages)
    )


def _read_free(
    messages: Sequence[outlook_pb2.FreeBlocks], path: str, fields: Fields
) -> tuple[FreeBlocks, ...]:
    """Kinds of blocks; types and levels that they name need not be there any more."""
    if len(messages) > limits.FREE_KINDS:
        fields.refuse(f"{path}free_blocks", f"has {len(messages)} entries; {limits.FREE_KINDS} are the most")
    seen: set[tuple[str, int, bool]] = set()
    found = []
    for index, message in enumerate(messages[: limits.FREE_KINDS]):
        here = f"{path}free_blocks[{index}]."
        kind = FreeBlocks(
            accelerator_type=fields.name(message.accelerator_type, here, "accelerator_type"),
            node_devices=fields.integer(
                message.node_devices, here, "node_devices", 1, limits.DEVICES_PER_NODE
            ),
            nodes=fields.integer(message.nodes, here, "nodes", 1, limits.TASKS),
            level=fields.optional_name(message.level, here, "level"),
            number=fields.integer(message.number, here, "number", 0, limits.FREE_BLOCKS),
            worth=fields.real(message.worth, here, "worth", 0.0, limits.LARGEST_FACTOR),
            arrivals=fields.real(message.arrivals, here, "arrivals", 0.0, limits.LARGEST_FACTOR),
        )
        if kind.nodes == 1 and kind.level is not None:
            fields.refuse(f"{here}level", "must be empty for a block of one node")
        shape = (kind.accelerator_type, kind.node_devices, kind.nodes > 1)
        if shape in seen:
            several = "several nodes" if shape[2] else "one node"
            fields.refuse(f"{here}nodes", f"there are blocks of {several} of that type and size already")
        seen.add(shape)
        found.append(kind)
    return tuple(found)


def _read_errors(
    messages: Sequence[outlook_pb2.StartErrors], path: str, fields: Fields
) -> tuple[StartErrors, ...]:
    seen: dict[str, str] = {}
    found = []
    for index, message in enumerate(messages):
        here = f"{path}start_errors[{index}]."
        kind = fields.name(message.kind, here, "kind")
        fields.unique(seen, kind, f"{here}kind")
        if len(message.ratios) > limits.START_ERRORS:
            fields.refuse(
                f"{here}ratios", f"has {len(message.ratios)} entries; {limits.START_ERRORS} are the most"
            )
        ratios = tuple(
            fields.real(ratio, here, f"ratios[{at}]", 1.0 / limits.START_RATIO, limits.START_RATIO)
            for at, ratio in enumerate(message.ratios)
        )
        found.append(StartErrors(kind, ratios))
    return tuple(found)


def _read_job(message: outlook_pb2.JobOutlook, path: str, fields: Fields) -> JobOutlook:
    start = end = None
    if message.HasField("estimated_start"):
        start = fields.instant(message.estimated_start, path, "estimated_start")
    if message.HasField("estimated_end"):
        end = fields.instant(message.estimated_end, path, "estimated_end")
    by = told_at = None
    told = 0.0
    if message.HasField("estimated_start_by"):
        by = fields.instant(message.estimated_start_by, path, "estimated_start_by")
    if message.HasField("told_at") != message.HasField("told_wait"):
        missing = "told_wait" if message.HasField("told_at") else "told_at"
        fields.refuse(f"{path}{missing}", "told_at and told_wait say together what it was told: set both")
    elif message.HasField("told_at"):
        told_at = fields.instant(message.told_at, path, "told_at")
        told = fields.duration(message.told_wait, path, "told_wait")
    return JobOutlook(
        job=fields.name(message.job, path, "job"),
        target=fields.real(message.target, path, "target", 0.0, limits.SERVICE),
        deficit=fields.real(message.deficit, path, "deficit", 0.0, limits.SERVICE),
        work_done=fields.real(message.work_done, path, "work_done", 0.0, limits.WORK),
        estimated_start=start,
        estimated_end=end,
        worth=fields.real(
            message.worth if message.HasField("worth") else 1.0, path, "worth", 0.0, limits.SERVICE
        ),
        estimated_start_by=by,
        told_at=told_at,
        told_seconds=told,
    )


def read_reservation(message: plan_pb2.Reservation, path: str, fields: Fields) -> Reservation:
    """One promise; jobs and nodes that it names need not be there any more."""
    duration = None
    if message.HasField("duration"):
        duration = fields.duration(message.duration, path, "duration", positive=True)
    for name in ("latest_start", "expires_at"):
        if not message.HasField(name):
            fields.refuse(f"{path}{name}", "must be set")
    return Reservation(
        job=fields.name(message.job, path, "job"),
        domain=fields.optional_name(message.domain, path, "domain"),
        latest_start=fields.instant(message.latest_start, path, "latest_start"),
        expires_at=fields.instant(message.expires_at, path, "expires_at"),
        duration_seconds=duration,
        placements=read_placements(message.placements, path, None, fields),
    )
