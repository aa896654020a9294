"""Jobs on the wire -> :class:`~gangplan.domain.job.Job`."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from gangplan.domain.job import OPEN, Capabilities, DeadlineKind, Gate, Interactive, Job, Running
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.known import Known
from gangplan.service.wire.read_capabilities import read_capabilities
from gangplan.service.wire.read_cluster import read_members, refuse_own_names
from gangplan.service.wire.read_component import Components
from gangplan.service.wire.read_quantiles import read_quantiles
from gangplan.service.wire.read_running import holds, read_running
from gangplan.twins import twin_maker
from gangplan.v1 import job_pb2

_ANYTHING = Capabilities()
_KINDS = {
    job_pb2.DEADLINE_KIND_STRICT: DeadlineKind.STRICT,
    job_pb2.DEADLINE_KIND_SOFT: DeadlineKind.SOFT,
}
MANY = 600
"""Jobs from which on it takes less time to read them all at once."""
_job = twin_maker(Job)


def read_jobs(
    jobs: Sequence[job_pb2.Job], classes: Sequence[job_pb2.JobClass], path: str, known: Known, fields: Fields
) -> tuple[Job, ...]:
    """All jobs, classes expanded."""
    seen: dict[str, str] = {}
    components = Components(known, fields)
    found: list[Job] = []
    names = [message.name for message in jobs]
    sure = fields.surely_names([*names, *(name for alike in classes for name in alike.names)])
    plain, apart = _plain_jobs(jobs, names, components, known, fields)
    for index, (name, message, job) in enumerate(zip(names, jobs, plain, strict=True)):
        here = f"{path}jobs[{index}]."
        if not sure:
            fields.name(name, here, "name")
            fields.unique(seen, name, f"{here}name")
        if job is None or not (
            apart or job.running is None or holds(job.running, f"{here}running.", known.taken)
        ):
            found.append(_read_job(message, name, here, components, known, fields))
        else:
            found.append(job)
    for index, alike in enumerate(classes):
        here = f"{path}job_classes[{index}]."
        refuse_own_names(alike.template, f"{here}template.", fields)
        if alike.template.HasField("running"):
            fields.refuse(f"{here}template.running", "members of a class wait; list running jobs one by one")
        template = _read_job(alike.template, "", f"{here}template.", components, known, fields)
        for name, revision in read_members(alike.names, alike.revisions, here, seen, fields, sure=sure):
            found.append(_member(template, name, revision))
    _refuse_cycle(found, path, fields)
    return tuple(found)


def _plain_jobs(
    jobs: Sequence[job_pb2.Job], names: Sequence[str], components: Components, known: Known, fields: Fields
) -> tuple[Sequence[Job | None], bool]:
    """Those of very many that can be read all at once, and whether what they hold need not be noted."""
    if len(jobs) < MANY:
        return [None] * len(jobs), True
    from gangplan.service.wire.read_plain_jobs import plain_jobs

    return plain_jobs(jobs, names, components, known, fields)


def _member(template: Job, name: str, revision: str) -> Job:
    """A waiting job like ``template``; ten times as quick as ``dataclasses.replace``."""
    return _job(
        name,
        template.component,
        template.queue,
        template.weight,
        template.priority,
        template.submit_time,
        template.work_done,
        template.work_left,
        template.fair_progress,
        template.fair_finish_age,
        template.deadline,
        template.deadline_kind,
        template.deadline_decay_seconds,
        template.restart_seconds,
        template.checkpoint_seconds,
        template.capabilities,
        template.running,
        template.gate,
        template.disrupted_at,
        revision,
        template.service_received_device_seconds,
        template.left_quantiles,
        template.user,
        template.interactive,
    )


def _read_job(
    message: job_pb2.Job, name: str, path: str, components: Components, known: Known, fields: Fields
) -> Job:
    """A job, its name unchecked; messages within it are made only where they are set."""
    queue, revision = message.queue or None, message.revision
    if queue is not None:
        fields.known(queue, known.queues, path, "queue", "queue")
    weight = 1.0
    if message.HasField("weight"):
        weight = fields.real(message.weight, path, "weight", limits.SMALLEST_FACTOR, limits.LARGEST_FACTOR)
    submit_time = None
    if message.HasField("submit_time"):
        submit_time = fields.instant(message.submit_time, path, "submit_time")
    work_done, work_left, left_quantiles = 0.0, None, None
    if message.HasField("work"):
        work = message.work
        work_done = fields.real(work.done, path, "work.done", 0.0, limits.WORK)
        if work.HasField("left_known"):
            work_left = fields.real(work.left_known, path, "work.left_known", 0.0, limits.WORK)
        elif work.HasField("left_quantiles"):
            said = work.left_quantiles
            left_quantiles = read_quantiles(
                said.probabilities, said.work, "work", f"{path}work.left_quantiles.", fields
            )
    fair_progress, fair_finish_age = 0.0, None
    if message.HasField("fair_share"):
        fair = message.fair_share
        fair_progress = fields.real(fair.progress, path, "fair_share.progress", 0.0, limits.WORK)
        if fair.HasField("finish_age"):
            fair_finish_age = fields.duration(fair.finish_age, path, "fair_share.finish_age")
    received = None
    if message.HasField("service_received_device_seconds"):
        received = fields.real(
            message.service_received_device_seconds,
            path,
            "service_received_device_seconds",
            0.0,
            limits.WORK,
        )
    deadline, kind, decay = None, DeadlineKind.TARGET, 0.0
    if message.HasField("deadline"):
        deadline, kind, decay = _read_deadline(message.deadline, f"{path}deadline.", fields)
    restart = checkpoint = 0.0
    if message.HasField("interruption_cost"):
        cost = message.interruption_cost
        if cost.HasField("restart_time"):
            restart = fields.duration(cost.restart_time, path, "interruption_cost.restart_time")
        if cost.HasField("checkpoint_time"):
            checkpoint = fields.duration(cost.checkpoint_time, path, "interruption_cost.checkpoint_time")
    component = components.read(message.components, path)
    running: Running | None = None
    if message.HasField("running"):
        groups = {group.name for group in component.task_groups}
        running = read_running(message.running, f"{path}running.", groups, known.nodes, known.taken, fields)
    return _job(
        name,
        component,
        queue,
        weight,
        fields.integer(message.priority, path, "priority", -limits.PRIORITY, limits.PRIORITY),
        submit_time,
        work_done,
        work_left,
        fair_progress,
        fair_finish_age,
        deadline,
        kind,
        decay,
        restart,
        checkpoint,
        read_capabilities(message.capabilities) if message.HasField("capabilities") else _ANYTHING,
        running,
        _read_gate(message, name, path, fields),
        tuple(
            sorted(
                fields.instant(time, path, f"disrupted_at[{index}]")
                for index, time in enumerate(message.disrupted_at)
            )
        )
        if message.disrupted_at
        else (),
        fields.text(revision, path, "revision") if revision else "",
        received,
        left_quantiles,
        fields.text(message.user, path, "user"),
        _read_interactive(message.interactive, f"{path}interactive.", fields)
        if message.HasField("interactive")
        else None,
    )


def _read_interactive(message: job_pb2.Interactive, path: str, fields: Fields) -> Interactive:
    """When the job should start, and how long it may be idle."""
    if not message.HasField("start_within"):
        fields.refuse(f"{path}start_within", "must be set: the objective for the time to start")
        return Interactive(1.0)
    within = fields.duration(message.start_within, path, "start_within", positive=True)
    limit = None
    if message.HasField("idle_limit"):
        limit = fields.duration(message.idle_limit, path, "idle_limit", positive=True)
    since = None
    if message.HasField("idle_since"):
        since = fields.instant(message.idle_since, path, "idle_since")
    return Interactive(within, limit, since)


def _read_deadline(
    message: job_pb2.Deadline, path: str, fields: Fields
) -> tuple[float | None, DeadlineKind, float]:
    """When, what missing it means, and how fast a soft one falls."""
    kind = _KINDS.get(message.kind, DeadlineKind.TARGET)
    time = None
    if message.HasField("time"):
        time = fields.instant(message.time, path, "time")
    else:
        fields.refuse(f"{path}time", "must be set in a deadline")
    decay = fields.duration(message.decay, path, "decay") if message.HasField("decay") else 0.0
    if kind is DeadlineKind.SOFT and decay <= 0.0:
        fields.refuse(f"{path}decay", "must be above 0 for a SOFT deadline")
    if kind is not DeadlineKind.SOFT and message.HasField("decay"):
        fields.refuse(f"{path}decay", f"is for SOFT deadlines only; the kind is {kind.value}")
    return time, kind, decay


def _read_gate(message: job_pb2.Job, name: str, path: str, fields: Fields) -> Gate:
    """What keeps it from being started; most jobs have nothing of the kind."""
    dated, timed = message.HasField("not_before"), message.HasField("held_time")
    if not (message.held or dated or timed or message.after_jobs):
        return OPEN
    for index, other in enumerate(message.after_jobs):
        fields.name(other, path, f"after_jobs[{index}]")
        if other == name:
            fields.refuse(f"{path}after_jobs[{index}]", f"{other!r} cannot wait for itself to be done")
    return Gate(
        message.held,
        fields.instant(message.not_before, path, "not_before") if dated else None,
        tuple(sorted(set(message.after_jobs))),
        fields.duration(message.held_time, path, "held_time") if timed else 0.0,
    )


def _refuse_cycle(jobs: Sequence[Job], path: str, fields: Fields) -> None:
    """Refuse jobs that wait in a circle for each other to be done: none of them ever starts."""
    after = {job.name: job.gate.after_jobs for job in jobs if job.gate.after_jobs}
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        circle = error.args[1]
        if len(set(circle)) > 1:
            fields.refuse(f"{path}jobs", f"after_jobs is a circle: {' waits for '.join(reversed(circle))}")
