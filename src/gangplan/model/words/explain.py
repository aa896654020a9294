"""Why a job has no placement: one verdict each, short, counted and deterministic (design, section 7).

NEVER_FITS and NO_FIT_NOW are proofs by counting: on the empty cluster with every node in order, or beside
the work that may not be touched, no domain of any option's scope holds enough copies of some block.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from gangplan.domain.cluster import NodeHealth
from gangplan.domain.job import DeadlineKind
from gangplan.domain.plan import Verdict, VerdictKind
from gangplan.domain.round import Round
from gangplan.model.instance.gates import idle_too_long, left_alone_until
from gangplan.model.instance.instance import Instance, JobClass, build_instance
from gangplan.model.instance.limits import HEADROOM
from gangplan.model.instance.promises import promised_nodes
from gangplan.model.instance.sites import DIMENSIONS
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.fill import ways_to_place
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.words.room import (
    Room,
    Shortage,
    admitting,
    free_room,
    raw_capacity,
    raw_room,
    shortage_of,
)
from gangplan.twins import twin_maker

_verdict = twin_maker(Verdict)
_UNITS = {"devices": "devices", "cpu": "milli-CPU", "memory": "bytes"}


@dataclass(frozen=True, slots=True)
class _Reason:
    kind: VerdictKind
    code: str
    message: str
    resource: str = ""
    level: str = ""
    shortfall: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Rooms:
    """Room on the empty cluster, beside what may not be touched, beside that which is not left alone just for
    now, beside the plan, and beside the plan and the blocks that are worth something while they are free;
    None: there are no such blocks.
    """

    empty: Room
    fixed: Room
    lasting: Room
    after: Room
    whole: Room | None = None


def explain(instance: Instance, assignment: Assignment, *, finished: bool) -> tuple[Verdict, ...]:
    """A verdict for every job that does not run after ``assignment``, by job name.

    Args:
        instance: the round as arrays.
        assignment: what was decided.
        finished: whether the search ended by itself or the plan is proved best, so that "another use is worth
            more" is known.
    """
    after = _beside(instance, assignment)
    untouchable = [c for c, k in enumerate(instance.classes) if _untouchable(instance, k)]
    fixed = Occupancy(instance, untouchable)
    lasting = Occupancy(instance, [c for c in untouchable if not _left_alone(instance, c)])
    rooms = _Rooms(raw_room(instance), *map(free_room, (fixed, lasting, after)))
    if instance.free_from < len(instance.jobs):
        rooms = replace(rooms, whole=free_room(_beside_blocks(instance, assignment)))
    runs = np.zeros(len(instance.jobs), dtype=np.bool_)
    runs[[*assignment.placed, *assignment.kept]] = True
    waiting: dict[int, list[int]] = {}
    waits = np.flatnonzero(~runs[: instance.free_from])
    for j, c in zip(waits.tolist(), instance.class_of_job[waits].tolist(), strict=True):
        waiting.setdefault(c, []).append(j)
    alike = _Alike(instance)
    asking = [c for c in sorted(waiting) if not instance.classes[c].kept and not _is_gated(instance, c)]
    impossible = _impossible(instance, asking, alike, rooms)
    known: dict[object, _Reason] = {}
    verdicts: list[Verdict] = []
    for c, left in waiting.items():
        job_class = instance.classes[c]
        reason = _gate(instance, job_class) or impossible.get(job_class.jobs[0])
        if reason is None:
            key = alike.waiting(c)
            reason = known.get(key)
            if reason is None:
                reason = known[key] = _reason(
                    instance, job_class, after, rooms, finished=finished, gains=alike.gains(c)
                )
        verdicts += [
            _verdict(
                instance.jobs[j].name,
                reason.kind,
                reason.code,
                reason.message,
                reason.resource,
                reason.level,
                reason.shortfall,
                None,
                None,
                None,
                (),
                (),
            )
            for j in left
        ]
    verdicts.sort(key=attrgetter("job"))
    return tuple(verdicts)


def fits_by_counting(instance: Instance, j: int, occupancy: Occupancy) -> bool:
    """Whether some option of job ``j`` finds room in what is free, by counting; where not, it is proved."""
    options = instance.options_of(instance.classes[int(instance.class_of_job[j])])
    return bool(options) and shortage_of(options, free_room(occupancy)) is None


class _Alike:
    """What reasons depend on: classes with equal keys wait for equal reasons.

    Thousands of classes differ in what they weigh only, and share a few hundred sets of options.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._gaining: list[int] = np.concatenate([[0], np.cumsum(instance.gain > 0.0)]).tolist()
        self._options = instance.option.tobytes()
        self._size = instance.option.itemsize

    def options(self, c: int) -> bytes:
        """The options of class ``c``; empty when there are none."""
        job_class = self._instance.classes[c]
        return self._options[job_class.start * self._size : job_class.stop * self._size]

    def gains(self, c: int) -> bool:
        """Whether some option of class ``c`` is worth more than waiting."""
        job_class = self._instance.classes[c]
        return self._gaining[job_class.stop] > self._gaining[job_class.start]

    def waiting(self, c: int) -> tuple[object, ...]:
        """All that the reason depends on why a class that may run waits."""
        job_class = self._instance.classes[c]
        strict = self._instance.jobs[job_class.jobs[0]].deadline_kind is DeadlineKind.STRICT
        return job_class.kept, job_class.queue, self.gains(c), strict, self.options(c)

    def types(self, c: int) -> tuple[object, ...]:
        """All that the reason depends on why a class has no options."""
        job = self._instance.jobs[self._instance.classes[c].jobs[0]]
        return tuple([(g.devices_per_task > 0, g.accelerator_types) for g in job.component.task_groups])


