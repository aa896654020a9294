"""From an assignment to a plan: device indices, kinds of actions, and what waits for what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from gangplan.domain.job import Job, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, Plan, Precondition
from gangplan.model.instance.as_placed import narrowest, speed_at
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.placements import Placements, Places
from gangplan.model.packing.waits import who_waits

_ORDER = (ActionKind.EVICT, ActionKind.RESIZE, ActionKind.MIGRATE, ActionKind.PLACE, ActionKind.KEEP)
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}


def make_plan(instance: Instance, assignment: Assignment) -> Plan:
    """The plan that turns the present into ``assignment``."""
    return PlanWriter(instance).plan(assignment)


class PlanWriter:
    """Writes the plans of one round.

    They differ little: an action that says the same as the last one for its job is that very action.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._placements = Placements(instance)
        self._last: dict[int, Action] = {}

    def plan(self, assignment: Assignment) -> Plan:
        """The plan that turns the present into ``assignment``."""
        after = self._placements.after(assignment)
        kinds = self._kinds(assignment, after)
        changing = [j for j, kind in kinds.items() if kind is not ActionKind.KEEP]
        waits = who_waits(self._instance, changing, after)
        beneficiaries = _Beneficiaries(self._instance, kinds, after, waits)
        ordered = sorted(kinds, key=lambda j: (_RANK[kinds[j]], j))
        return Plan(
            tuple(
                [
                    self._action(j, kinds, after.get(j, ()), waits.get(j, ()), beneficiaries.of(j))
                    for j in ordered
                ]
            )
        )

    def _kinds(self, assignment: Assignment, after: Places) -> dict[int, ActionKind]:
        """What is done to every job that runs now or then."""
        kinds: dict[int, ActionKind] = {}
        jobs, forced = self._instance.jobs, self._instance.forced
        for j, before in self._placements.present.items():
            if j in assignment.kept and j not in assignment.placed:
                kinds[j] = ActionKind.KEEP
            else:
                kinds[j] = _kind(before, after.get(j), forced=j in forced)
        for j in assignment.placed:
            if jobs[j].running is None:
                kinds[j] = ActionKind.PLACE
        return kinds

    def _action(
        self,
        j: int,
        kinds: Mapping[int, ActionKind],
        placements: tuple[TaskPlacement, ...],
        waits: Collection[int],
        beneficiaries: Sequence[int],
    ) -> Action:
        instance, kind, last = self._instance, kinds[j], self._last.get(j)
        jobs = instance.jobs
        depends_on = tuple([_id(kinds[other], jobs[other]) for other in sorted(waits)])
        named = tuple([jobs[other].name for other in beneficiaries])
        if (
            last is not None
            and last.kind is kind
            and last.placements == placements
            and last.depends_on == depends_on
            and last.beneficiaries == named
        ):
            return last
        job = jobs[j]
        scope, throughput = "", 0.0
        if placements:
            scope, throughput = _runs(instance, job, placements)
        action = self._last[j] = Action(
            id=_id(kind, job),
            kind=kind,
            job=job.name,
            placements=placements,
            scope=scope,
            throughput=throughput,
            depends_on=depends_on,
            beneficiaries=named,
            forced=instance.forced.get(j),
            preconditions=_read(instance, job, placements),
        )
        return action


def _kind(
    before: tuple[TaskPlacement, ...], after: tuple[TaskPlacement, ...] | None, *, forced: bool
) -> ActionKind:
    """What is done to a running job."""
    if after is None:
        return ActionKind.EVICT
    if not forced and before == after:
        return ActionKind.KEEP
    if not forced and _counts(before) != _counts(after) and _nested(before, after):
        return ActionKind.RESIZE
    return ActionKind.MIGRATE


def _counts(placements: Sequence[TaskPlacement]) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for placement in placements:
        counts[placement.group] += placement.tasks
    return counts


