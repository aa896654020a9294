"""Why a job has no placement: one verdict each, short, counted and deterministic (design, section 7).

NEVER_FITS and NO_FIT_NOW are proofs by counting: on the empty cluster with every node in order, or beside
the work that may not be touched, no domain of any option's scope holds enough copies of some block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import Verdict, VerdictKind
from gangplan.model.assignment import Assignment
from gangplan.model.instance import Instance, JobClass
from gangplan.model.occupancy import Occupancy
from gangplan.model.options import Block, Option
from gangplan.model.program import BoolArray, IntArray
from gangplan.model.sites import DIMENSIONS, NO_DOMAIN, admits

_UNITS = {"devices": "devices", "cpu": "milli-CPU", "memory": "bytes"}


@dataclass(frozen=True, slots=True)
class _Reason:
    kind: VerdictKind
    code: str
    message: str
    resource: str = ""
    level: str = ""
    shortfall: int | None = None


@dataclass(frozen=True, slots=True)
class _Shortage:
    """The option that comes closest: ``fitting`` of ``wanted`` copies of a block in one domain."""

    option: Option
    block: Block
    fitting: int
    wanted: int
    scope: int

    @property
    def devices(self) -> int:
        return (self.wanted - self.fitting) * self.block.demand[0]


@dataclass(frozen=True, slots=True, eq=False)
class _Rooms:
    """Room on the empty cluster, beside what may not be touched, and beside the plan."""

    empty: _Room
    fixed: _Room
    after: _Room


def explain(instance: Instance, assignment: Assignment, *, finished: bool) -> tuple[Verdict, ...]:
    """A verdict for every job that does not run after ``assignment``, by job name.

    Args:
        instance: the round as arrays.
        assignment: what was decided.
        finished: whether the search ended by itself, so that "another use is worth more" is known.
    """
    kept_classes = {int(instance.class_of_job[j]) for j in assignment.kept}
    after = Occupancy(instance, kept_classes)
    for j, placed in sorted(assignment.placed.items()):
        after.take_placed(j, placed)
    fixed = Occupancy(instance, [c for c, job_class in enumerate(instance.classes) if job_class.must_run])
    rooms = _Rooms(_raw_room(instance), _free_room(fixed), _free_room(after))
    verdicts: list[Verdict] = []
    for job_class in instance.classes:
        waiting = [j for j in job_class.jobs if j not in assignment.placed and j not in assignment.kept]
        if waiting:
            reason = _reason(instance, job_class, after, rooms, finished=finished)
            verdicts.extend(
                Verdict(
                    job=instance.jobs[j].name,
                    kind=reason.kind,
                    code=reason.code,
                    message=reason.message,
                    resource=reason.resource,
                    level=reason.level,
                    shortfall=reason.shortfall,
                )
                for j in waiting
            )
    return tuple(sorted(verdicts, key=lambda verdict: verdict.job))


def _reason(
    instance: Instance,
    job_class: JobClass,
    after: Occupancy,
    rooms: _Rooms,
    *,
    finished: bool,
) -> _Reason:
    if job_class.kept:
        return _Reason(VerdictKind.NOT_CHOSEN, "EVICTED", "gives its place to jobs that are worth more")
    options = instance.options_of(job_class)
    if not options:
        return _no_option(instance, job_class)
    shortage = _shortage(options, rooms.empty)
    if shortage is not None:
        return _never_fits(instance, shortage)
    held = _quota(instance, job_class, after)
    if held is not None:
        return held
    shortage = _shortage(options, rooms.fixed)
    if shortage is not None:
        closed = not (instance.block_pools[instance.block_index[shortage.block]] > 0).any()
        code = "NODES_CLOSED" if closed else "CAPACITY_HELD"
        return _short(instance, VerdictKind.NO_FIT_NOW, code, shortage, "beside work that may not be moved")
    shortage = _shortage(options, rooms.after)
    kind = VerdictKind.NOT_CHOSEN if finished else VerdictKind.NOT_FOUND_IN_BUDGET
    if shortage is not None:
        code = "WORTH_LESS" if finished else "SEARCH_STOPPED"
        beside = "beside jobs that are worth more" if finished else "beside the plan"
        return _short(
            instance,
            kind,
            code,
            shortage,
            beside,
        )
    worth = instance.gain[job_class.start : job_class.stop]
    if (worth <= 0.0).all():
        return _Reason(VerdictKind.NOT_CHOSEN, "NO_GAIN", "running it is worth nothing under this policy")
    return _Reason(kind, "NO_ARRANGEMENT", "no arrangement was found in what the plan leaves free")


def _no_option(instance: Instance, job_class: JobClass) -> _Reason:
    """No option at all: types that are absent, or cells that a profile lacks."""
    job = instance.jobs[job_class.jobs[0]]
    present = {instance.speeds.type_names[t] for t in instance.nodes.type_of[instance.nodes.open] if t >= 0}
    fleet = {node.accelerator_type for node in instance.nodes.nodes if node.device_count}
    for group in job.component.task_groups:
        allowed = {instance.speeds.type_names[t] for t in instance.speeds.allowed_types(group)}
        if group.devices_per_task and not allowed & present:
            names = ", ".join(group.accelerator_types) or "accelerators"
            if allowed & fleet:
                message = f"all nodes with {names} are cordoned, draining or unhealthy"
                return _Reason(VerdictKind.NO_FIT_NOW, "NODES_CLOSED", message, "devices")
            message = f"needs {names}; the cluster has none"
            return _Reason(VerdictKind.NEVER_FITS, "NO_SUCH_ACCELERATOR", message, "devices")
    return _Reason(
        VerdictKind.NEVER_FITS, "NO_THROUGHPUT", "its profile has no throughput for any accelerator type here"
    )


def _never_fits(instance: Instance, shortage: _Shortage) -> _Reason:
    block = shortage.block
    if shortage.fitting == 0 and shortage.wanted >= 1:
        able = _admitting(instance, block)
        if not able.any():
            return _Reason(
                VerdictKind.NEVER_FITS,
                "NO_NODE_ADMITS",
                "no node passes its selector, taints and type",
            )
        largest = _raw_capacity(instance)[able].max(axis=0)
        for r, resource in enumerate(DIMENSIONS):
            if block.demand[r] > largest[r]:
                short = block.demand[r] - int(largest[r])
                message = (
                    f"needs {block.demand[r]:,} {_UNITS[resource]} on one node; "
                    f"the largest has {int(largest[r]):,}"
                )
                code = "TASK_LARGER_THAN_ANY_NODE"
                return _Reason(VerdictKind.NEVER_FITS, code, message, resource, "node", short)
    return _short(instance, VerdictKind.NEVER_FITS, "GANG_TOO_LARGE", shortage, "even when all is empty")


def _quota(instance: Instance, job_class: JobClass, after: Occupancy) -> _Reason | None:
    """Held when no option fits into what the queue's limits leave."""
    options = instance.options_of(job_class)
    if job_class.queue < 0 or any(after.members_allowed(job_class, option) for option in options):
        return None
    option = min(options, key=lambda o: o.devices)
    short, queue = after.quota_shortfall(job_class, option)
    message = f"queue {queue} is short of {_devices(short)} under its limit"
    return _Reason(VerdictKind.HELD_BY_POLICY, "QUEUE_LIMIT", message, "devices", "", short)