def _untouchable(instance: Instance, job_class: JobClass) -> bool:
    """Whether a class holds all of its place whatever is decided: it may not even shrink there."""
    if not job_class.must_stay:
        return False
    job = instance.jobs[job_class.jobs[0]]
    tasks: dict[str, int] = {}
    for placement in instance.placements[job_class.jobs[0]]:
        tasks[placement.group] = tasks.get(placement.group, 0) + placement.tasks
    shrinks = any(min(g.allowed_counts) < tasks.get(g.name, 0) for g in job.component.task_groups)
    return not (job.capabilities.resizable and shrinks)


def _left_alone(instance: Instance, c: int) -> bool:
    """Whether the running job of class ``c`` may not be disturbed for now only."""
    return left_alone_until(instance.jobs[instance.classes[c].jobs[0]], instance.round) is not None


def _is_gated(instance: Instance, c: int) -> bool:
    return instance.jobs[instance.classes[c].jobs[0]].name in instance.gated


def _gate(instance: Instance, job_class: JobClass) -> _Reason | None:
    """What keeps waiting jobs of a class from being started at all; alike jobs have alike gates or none."""
    job = instance.jobs[job_class.jobs[0]]
    if job_class.kept or job.name not in instance.gated:
        return None
    kind, gate = VerdictKind.HELD_BY_POLICY, job.gate
    if idle_too_long(job, instance.round.now):
        return _Reason(kind, "IDLE", "has been idle for longer than its limit")
    if gate.held:
        return _Reason(kind, "HELD", "is held by its owner")
    if gate.not_before is not None and instance.round.now < gate.not_before:
        seconds = math.ceil(gate.not_before - instance.round.now)
        return _Reason(kind, "NOT_BEFORE", f"may not start for another {seconds:,} s")
    unfinished = sorted(name for name in set(gate.after_jobs) if name in instance.job_index)
    if unfinished:
        return _Reason(kind, "AFTER_JOBS", f"starts only after {', '.join(unfinished)}")
    limit = instance.round.policy.longest_run_seconds
    message = f"may not be paused, and is not sure to end within the {limit:,.0f} s that the policy allows"
    if job.checkpoint_seconds > (limit or 0.0):
        message = f"gives longer notice than the {limit:,.0f} s that the policy allows"
    return _Reason(kind, "RUN_LIMIT", message)


