"""A plan read against its round: what each job holds before and after, whatever the plan says.

Reading never fails. What makes no sense is left out of the holdings and kept in :attr:`Reading.malformed`,
from where the structure family reports it. What a plan *does* to a job is derived from what the job holds
before and after, never from the kind that the action claims.

A round is large and a plan changes little of it, so a plan is read as a difference: :func:`unplanned` says
what each job does when no action names it, and only jobs with an action are looked at again. Of those, plain
starts are read as columns where there are many (:mod:`gangplan.model.verifier.starts`); what one of them is
to its job is put together when somebody asks for it.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from gangplan.domain.cluster import Node
from gangplan.domain.job import WHOLE_DEVICE, Job, TaskGroup, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, ForcedReason, Plan
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE
from gangplan.model.verifier.by_job import ByJob
from gangplan.model.verifier.columns import Bools, job_columns
from gangplan.model.verifier.facts import RoundFacts
from gangplan.model.verifier.holding import NOTHING, Held, Holding, counts, holding, minus, within
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.starts import (
    FIELDS,
    Row,
    Starts,
    known_bits,
    present,
    row_of,
    single_columns,
    singles_of,
    worth_columns,
)
from gangplan.model.verifier.violation import Violation

_Result = TypeVar("_Result")
_DISRUPTIONS = (Status.EVICTED, Status.MOVED, Status.RESIZED)
_NOTHING_DONE = (Status.WAITING, Status.KEPT)
_NO_TASKS: Mapping[str, int] = MappingProxyType({})
_NO_TYPES: Mapping[str, str] = MappingProxyType({})


class Change(NamedTuple):
    """What a plan does to one job.

    Attributes:
        job: the job.
        groups: its task groups by name.
        action: the first action for it; None: none.
        before: held now.
        after: held after the plan.
        started: new tasks: all of a placed or moved job, what a resized one adds.
        stopped: what is given up: all of an evicted or moved job, what a resized one drops.
        forced: why it cannot go on as it is; None when it can.
        outcome: what that means.
    """

    job: Job
    groups: Mapping[str, TaskGroup]
    action: Action | None
    before: Holding
    after: Holding
    started: Holding
    stopped: Holding
    forced: ForcedReason | None
    outcome: Outcome

    @property
    def status(self) -> Status:
        """What is done to the job."""
        return self.outcome.status

    @property
    def disruptive(self) -> bool:
        """Whether a running job is evicted, moved or resized by choice."""
        return self.forced is None and self.outcome.status in _DISRUPTIONS

    @property
    def gains(self) -> bool:
        """Whether the job is placed, moved, or resized to more tasks of some group."""
        if self.status is Status.RESIZED:
            before = counts(self.before)
            return any(count > before.get(group, 0) for group, count in self.outcome.counts.items())
        return self.status in (Status.STARTED, Status.MOVED)


class Changes(ByJob[Change]):
    """What a plan does to every job, by name, in the round's order.

    Args:
        alone: what each job does without an action.
        read: what was read as objects, by name.
        plain: actions that were read as columns.
        facts: the round's constants.
    """

    __slots__ = ("_alone", "_facts", "_known", "_plain", "_read")

    def __init__(
        self,
        alone: Unplanned,
        read: dict[str, Change],
        plain: Sequence[Action],
        facts: RoundFacts,
    ) -> None:
        super().__init__(alone)
        self._alone, self._read, self._facts = alone, read, facts
        self._known = facts.once(_known)
        self._plain = {action.job: action for action in plain}

    def __getitem__(self, name: str) -> Change:
        found = self._read.get(name)
        if found is None:
            action = self._plain.get(name)
            if action is None:
                return self._alone[name]
            found = self._read[name] = _change(action, self._alone[name], self._facts, self._known, [])
        return found

    def outcome(self, name: str) -> Outcome:
        """What the plan means for a job."""
        if name in self._read or name in self._plain:
            return self[name].outcome
        return self._alone.outcome(name)


class OutcomesByJob(ByJob[Outcome]):
    """What a plan means for every job, by name, in the round's order.

    Args:
        changes: what it does to them.
    """

    __slots__ = ("_changes",)

    def __init__(self, changes: Changes) -> None:
        super().__init__(changes)
        self._changes = changes

    def __getitem__(self, name: str) -> Outcome:
        return self._changes.outcome(name)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A plan beside its round.

    Attributes:
        round: the round.
        plan: the plan.
        facts: the round's constants.
        changes: one for every job, by name, in the round's order.
        changed: those of them that neither go on waiting nor keep what they hold, without ``starts``. A kept
            job is not forced off and holds afterwards exactly what it held before.
        kept: those that keep what they hold, or go on waiting, and have an action, without ``staying``.
        staying: actions that keep jobs on one node each, which :func:`present` knows.
        starts: the rest of those that change: waiting jobs that start on one node; None: none.
        malformed: placements that make no sense.
    """

    round: Round
    plan: Plan
    facts: RoundFacts
    changes: Changes
    changed: Mapping[str, Change]
    kept: Mapping[str, Change]
    staying: Sequence[Action]
    starts: Starts | None
    malformed: tuple[Violation, ...]
    _known: dict[Callable[[Reading], Any], Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, compute: Callable[[Reading], _Result]) -> _Result:
        """``compute(self)``, computed once and remembered: what several families ask of a plan."""
        found: _Result
        if compute in self._known:
            found = self._known[compute]
        else:
            found = self._known[compute] = compute(self)
        return found

    def judged(
        self,
        judge: Callable[[Change, RoundFacts], list[Violation]],
        sound: Callable[[Starts, RoundFacts], Bools],
    ) -> list[Violation]:
        """What ``judge`` finds wrong with the jobs that the plan changes, one by one.

        Whether one change is sound depends on it and the round alone, and plans of one round may share
        changes: one that was found sound is not judged again.

        Args:
            judge: a function of a module, which is the key; not a closure.
            sound: which of the plain starts it surely finds nothing wrong with.
        """
        found: list[Violation] = []
        known = self.facts.once(_sound).setdefault(judge, {})
        for name, change in self.changed.items():
            if known.get(name) is not change:
                wrong = judge(change, self.facts)
                if wrong:
                    found += wrong
                else:
                    known[name] = change
        if self.starts is not None:
            for change in self.started(~sound(self.starts, self.facts)):
                found += judge(change, self.facts)
        return found

    def started(self, which: Bools) -> list[Change]:
        """Those of the plain starts, one by one."""
        if self.starts is None or not which.any():
            return []
        actions = self.starts.actions
        return [self.changes[actions[row].job] for row in np.flatnonzero(which).tolist()]

    def started_on(self, nodes: Collection[str]) -> list[Change]:
        """Those of the plain starts that are on some of ``nodes``, one by one."""
        if self.starts is None or not nodes:
            return []
        index = self.starts.there.columns.node_index
        where = [index[node] for node in nodes if node in index]
        return self.started(np.isin(self.starts.there.node, where))

    @property
    def every_change(self) -> dict[str, Change]:
        """All that changes, plain starts included."""
        found = dict(self.changed)
        if self.starts is not None:
            found.update((name, self.changes[name]) for name in self.starts.names)
        return found

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Nodes by name."""
        return self.facts.nodes


def _sound(facts: RoundFacts) -> dict[Callable[..., object], dict[str, Change]]:
    """By rule and job: the change that was found sound last, filled by :meth:`Reading.judged`."""
    return {}


def read_plan(plan: Plan, facts: RoundFacts) -> Reading:
    """Read ``plan`` against the round of ``facts``; never fails.

    Of several actions for one job the first counts. Without an action a waiting job waits; a running one goes
    on, unless it is forced off.
    """
    without, known = facts.once(unplanned), facts.once(_known)
    starts, staying, others = _split(plan, facts)
    malformed: list[Violation] = []
    read: dict[str, Change] = {}
    kept: dict[str, Change] = {}
    changed = dict(facts.once(_changed_anyway))
    for action in others:
        name = action.job
        change = read[name] = _change(action, without[name], facts, known, malformed)
        if change.outcome.status not in _NOTHING_DONE:
            changed[name] = change
        else:
            kept[name] = change
            changed.pop(name, None)
    plain = staying if starts is None else [*staying, *starts.actions]
    changes = Changes(without, read, plain, facts)
    return Reading(facts.round, plan, facts, changes, changed, kept, staying, starts, tuple(malformed))


def _split(plan: Plan, facts: RoundFacts) -> tuple[Starts | None, list[Action], list[Action]]:
    """Plain starts, where there are many; actions that keep jobs of :func:`present`; and the rest.

    Of every job the first action alone.
    """
    index = facts.once(job_columns).index
    first: dict[str, Action] = {}
    for action in plan.actions:
        if action.job in index and action.job not in first and action.kind is not ActionKind.RESERVE:
            first[action.job] = action
    if not worth_columns(len(first)):
        return None, [], list(first.values())
    columns, bits, there = facts.once(single_columns), facts.once(known_bits), facts.once(present).row
    jobs = facts.round.jobs
    rows: list[Row] = []
    starting: list[Action] = []
    staying: list[Action] = []
    others: list[Action] = []
    for name, action in first.items():
        row = None
        if action.kind is ActionKind.PLACE:
            if (job := jobs[index[name]]).running is None:
                row = row_of(action.placements, index[name], columns, bits)
        elif action.kind is ActionKind.KEEP and name in there:
            job = jobs[index[name]]
            if job.running is not None and action.placements == job.running.placements:
                staying.append(action)
                continue
        if row is None:
            others.append(action)
        else:
            rows.append(row)
            starting.append(action)
    singles = singles_of(rows, facts) if worth_columns(len(rows)) else None
    if singles is None:
        return None, staying, others + starting
    return Starts(starting, singles), staying, others


def _change(
    action: Action, alone: Change, facts: RoundFacts, known: dict[str, Change], malformed: list[Violation]
) -> Change:
    """What ``action`` does to its job, which was known if it is the same action as the last one."""
    change = known.get(action.job)
    if change is None or change.action is not action:
        wrong = len(malformed)
        change = _read(action, alone, facts, malformed)
        if len(malformed) == wrong:
            known[action.job] = change
    return change


class Unplanned(ByJob[Change]):
    """What every job does without an action, by name, in the round's order.

    The round's constants remember it, so that it does not hold them: a round is gone when it is planned, and
    not when Python next looks for cycles, which it does not while others are planned.

    Args:
        facts: the round's constants; whoever looks here holds them.
    """

    __slots__ = ("_facts", "_found", "_idle", "_jobs")

    def __init__(self, facts: RoundFacts) -> None:
        self._facts = weakref.ref(facts)
        self._jobs = {job.name: job for job in facts.round.jobs}
        super().__init__(self._jobs)
        self._found: dict[str, Change] = {}
        self._idle: dict[str, Outcome] = {}

    def __getitem__(self, name: str) -> Change:
        found = self._found.get(name)
        if found is None:
            facts = self._facts()
            assert facts is not None
            found = self._found[name] = _alone(self._jobs[name], facts)
        return found

    def outcome(self, name: str) -> Outcome:
        """What it means for a job that no action names it."""
        job = self._jobs[name]
        if job.running is not None:
            return self[name].outcome
        found = self._idle.get(name)
        if found is None:
            found = self._idle[name] = _idle(job)
        return found


def unplanned(facts: RoundFacts) -> Unplanned:
    """What every job does without an action, by name: it waits, goes on, or is forced off."""
    return Unplanned(facts)


def going_on(facts: RoundFacts) -> dict[str, Change]:
    """What running jobs do without an action, by name: they go on, or are forced off.

    Those of :func:`~gangplan.model.verifier.starts.present` go on, and are left out.
    """
    every, there = facts.once(unplanned), facts.once(present).row
    return {
        job.name: every[job.name]
        for job in facts.round.jobs
        if job.running is not None and job.name not in there
    }


def _alone(job: Job, facts: RoundFacts) -> Change:
    groups = {group.name: group for group in job.component.task_groups}
    if job.running is None:
        idle = facts.once(unplanned).outcome(job.name)
        return Change(job, groups, None, NOTHING, NOTHING, NOTHING, NOTHING, None, idle)
    before, forced = holding(job.running.placements), facts.forced.get(job.name)
    alone = Change(job, groups, None, before, NOTHING, NOTHING, NOTHING, forced, _idle(job))
    return _changed(alone, None, NOTHING if forced else before, facts)


def _changed_anyway(facts: RoundFacts) -> dict[str, Change]:
    """What changes without an action: who is forced off."""
    return {
        name: change
        for name, change in facts.once(going_on).items()
        if change.outcome.status not in _NOTHING_DONE
    }


def _known(facts: RoundFacts) -> dict[str, Change]:
    """What the last well-formed action read for each job does, filled by :func:`read_plan`.

    That depends on the action and the round alone, and plans of one round may share actions.
    """
    return {}


def _read(action: Action, alone: Change, facts: RoundFacts, malformed: list[Violation]) -> Change:
    """What ``action`` does to the job that without it does as ``alone`` says."""
    running = alone.job.running
    if (
        running is not None
        and alone.forced is None
        and action.kind is not ActionKind.EVICT
        and action.placements == running.placements
    ):
        job, groups, _, before, goes_on, started, stopped, forced, outcome = alone
        return Change(job, groups, action, before, goes_on, started, stopped, forced, outcome)
    after = NOTHING
    if action.kind is not ActionKind.EVICT:
        after = _asked(action, alone, facts) or _sane(action, alone, facts, malformed)
    return _changed(alone, action, after, facts)


def _changed(alone: Change, action: Action | None, after: Holding, facts: RoundFacts) -> Change:
    """The change of a job that holds ``after`` in the end."""
    job, before, forced = alone.job, alone.before, alone.forced
    status = _status(job, forced, before, after)
    if status is Status.KEPT:
        started = stopped = NOTHING
    elif status is Status.RESIZED:
        started, stopped = minus(after, before), minus(before, after)
    else:
        started, stopped = after, before
    outcome = _known_outcome(alone, status, after, facts) or _outcome(alone, status, after, facts)
    return Change(job, alone.groups, action, before, after, started, stopped, forced, outcome)


def _idle(job: Job, status: Status = Status.WAITING, *, forced: bool = False) -> Outcome:
    return Outcome(job, status, forced, "", _NO_TASKS, _NO_TYPES, 0.0, 0.0, 0.0)


def _asked(action: Action, alone: Change, facts: RoundFacts) -> Holding | None:
    """The holding that an action asks for, when all of it makes sense."""
    found: dict[tuple[str, str], Held] = {}
    for group, node, tasks, devices, shares in map(FIELDS, action.placements):
        key = (group, node)
        held = Held(tasks, frozenset(devices), shares)
        if (
            node not in facts.nodes
            or group not in alone.groups
            or tasks < 1
            or key in found
            or not _ascending(devices)
        ):
            return None
        found[key] = held
    return found


def _sane(action: Action, alone: Change, facts: RoundFacts, malformed: list[Violation]) -> Holding:
    """The holding that an action asks for, without what makes no sense."""
    job = alone.job
    seen: set[tuple[str, str]] = set()
    sane: list[TaskPlacement] = []

    def report(rule: str, node: str, message: str) -> None:
        malformed.append(Violation(f"structure.{rule}", job.name, node, action.id, message))

    for placement in action.placements:
        group, node = placement.group, placement.node
        if node not in facts.nodes:
            report("unknown-node", node, f"{job.name} is placed on {node!r}, which is not in the cluster")
        elif group not in alone.groups:
            report("unknown-group", node, f"{job.name} has no task group {group!r}")
        elif placement.tasks < 1:
            report("task-count", node, f"{job.name} has {placement.tasks} tasks of {group} on {node}")
        else:
            if (group, node) in seen:
                report("repeated-placement", node, f"{job.name} lists {group} on {node} more than once")
            seen.add((group, node))
            sane.append(placement)
        if not _ascending(placement.devices):
            report(
                "device-order", node, f"{job.name} lists devices {placement.devices} on {node}, not ascending"
            )
    return holding(tuple(sane))


def _ascending(devices: tuple[int, ...]) -> bool:
    return len(devices) < 2 or all(map(operator.lt, devices, devices[1:]))


def _status(job: Job, forced: ForcedReason | None, before: Holding, after: Holding) -> Status:
    if job.running is None:
        return Status.STARTED if after else Status.WAITING
    if not after:
        return Status.EVICTED if before or forced else Status.KEPT
    if forced is not None:
        return Status.MOVED
    if after == before:
        return Status.KEPT
    nested = all(
        within(after, before, group.name) or within(before, after, group.name)
        for group in job.component.task_groups
    )
    if nested and counts(after) != counts(before):
        return Status.RESIZED
    return Status.MOVED


def _known_outcome(alone: Change, status: Status, after: Holding, facts: RoundFacts) -> Outcome | None:
    """The outcome that a start had in another plan, when it must be the same in this one.

    A waiting job that starts on one node has the outcome that its number of tasks there and the node's type
    make: all else that an outcome says is the job's and the round's, and the scope is that one node.
    """
    if status is not Status.STARTED or len(after) != 1:
        return None
    known = facts.once(_outcomes)
    (((group, node), held),) = after.items()
    key = (alone.job.name, group, held.tasks, facts.nodes[node].accelerator_type)
    outcome = known.get(key)
    if outcome is None:
        outcome = known[key] = _outcome(alone, status, after, facts)
    return outcome


def _outcomes(facts: RoundFacts) -> dict[tuple[str, str, int, str | None], Outcome]:
    """Outcomes of starts on one node by job, group, tasks and type, filled by :func:`_known_outcome`."""
    return {}


def _outcome(alone: Change, status: Status, after: Holding, facts: RoundFacts) -> Outcome:
    job, forced = alone.job, alone.forced is not None
    if not after:
        return _idle(job, status, forced=forced)
    tasks: dict[str, int] = {}
    types: dict[str, str] = {}
    milli = 0
    mixed: set[str] = set()
    for (group, node), held in after.items():
        tasks[group] = tasks.get(group, 0) + held.tasks
        each = alone.groups[group].device_milli
        if each:
            milli += held.tasks * each
            kind = facts.nodes[node].accelerator_type
            if kind is None or types.setdefault(group, kind) != kind:
                mixed.add(group)
    for group in mixed:
        types.pop(group, None)
    scope = NODE if len(after) == 1 else facts.scope([node for _, node in after])
    relative, throughput = (
        (0.0, 0.0) if mixed else facts.throughput.of_gang(job.component, tasks, types, scope)
    )
    return Outcome(job, status, forced, scope, tasks, types, milli / WHOLE_DEVICE, relative, throughput)