def _short(instance: Instance, kind: VerdictKind, code: str, shortage: _Shortage, beside: str) -> _Reason:
    level = instance.speeds.scopes[shortage.scope]
    where = "the cluster" if level == "cluster" else f"one {level}"
    if shortage.wanted == 1:
        message = f"no node has room for it {beside}"
    else:
        message = f"{shortage.fitting} of {shortage.wanted} tasks fit in {where} {beside}"
    if shortage.devices:
        message += f"; short of {_devices(shortage.devices)}"
    resource = "devices" if shortage.block.demand[0] else "cpu"
    return _Reason(kind, code, message, resource, level, shortage.devices or None)


def _devices(count: int) -> str:
    return f"{count:,} device" if count == 1 else f"{count:,} devices"


class _Room:
    """How many copies of a block the best domain of a scope holds, by counting; each looked up once."""

    def __init__(self, instance: Instance, copies: Callable[[Block], IntArray]) -> None:
        self._instance, self._copies = instance, copies
        self._most: dict[tuple[Block, int], int] = {}

    def most(self, block: Block, scope: int) -> int:
        key = (block, scope)
        if key not in self._most:
            count = self._copies(block).clip(0, 2**31)
            at = self._instance.nodes.domain_at[:, scope]
            inside = at != NO_DOMAIN
            self._most[key] = int(np.bincount(at[inside], weights=count[inside]).max(initial=0))
        return self._most[key]


def _shortage(options: Iterable[Option], room: _Room) -> _Shortage | None:
    """None when some option fits by counting; else the option that comes closest."""
    closest: _Shortage | None = None
    for option in options:
        worst: _Shortage | None = None
        for demand in option.demands:
            most = room.most(demand.block, option.scope)
            if most < demand.multiplicity:
                here = _Shortage(option, demand.block, most, demand.multiplicity, option.scope)
                if worst is None or here.devices > worst.devices:
                    worst = here
        if worst is None:
            return None
        if closest is None or (worst.devices, -worst.fitting) < (closest.devices, -closest.fitting):
            closest = worst
    return closest


def _free_room(occupancy: Occupancy) -> _Room:
    """What each node still takes."""
    instance = occupancy.instance

    def copies(block: Block) -> IntArray:
        found = np.zeros(len(instance.nodes.nodes), dtype=np.int64)
        index = instance.block_index[block]
        nodes = occupancy.block_nodes(index)
        found[nodes] = occupancy.copies(index, nodes)
        return found

    return _Room(instance, copies)


def _raw_room(instance: Instance) -> _Room:
    """What each node takes when it is empty and in order."""
    capacity = _raw_capacity(instance)
    passing: dict[int, BoolArray] = {}

    def copies(block: Block) -> IntArray:
        most = np.full(len(capacity), 2**31, dtype=np.int64)
        for r, amount in enumerate(block.demand):
            if amount:
                most = np.minimum(most, capacity[:, r] // amount)
        found: IntArray = np.where(_admitting(instance, block, passing), most, 0)
        return found

    return _Room(instance, copies)


def _raw_capacity(instance: Instance) -> IntArray:
    return np.array(
        [(n.device_count, n.resources.cpu_milli, n.resources.memory_bytes) for n in instance.nodes.nodes],
        dtype=np.int64,
    ).reshape(len(instance.nodes.nodes), 3)


def _admitting(instance: Instance, block: Block, passing: dict[int, BoolArray] | None = None) -> BoolArray:
    """Nodes that pass a block's filters, types and size, in order or not, shape (nodes,).

    ``passing`` remembers which nodes pass a filter.
    """
    passing = {} if passing is None else passing
    able = np.ones(len(instance.nodes.nodes), dtype=np.bool_)
    if block.types:
        able &= np.isin(instance.nodes.type_of, block.types)
    if block.built_in:
        able &= instance.nodes.built_in == block.built_in
    for f in block.filters:
        if f not in passing:
            group = instance.filters[f]
            passing[f] = np.array([admits(node, group) for node in instance.nodes.nodes], dtype=np.bool_)
        able &= passing[f]
    return able