def _impossible(
    instance: Instance, classes: Sequence[int], alike: _Alike, rooms: _Rooms
) -> dict[int, _Reason]:
    """Why classes fit on no empty cluster, by first job; a class that needs closed nodes is told so."""
    found: dict[int, _Reason] = {}
    known: dict[object, _Reason | None] = {}
    for c in classes:
        job_class = instance.classes[c]
        key: object = alike.options(c) or alike.types(c)
        if key not in known:
            options = instance.options_of(job_class)
            if not options:
                known[key] = _no_option(instance, job_class)
            else:
                shortage = shortage_of(options, rooms.empty)
                known[key] = None if shortage is None else _never_fits(instance, shortage, rooms.empty)
        reason = known[key]
        if reason is not None:
            found[job_class.jobs[0]] = reason
    never = [j for j, reason in found.items() if reason.kind is VerdictKind.NEVER_FITS]
    for j in _fit_without_promises(instance, never):
        message = "fits only on nodes that are promised to others"
        found[j] = _Reason(VerdictKind.HELD_BY_POLICY, "PROMISED", message)
    never = [j for j in never if found[j].kind is VerdictKind.NEVER_FITS]
    for j in _fit_when_open(instance, never):
        message = "fits only with nodes that are cordoned, draining or unhealthy"
        found[j] = _Reason(VerdictKind.NO_FIT_NOW, "NODES_CLOSED", message)
    return found


def _fit_without_promises(instance: Instance, jobs: Sequence[int]) -> list[int]:
    """Those of ``jobs`` that fit, by counting, on the empty cluster with no node promised."""
    if not jobs or not promised_nodes(instance.round):
        return []
    asked = {job.name: job for job in instance.round.jobs}
    return _fitting(
        instance,
        replace(
            instance.round,
            jobs=tuple(replace(asked[instance.jobs[j].name], running=None) for j in jobs),
            reservations=(),
            claims=(),
        ),
    )


def _fit_when_open(instance: Instance, jobs: Sequence[int]) -> list[int]:
    """Those of ``jobs`` that fit, by counting, on the empty cluster with every node open and in order.

    Options are made for open nodes only: their types, sizes and levels.
    """
    if not jobs or instance.nodes.open.all():
        return []
    cluster = instance.round.cluster
    nodes = [
        replace(node, cordoned=False, health=NodeHealth.HEALTHY, drain_time=None) for node in cluster.nodes
    ]
    asked = {job.name: job for job in instance.round.jobs}
    return _fitting(
        instance,
        replace(
            instance.round,
            cluster=replace(cluster, nodes=tuple(nodes)),
            jobs=tuple(replace(asked[instance.jobs[j].name], running=None) for j in jobs),
            reservations=(),
            claims=(),
        ),
    )


def _fitting(instance: Instance, other: Round) -> list[int]:
    """Those jobs of another round that fit, by counting, on its empty cluster, as indices of ``instance``."""
    opened = build_instance(other)
    room = raw_room(opened)
    return [
        instance.job_index[opened.jobs[j].name]
        for job_class in opened.classes
        if (options := opened.options_of(job_class)) and shortage_of(options, room) is None
        for j in job_class.jobs
    ]


def _beside(instance: Instance, assignment: Assignment) -> Occupancy:
    """What is free beside a decision."""
    occupancy = Occupancy(instance, {int(instance.class_of_job[j]) for j in assignment.kept})
    for j, placed in sorted(assignment.placed.items()):
        occupancy.take_placed(j, placed)
    return occupancy


def _beside_blocks(instance: Instance, assignment: Assignment) -> Occupancy:
    """The same beside the blocks, too, that are worth something while free, most worth a device first."""
    occupancy = _beside(instance, assignment)
    classes = [c for c, each in enumerate(instance.classes) if each.jobs[0] >= instance.free_from]
    option = {c: instance.classes[c].start for c in classes}
    for c in sorted(classes, key=lambda c: (-instance.gain[option[c]] / instance.devices[option[c]], c)):
        for j in instance.classes[c].jobs:
            placed = next(ways_to_place(occupancy, option[c], Fit.BEST), None)
            if placed is None:
                break
            occupancy.take_placed(j, placed)
    return occupancy


