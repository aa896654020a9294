"""From a trace and a cluster to a history that can be played.

Each job arrives when it did, counted from the first one, and has the work that it did: where its model was
measured on the cluster's types, its steps, iterations or epochs at these throughputs; where it has a run time
for each type, at those; otherwise its duration on what it asked for, on the type where it was traced if the
cluster has that, else on a type of speed 1, and other types are faster or slower as the catalogue says. What
failed, was cancelled or ran on at the trace's end does as long as it ran.

Jobs that cannot run or never end are left out and counted: what is asked of a policy must be possible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gangplan.domain.cluster import Resources
from gangplan.domain.job import (
    WHOLE_DEVICE,
    Component,
    DeadlineKind,
    DeviceShare,
    Job,
    TaskGroup,
    ThroughputProfile,
)
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.model.verifier.throughput import Throughput
from gangplan.planning.rounds.history import Arrival, Failure, History
from gangplan.planning.scenario.checks import did_you_mean
from gangplan.planning.trace.lines import Trace
from gangplan.planning.trace.records import Group, JobRecord
from gangplan.planning.trace.speeds import Batches, Found, Speeds


@dataclass(frozen=True, slots=True)
class Replay:
    """How a trace is replayed.

    Attributes:
        queue: only jobs of this queue of the trace; None: of all.
        skip: so many jobs, in order of submission, are passed over.
        most_jobs: no more than so many after these; None: all.
        load: jobs arrive so many times as fast; positive.
        elastic: gangs of one measured model may have any measured number of GPUs, not only what they ask for.
        batches: what the batch size that a job asks for means where tables of step times have several: passed
            over (``any``), the largest that it may take (``ceiling``), or the one that it takes (``fixed``).
        types: the cluster's type by the trace's word for it, besides those of the same name.
        restart_seconds: what every start costs.
        checkpoint_seconds: between two checkpoints; None: there are none, and a stop loses all.
        seed: of the history.
    """

    queue: str | None = None
    skip: int = 0
    most_jobs: int | None = None
    load: float = 1.0
    elastic: bool = False
    batches: Batches = "any"
    types: Mapping[str, str] = field(default_factory=dict)
    restart_seconds: float = 0.0
    checkpoint_seconds: float | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Replayed:
    """A history made of a trace.

    Attributes:
        history: to be played.
        left_out: jobs that are not in it, by reason.
        changed: jobs of which something is other than in the trace, by what.
        impossible: of those left out, the ones that another cluster could run: submission in seconds from
            the beginning, and whether with a deadline.
    """

    history: History
    left_out: Mapping[str, int]
    changed: Mapping[str, int]
    impossible: tuple[tuple[float, bool], ...] = ()


def wanted(trace: Trace, how: Replay) -> list[JobRecord]:
    """The jobs of a trace that are replayed, by submission; one at least.

    Raises:
        InvalidInputError: there is none; its field is ``trace``, or that of :class:`Replay` that leaves none.
    """
    if not trace.jobs:
        raise InvalidInputError([FieldViolation("trace", f"{trace.header.name!r} has no jobs")])
    found = [job for job in trace.jobs if how.queue in (None, job.queue)]
    if not found:
        queues = {job.queue for job in trace.jobs if job.queue}
        description = did_you_mean(how.queue or "", queues, "queue of the trace")
        raise InvalidInputError([FieldViolation("queue", description)])
    if how.skip >= len(found):
        whose = "the trace" if how.queue is None else f"queue {how.queue!r} of the trace"
        description = f"passes over {how.skip:,} jobs, and {whose} has {len(found):,}: none is left"
        raise InvalidInputError([FieldViolation("skip", description)])
    found.sort(key=lambda job: (job.submit_s, job.id))
    return found[how.skip :][: how.most_jobs]


def replay(
    trace: Trace, site: Round, how: Replay | None = None, failures: Sequence[Failure] = ()
) -> Replayed:
    """The history of a trace on a cluster.

    Args:
        trace: whole.
        site: clock, cluster, catalogue, queues and policy of the first round; its jobs are passed over.
        how: which jobs, and at what cost.
        failures: of nodes.

    Raises:
        InvalidInputError: no job of the trace is wanted.
    """
    how = how or Replay()
    chosen = wanted(trace, how)
    made = _Making(trace, site, how)
    zero = chosen[0].submit_s
    arrivals = [arrival for record in chosen if (arrival := made.arrival(record, zero)) is not None]
    template = replace(site, jobs=(), profiles=tuple(made.profiles.values()))
    history = History(template, tuple(arrivals), tuple(failures), name=trace.header.name, seed=how.seed)
    return Replayed(history, dict(made.left_out), dict(made.changed), tuple(made.impossible))


class _Making:
    """What is the same for all jobs of a trace."""

    def __init__(self, trace: Trace, site: Round, how: Replay) -> None:
        self._site, self._how = site, how
        self._catalogue = {entry.name: entry.relative_speed for entry in site.accelerators}
        names = {name.lower(): name for name in self._catalogue}
        words = {cell.accelerator for cell in trace.measurements}
        words |= {
            word for job in trace.jobs for word in (*job.gpu_types, *job.duration_by_type, job.traced_type)
        }
        self._types = {word: names[word.lower()] for word in words if word.lower() in names}
        self._types |= {word: kind for word, kind in how.types.items() if kind in self._catalogue}
        self._devices: Counter[str] = Counter()
        self._largest: dict[str, int] = {}
        for node in site.cluster.nodes:
            if node.accelerator_type is not None and node.usable_device_count:
                kind, count = node.accelerator_type, node.usable_device_count
                self._devices[kind] += count
                self._largest[kind] = max(count, self._largest.get(kind, 0))
        self._hosts = any(node.resources != Resources() for node in site.cluster.nodes)
        self._queues = {queue.name for queue in site.queues}
        self._speeds = Speeds(trace.measurements, self._types, self._largest, how.batches)
        self.profiles: dict[str, ThroughputProfile] = {profile.name: profile for profile in site.profiles}
        self.left_out: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()
        self.impossible: list[tuple[float, bool]] = []

    def arrival(self, record: JobRecord, zero: float) -> Arrival | None:
        """The job as it arrives; None: it is left out, and counted."""
        kinds = self._kinds(record)
        found = self._speeds.of(record) if len(record.groups) == 1 else None
        reason = self._never(record, kinds, shrinks=self._how.elastic and found is not None)
        if reason:
            self.left_out[reason] += 1
            if record.gpus and (record.duration_s or record.work or record.duration_by_type):
                self._impossible(record, zero)
            return None
        groups = [self._group(group, kinds, record) for group in record.groups]
        if found is None and record.duration_by_type:
            found = self._by_type(record)
        if found is not None and not self._possible(found, groups[0], kinds):
            self.left_out["jobs that were measured on no type here that could hold them"] += 1
            self._impossible(record, zero)
            return None
        if found is not None:
            self.profiles.setdefault(found.profile.name, found.profile)
            if found.extrapolated:
                self.changed["throughput in proportion to fewer GPUs"] += 1
            groups = [self._as_measured(groups[0], found)]
        submit = self._site.now + (record.submit_s - zero) / self._how.load
        job = Job(
            name=record.id,
            component=Component(task_groups=tuple(groups)),
            queue=record.queue if record.queue in self._queues else None,
            weight=record.weight or 1.0,
            priority=self._priority(record),
            submit_time=submit,
            restart_seconds=self._how.restart_seconds,
            user=record.user or record.queue,
        )
        job = _with_deadline(job, record, submit)
        work = found.work if found is not None else self._work(record, job)
        if not work > 0:
            self.left_out["jobs without work: their duration is unknown or 0"] += 1
            return None
        return Arrival(job, work, self._how.checkpoint_seconds)

    def _impossible(self, record: JobRecord, zero: float) -> None:
        late = record.deadline_s is not None or bool(record.deadline_factor and record.duration_s)
        self.impossible.append(((record.submit_s - zero) / self._how.load, late))

    def _kinds(self, record: JobRecord) -> frozenset[str]:
        """Types of the cluster on which the job may run."""
        if not record.gpu_types:
            return frozenset(self._devices)
        return frozenset(self._types[word] for word in record.gpu_types if word in self._types) & frozenset(
            self._devices
        )

    def _never(self, record: JobRecord, kinds: frozenset[str], *, shrinks: bool) -> str:
        """Why the job can never run; empty: it can, perhaps since it ``shrinks`` to any measured number."""
        if not record.gpus:
            hosts = any(group.cpu_milli or group.memory_bytes for group in record.groups)
            return (
                ""
                if self._hosts and hosts
                else "jobs without GPUs, where nodes say nothing of CPU and memory"
            )
        if not kinds:
            return "jobs for GPU types that the cluster does not have"
        large = max(group.gpus_per_task for group in record.groups)
        if not any(self._largest[kind] >= large for kind in kinds):
            return "jobs with tasks larger than any node"
        if shrinks:
            return ""
        if not any(self._devices[kind] >= record.gpus and self._largest[kind] >= large for kind in kinds):
            return "jobs larger than all GPUs of any one type"
        return ""

    def _group(self, group: Group, kinds: frozenset[str], record: JobRecord) -> TaskGroup:
        share = None
        if group.gpu_milli is not None:
            if group.tasks == 1 and len(record.groups) == 1:
                share = DeviceShare(group.gpu_milli)
            else:
                self.changed["parts of GPUs in gangs are whole ones"] += 1
        resources = Resources(group.cpu_milli or 0, group.memory_bytes or 0) if self._hosts else Resources()
        return TaskGroup(
            name=group.name or "worker",
            count=group.tasks,
            allowed_counts=(group.tasks,),
            devices_per_task=group.gpus_per_task,
            resources_per_task=resources,
            accelerator_types=tuple(sorted(kinds)) if record.gpu_types and group.gpus_per_task else (),
            device_share=share,
        )

    def _by_type(self, record: JobRecord) -> Found | None:
        """A profile of run times: the work is a second on the fastest type, times the duration there."""
        seconds = {
            self._types[word]: duration
            for word, duration in record.duration_by_type.items()
            if self._types.get(word) in self._devices
        }
        if not seconds or len(record.groups) > 1:
            return None
        tasks, best = record.groups[0].tasks, min(seconds.values())
        cells = {(kind, tasks, CLUSTER): best / duration for kind, duration in seconds.items()}
        return Found(ThroughputProfile(f"run times of {record.id}", cells), best, by_gpu=False)

    def _possible(self, found: Found, group: TaskGroup, kinds: frozenset[str]) -> bool:
        """Whether the cluster could hold the job somewhere where it was measured."""
        gpus = group.count * group.devices_per_task
        asked = gpus if found.by_gpu else group.count
        return any(
            kind in kinds
            and (count == asked or (self._how.elastic and found.by_gpu))
            and x > 0
            and (self._largest if scope == NODE else self._devices).get(kind, 0)
            >= (count if self._how.elastic and found.by_gpu else gpus)
            for (kind, count, scope), x in found.profile.throughput.items()
        )

    def _as_measured(self, group: TaskGroup, found: Found) -> TaskGroup:
        """The group with its profile; where counts are GPUs, one GPU is a task."""
        if not found.by_gpu:
            return replace(group, profile=found.profile.name)
        gpus = group.count * group.devices_per_task
        counts: tuple[int, ...] = (gpus,)
        if self._how.elastic:
            counts = tuple(sorted({count for (_, count, _), x in found.profile.throughput.items() if x > 0}))
        per_gpu = max(1, group.devices_per_task)
        resources = Resources(
            group.resources_per_task.cpu_milli // per_gpu, group.resources_per_task.memory_bytes // per_gpu
        )
        return replace(
            group,
            count=gpus,
            allowed_counts=counts,
            devices_per_task=1,
            resources_per_task=resources,
            profile=found.profile.name,
        )

    def _work(self, record: JobRecord, job: Job) -> float:
        """What it did in its duration, on the type where it was traced or one of speed 1."""
        if not record.duration_s:
            return 0.0
        component = job.component
        only = component.task_groups[0]
        if len(component.task_groups) == 1 and only.devices_per_task:
            speed = self._catalogue.get(self._types.get(record.traced_type, ""), 1.0)
            return record.duration_s * speed * only.count * only.device_milli / WHOLE_DEVICE
        throughput = Throughput(replace(self._site, jobs=(), profiles=()))
        return record.duration_s * throughput.best(component)

    def _priority(self, record: JobRecord) -> int:
        known = record.priority is not None and record.priority in self._site.policy.priority_weights
        return record.priority or 0 if known else 0


def _with_deadline(job: Job, record: JobRecord, submit: float) -> Job:
    after = None if record.deadline_s is None else record.deadline_s - record.submit_s
    if after is None and record.deadline_factor is not None and record.duration_s:
        after = record.deadline_factor * record.duration_s
    if after is None:
        return job
    kind = DeadlineKind(record.deadline_kind.upper())
    decay = 0.0
    if kind is DeadlineKind.SOFT:
        last = max((value.by_s for value in record.deadline_values), default=0.0)
        decay = max(1.0, last - record.submit_s - after)
    return replace(job, deadline=submit + after, deadline_kind=kind, deadline_decay_seconds=decay)
