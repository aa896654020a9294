"""From an assignment to a plan: device indices, kinds of actions, and what waits for what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from gangplan.domain.job import Job, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, Plan, Precondition
from gangplan.kept import Kept
from gangplan.model.instance.as_placed import narrowest_of, speed_at
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.claims import claims_of, notice_ends
from gangplan.model.packing.placements import Placements, Places
from gangplan.model.packing.waits import who_waits
from gangplan.twins import twin_maker

_ORDER = (ActionKind.EVICT, ActionKind.RESIZE, ActionKind.MIGRATE, ActionKind.PLACE, ActionKind.KEEP)
_PREFIX = tuple(f"{kind.value.lower()}/" for kind in _ORDER)
_NO_COST: Mapping[str, float] = MappingProxyType({})
_action = twin_maker(Action)
_RESTARTS = (ActionKind.MIGRATE, ActionKind.RESIZE)


def make_plan(instance: Instance, assignment: Assignment) -> Plan:
    """The plan that turns the present into ``assignment``."""
    return PlanWriter(instance).plan(assignment)


class PlanWriter:
    """Writes the plans of one round.

    They differ little: an action that says the same as the last one for its job is that very action.

    Args:
        instance: the round as arrays.
        kept: the model's own of an earlier round; the plans are the same without. None: nothing.
    """

    def __init__(self, instance: Instance, kept: Kept | None = None) -> None:
        self._instance = instance
        self._kept = kept
        self._placements = Placements(instance)
        self._last: dict[int, Action] = {}
        self._keeps: dict[int, Action] = {}
        self._revised = any(node.revision for node in instance.nodes.nodes)

    def plan(self, assignment: Assignment) -> Plan:
        """The plan that turns the present into ``assignment``."""
        after = self._placements.after(assignment)
        kinds = self._kinds(assignment, after)
        changing = [j for j, kind in kinds.items() if kind is not ActionKind.KEEP]
        waits = who_waits(self._instance, changing, after)
        beneficiaries = _Beneficiaries(self._instance, kinds, after, waits)
        runs = _runs(self._instance, assignment.placed)
        actions: list[Action] = []
        if self._kept is not None:
            self._take_over(self._kept)
            self._kept = None
        for kind in _ORDER:
            mine = sorted([j for j, one in kinds.items() if one is kind])
            if kind is ActionKind.KEEP:
                actions += [self._keeps.get(j) or self._keep(j) for j in mine]
                continue
            for j in mine:
                placements = after.get(j, ())
                now = runs.get(j) or (self._as_held(j) if placements else None)
                before = waits.get(j)
                if kind is ActionKind.PLACE and before is None:
                    actions.append(self._action(j, kind, placements, now, (), (), None))
                    continue
                stops = sorted(before or ())
                depends_on = tuple([_id(kinds[other], self._name(other)) for other in stops])
                named = tuple([self._name(other) for other in beneficiaries.of(j)])
                ends = self._notice_ends(j, kind, stops)
                actions.append(self._action(j, kind, placements, now, depends_on, named, ends))
        return Plan(
            tuple(actions),
            claims_of(self._instance, actions),
            self._instance.floors,
            self._instance.guarantee_floors,
        )

    def _notice_ends(self, j: int, kind: ActionKind, waits: Collection[int]) -> float | None:
        """When job ``j`` may start, that waits for the stops of ``waits`` and its own."""
        if kind is ActionKind.EVICT:
            return None
        own = (j,) if kind in _RESTARTS else ()
        return notice_ends(self._instance, (*waits, *own))

    def _name(self, j: int) -> str:
        return self._instance.jobs[j].name

    def _kinds(self, assignment: Assignment, after: Places) -> dict[int, ActionKind]:
        """What is done to every job that runs now or then."""
        kinds: dict[int, ActionKind] = {}
        jobs, forced = self._instance.jobs, self._instance.forced
        for j, before in self._placements.present.items():
            if jobs[j].running is None:
                kinds[j] = ActionKind.PLACE  # its claim
            elif j in assignment.kept and j not in assignment.placed:
                kinds[j] = ActionKind.KEEP
            else:
                kinds[j] = _kind(before, after.get(j), forced=j in forced)
        for j in assignment.placed:
            if jobs[j].running is None:
                kinds[j] = ActionKind.PLACE
        return kinds

    def _take_over(self, kept: Kept) -> None:
        """KEEPs of the round before, of jobs that are the same objects and run as they did.

        A KEEP hangs on its job, which says where it runs, and on how it runs there: on the throughput and
        domain of its nodes. Revisions are the caller's, and may be others all the time.
        """
        instance = self._instance
        nodes, speeds = instance.nodes, instance.speeds
        if self._revised:
            return
        mine = [
            j
            for j in self._placements.present
            if instance.jobs[j].running is not None and j not in instance.forced
        ]
        beside = (speeds, nodes.index, nodes.type_of, nodes.domain_at, nodes.parts)
        found = kept.together(
            "keeps",
            [instance.jobs[j] for j in mine],
            lambda at: [self._keep(mine[i]) for i in at],
            beside=beside,
        )
        self._keeps = dict(zip(mine, found, strict=True))

    def _keep(self, j: int) -> Action:
        """The one KEEP of job ``j``: nothing of it hangs on the rest of a plan."""
        placements = self._placements.present[j]
        action = self._keeps[j] = self._write(j, ActionKind.KEEP, placements, self._as_held(j))
        return action

    def _as_held(self, j: int) -> tuple[int, float]:
        """Scope and throughput of a job where it is, or where its claim is."""
        instance = self._instance
        c = int(instance.class_of_job[j])
        return int(instance.keeps.scope[c]), float(instance.keeps.throughput[c])

    def _action(
        self,
        j: int,
        kind: ActionKind,
        placements: tuple[TaskPlacement, ...],
        runs: tuple[int, float] | None,
        depends_on: tuple[str, ...],
        beneficiaries: tuple[str, ...],
        not_before: float | None,
    ) -> Action:
        last = self._last.get(j)
        if (
            last is not None
            and last.kind is kind
            and last.placements == placements
            and last.depends_on == depends_on
            and last.beneficiaries == beneficiaries
        ):
            return last
        action = self._last[j] = self._write(j, kind, placements, runs, depends_on, beneficiaries, not_before)
        return action

    def _write(
        self,
        j: int,
        kind: ActionKind,
        placements: tuple[TaskPlacement, ...],
        runs: tuple[int, float] | None,
        depends_on: tuple[str, ...] = (),
        beneficiaries: tuple[str, ...] = (),
        not_before: float | None = None,
    ) -> Action:
        """An action; ``runs`` is the scope's index and the throughput, None where the job stops."""
        instance = self._instance
        job = instance.jobs[j]
        return _action(
            _id(kind, job.name),
            kind,
            job.name,
            placements,
            "" if runs is None else instance.speeds.scopes[runs[0]],
            0.0 if runs is None else runs[1],
            depends_on,
            beneficiaries,
            instance.forced.get(j),
            _NO_COST,
            _read(instance, job, placements) if self._revised or job.revision else (),
            not_before,
            None,
        )


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
        self._gaining: list[int] = []
        if any(kinds[j] is not ActionKind.KEEP for j in instance.placements):
            self._gaining = sorted(
                [j for j, kind in kinds.items() if _gains(instance.jobs[j], kind, after.get(j, ()))]
            )
        self._helped: dict[int, list[int]] = defaultdict(list)
        for j in self._gaining:
            for other in waits.get(j, ()):
                self._helped[other].append(j)
        limited = {
            q.name
            for q in instance.limits.queues.values()
            if q.device_limit is not None or q.device_limit_by_type
        }
        self._limited = tuple(
            frozenset(a for a in ancestors if instance.limits.names[a] in limited)
            for ancestors in instance.limits.ancestors
        )

    def of(self, j: int) -> list[int]:
        """Whom the action on job ``j`` is for; empty where it is forced or nobody is disrupted."""
        if j not in self._instance.placements or self._kinds[j] in (ActionKind.KEEP, ActionKind.PLACE):
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