def not_attempted(instance: Instance, assignment: Assignment) -> tuple[Verdict, ...]:
    """The verdicts when no time is left to look for reasons."""
    message = "the time budget ran out before a reason was looked for"
    runs = assignment.kept.union(assignment.placed)
    kind = VerdictKind.NOT_ATTEMPTED
    return tuple(
        [
            _verdict(job.name, kind, "BUDGET", message, "", "", None, None, None, None, (), ())
            for j, job in enumerate(instance.jobs[: instance.free_from])
            if j not in runs
        ]
    )


def _reason(
    instance: Instance,
    job_class: JobClass,
    after: Occupancy,
    rooms: _Rooms,
    *,
    finished: bool,
    gains: bool,
) -> _Reason:
    if job_class.kept:
        owed = " or that queues are guaranteed" if instance.guarantee_floors else ""
        message = f"gives its place to jobs that are worth more{owed}"
        return _Reason(VerdictKind.NOT_CHOSEN, "EVICTED", message)
    options = instance.options_of(job_class)
    if not gains and instance.jobs[job_class.jobs[0]].deadline_kind is DeadlineKind.STRICT:
        message = "its strict deadline can no longer be met, or not by starting now"
        return _Reason(VerdictKind.NOT_CHOSEN, "DEADLINE_LOST", message)
    held = _quota(instance, job_class, after)
    if held is not None:
        return held
    shortage = shortage_of(options, rooms.fixed)
    if shortage is not None and shortage_of(options, rooms.lasting) is None:
        beside = "beside work that is left alone for now"
        kind = VerdictKind.HELD_BY_POLICY
        return _short(instance, kind, "MINIMUM_RUN_TIME", shortage, rooms.fixed, beside)
    if shortage is not None:
        closed = not (instance.block_pools[instance.block_index[shortage.block]] > 0).any()
        code = "NODES_CLOSED" if closed else "CAPACITY_HELD"
        beside = "beside work that may not be moved"
        return _short(instance, VerdictKind.NO_FIT_NOW, code, shortage, rooms.fixed, beside)
    shortage = shortage_of(options, rooms.after)
    kind = VerdictKind.NOT_CHOSEN if finished else VerdictKind.NOT_FOUND_IN_BUDGET
    if shortage is not None:
        code = "WORTH_LESS" if finished else "SEARCH_STOPPED"
        owed = " or have what queues are guaranteed" if instance.guarantee_floors else ""
        beside = f"beside jobs that are worth more{owed}" if finished else "beside the plan"
        return _short(instance, kind, code, shortage, rooms.after, beside)
    if not gains:
        return _Reason(VerdictKind.NOT_CHOSEN, "NO_GAIN", "running it is worth nothing under this policy")
    if rooms.whole is not None and shortage_of(options, rooms.whole) is not None:
        more = "are worth more" if finished else "are worth something"
        message = f"fits only where it would break whole nodes that {more} while they are free"
        return _Reason(kind, "RESIDUAL_VALUE", message)
    return _Reason(kind, "NO_ARRANGEMENT", "no arrangement was found in what the plan leaves free")


def _no_option(instance: Instance, job_class: JobClass) -> _Reason:
    """No option at all: types that are absent, or cells that a profile lacks."""
    job = instance.jobs[job_class.jobs[0]]
    present = {instance.speeds.type_names[t] for t in instance.nodes.type_of[instance.nodes.open] if t >= 0}
    fleet = {node.accelerator_type for node in instance.nodes.nodes if node.device_count}
    for group in job.component.task_groups:
        allowed = {instance.speeds.type_names[t] for t in instance.speeds.allowed_types(group)}
        if group.devices_per_task and not allowed & present:
            names = ", ".join(sorted(group.accelerator_types)) or "accelerators"
            if allowed & fleet:
                message = f"all nodes with {names} are cordoned, draining or unhealthy"
                return _Reason(VerdictKind.NO_FIT_NOW, "NODES_CLOSED", message, "devices")
            message = f"needs {names}; the cluster has none"
            return _Reason(VerdictKind.NEVER_FITS, "NO_SUCH_ACCELERATOR", message, "devices")
    return _Reason(
        VerdictKind.NEVER_FITS, "NO_THROUGHPUT", "its profile has no throughput for any accelerator type here"
    )