def _nested(before: Sequence[TaskPlacement], after: Sequence[TaskPlacement]) -> bool:
    """Whether, group by group, one of the two holds everything that the other holds (decision 18)."""
    for group in {p.group for p in (*before, *after)}:
        one = {p.node: p for p in before if p.group == group}
        two = {p.node: p for p in after if p.group == group}
        if not (_within(one, two) or _within(two, one)):
            return False
    return True


def _within(small: Mapping[str, TaskPlacement], large: Mapping[str, TaskPlacement]) -> bool:
    return all(
        node in large
        and placement.tasks <= large[node].tasks
        and set(placement.devices) <= set(large[node].devices)
        for node, placement in small.items()
    )


class _Beneficiaries:
    """For whom a disruption by choice is: those who wait for it, else who takes its quota, else itself.

    Only who starts, moves or grows has any good of it (property P5).
    """

    def __init__(
        self,
        instance: Instance,
        kinds: Mapping[int, ActionKind],
        after: Mapping[int, tuple[TaskPlacement, ...]],
        waits: Mapping[int, set[int]],
    ) -> None:
        self._instance, self._kinds = instance, kinds
        self._gaining = sorted(
            j for j, kind in kinds.items() if _gains(instance.jobs[j], kind, after.get(j, ()))
        )
        self._helped: dict[int, list[int]] = defaultdict(list)
        for j in self._gaining:
            for other in waits.get(j, ()):
                self._helped[other].append(j)
        limited = {
            q.name for q in instance.round.queues if q.device_limit is not None or q.device_limit_by_type
        }
        self._limited = tuple(
            frozenset(a for a in ancestors if instance.queue_names[a] in limited)
            for ancestors in instance.queue_ancestors
        )

    def of(self, j: int) -> list[int]:
        """Whom the action on job ``j`` is for; empty where it is forced or nobody is disrupted."""
        if j not in self._instance.placements or self._kinds[j] is ActionKind.KEEP:
            return []
        if self._helped[j]:
            return self._helped[j]
        if self._kinds[j] is not ActionKind.EVICT:
            return [j]
        mine = self._limited_queues(j)
        return [other for other in self._gaining if mine & self._limited_queues(other)] if mine else []

    def _limited_queues(self, j: int) -> frozenset[int]:
        queue = self._instance.classes[int(self._instance.class_of_job[j])].queue
        return self._limited[queue] if queue >= 0 else frozenset()


def _gains(job: Job, kind: ActionKind, after: Sequence[TaskPlacement]) -> bool:
    """Whether the job starts, moves, or gets more tasks of some group."""
    if kind is ActionKind.RESIZE and job.running is not None:
        before = _counts(job.running.placements)
        return any(count > before.get(group, 0) for group, count in _counts(after).items())
    return kind in (ActionKind.PLACE, ActionKind.MIGRATE)


def _runs(instance: Instance, job: Job, placements: Sequence[TaskPlacement]) -> tuple[str, float]:
    """Scope and throughput of a job at ``placements``."""
    nodes = instance.nodes
    counts = {group.name: 0 for group in job.component.task_groups}
    types: dict[str, int] = {}
    used: dict[int, None] = {}
    for placement in placements:
        n = nodes.index[placement.node]
        used[n] = None
        counts[placement.group] += placement.tasks
        types[placement.group] = int(nodes.type_of[n])
    scope = narrowest(nodes, list(used))
    return instance.speeds.scopes[scope], speed_at(job, counts, types, scope, instance.speeds)[1]


def _read(instance: Instance, job: Job, placements: Sequence[TaskPlacement]) -> tuple[Precondition, ...]:
    """The revisions of the job and of its nodes, where they have any."""
    read = [Precondition("job", job.name, job.revision)] if job.revision else []
    for name in sorted({p.node for p in placements}):
        node = instance.nodes.nodes[instance.nodes.index[name]]
        if node.revision:
            read.append(Precondition("node", name, node.revision))
    return tuple(read)


def _id(kind: ActionKind, job: Job) -> str:
    return f"{kind.value.lower()}/{job.name}"