def _runs(instance: Instance, placed: Mapping[int, Placed]) -> dict[int, tuple[int, float]]:
    """Scope and throughput of all jobs with new places."""
    if not placed:
        return {}
    there = list(placed.values())
    sizes = np.array([len(each.spots) for each in there], dtype=np.int64)
    nodes = np.array([node for each in there for node, _ in each.spots], dtype=np.int64)
    scope = narrowest_of(instance.nodes, nodes, np.cumsum(sizes) - sizes)
    option = np.array([each.option for each in there], dtype=np.int64)
    throughput = instance.throughput_at[option, scope]
    found = dict(zip(placed, zip(scope.tolist(), throughput.tolist(), strict=True), strict=True))
    jobs = list(placed)
    for i in np.flatnonzero(np.isnan(throughput)).tolist():
        at = int(scope[i])
        found[jobs[i]] = at, _throughput(instance, jobs[i], there[i], at)
    return found


def _throughput(instance: Instance, j: int, placed: Placed, scope: int) -> float:
    """That of a job whose option leaves open on which type it runs."""
    job = instance.jobs[j]
    groups = [group.name for group in job.component.task_groups]
    counts = dict(zip(groups, instance.option_at(placed.option).counts, strict=True))
    types = {
        group: int(instance.nodes.type_of[node])
        for node, tasks in placed.spots
        for group, count in zip(groups, tasks, strict=True)
        if count
    }
    return speed_at(job, counts, types, scope, instance.speeds)[1]


def _read(instance: Instance, job: Job, placements: Sequence[TaskPlacement]) -> tuple[Precondition, ...]:
    """The revisions of the job and of its nodes, where they have any."""
    read = [Precondition("job", job.name, job.revision)] if job.revision else []
    for name in sorted({p.node for p in placements}):
        node = instance.nodes.nodes[instance.nodes.index[name]]
        if node.revision:
            read.append(Precondition("node", name, node.revision))
    return tuple(read)


def _id(kind: ActionKind, job: str) -> str:
    return f"{_PREFIX[_ORDER.index(kind)]}{job}"