def _never_fits(instance: Instance, shortage: Shortage, empty: Room) -> _Reason:
    block = shortage.block
    if shortage.fitting == 0 and shortage.wanted >= 1:
        able = admitting(instance, block)
        if not able.any():
            return _Reason(
                VerdictKind.NEVER_FITS,
                "NO_NODE_ADMITS",
                "no node passes its selector, taints and type",
            )
        largest = raw_capacity(instance)[able].max(axis=0)
        for r, resource in enumerate(DIMENSIONS):
            if block.demand[r] > largest[r]:
                short = block.demand[r] - int(largest[r])
                unit = instance.nodes.parts if resource == "devices" else 1
                message = (
                    f"needs {_amount(block.demand[r], unit)} {_UNITS[resource]} on one node; "
                    f"the largest has {_amount(int(largest[r]), unit)}"
                )
                short = -(-short // unit)
                code = "TASK_LARGER_THAN_ANY_NODE"
                return _Reason(VerdictKind.NEVER_FITS, code, message, resource, "node", short)
    beside = "even when all is empty"
    return _short(instance, VerdictKind.NEVER_FITS, "GANG_TOO_LARGE", shortage, empty, beside)


def _quota(instance: Instance, job_class: JobClass, after: Occupancy) -> _Reason | None:
    """Held when no option fits into what the queue's limits leave."""
    options = instance.options_of(job_class)
    if job_class.queue < 0 or any(after.members_allowed(job_class, option) for option in options):
        return None
    option = min(options, key=lambda o: o.devices)
    short, queue = after.quota_shortfall(job_class, option)
    short = -(-short // instance.nodes.parts)
    if queue == HEADROOM:
        message = f"is short of {_devices(short)} that are left for interactive jobs to start on"
        return _Reason(VerdictKind.HELD_BY_POLICY, "HEADROOM", message, "devices", "", short)
    if queue in instance.limits.keeps_room:
        promised = instance.limits.keeps_room[queue]
        message = f"queue {promised} is short of {_devices(short)} beside what is promised to others"
        return _Reason(VerdictKind.HELD_BY_POLICY, "PROMISED", message, "devices", "", short)
    message = f"queue {queue} is short of {_devices(short)} under its limit"
    return _Reason(VerdictKind.HELD_BY_POLICY, "QUEUE_LIMIT", message, "devices", "", short)


def _short(
    instance: Instance, kind: VerdictKind, code: str, shortage: Shortage, room: Room, beside: str
) -> _Reason:
    """What is short of which resource: the one of which the best domain holds the fewest copies."""
    level = instance.speeds.scopes[shortage.scope]
    where = "the cluster" if level == "cluster" else f"one {level}"
    if shortage.wanted == 1:
        message = f"no node has room for it {beside}"
    else:
        fitting, wanted = shortage.fitting * shortage.tasks, shortage.wanted * shortage.tasks
        message = f"{fitting} of {wanted} tasks fit in {where} {beside}"
    scarce = room.scarce(shortage)
    if scarce is None:
        return _Reason(kind, code, message, level=level)
    resource, missing = DIMENSIONS[scarce[0]], scarce[1]
    if resource == "devices":
        missing = -(-missing // instance.nodes.parts)
    message += (
        f"; short of {_devices(missing) if resource == 'devices' else f'{missing:,} {_UNITS[resource]}'}"
    )
    return _Reason(kind, code, message, resource, level, missing)


def _amount(amount: int, unit: int) -> str:
    """So many units, which may be parts of one."""
    return f"{amount // unit:,}" if amount % unit == 0 else f"{amount / unit:,g}"


def _devices(count: int) -> str:
    return f"{count:,} device" if count == 1 else f"{count:,} devices"
