"""A plan read against its round: what each job holds before and after, whatever the plan says.

Reading never fails. What makes no sense is left out of the holdings and kept in :attr:`Reading.malformed`,
from where the structure family reports it. What a plan *does* to a job is derived from what the job holds
before and after, never from the kind that the action claims.

A round is large and a plan changes little of it, so a plan is read as a difference: :func:`unplanned` says
once a round what each job does when no action names it, and only jobs with an action are looked at again.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from gangplan.domain.cluster import Node
from gangplan.domain.job import Job, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, ForcedReason, Plan
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE
from gangplan.model.verifier.facts import RoundFacts
from gangplan.model.verifier.holding import NOTHING, Holding, counts, holding, minus, within
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.violation import Violation

_DISRUPTIONS = (Status.EVICTED, Status.MOVED, Status.RESIZED)
_NOTHING_DONE = (Status.WAITING, Status.KEPT)


class Change(NamedTuple):
    """What a plan does to one job.

    Attributes:
        job: the job.
        action: the first action for it; None: none.
        before: held now.
        after: held after the plan.
        started: new tasks: all of a placed or moved job, what a resized one adds.
        stopped: what is given up: all of an evicted or moved job, what a resized one drops.
        forced: why it cannot go on as it is; None when it can.
        outcome: what that means.
    """

    job: Job
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


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A plan beside its round.

    Attributes:
        round: the round.
        plan: the plan.
        facts: the round's constants.
        changes: one for every job, by name, in the round's order.
        changed: those of them that neither go on waiting nor keep what they hold. A kept job is not forced
            off and holds afterwards exactly what it held before.
        malformed: placements that make no sense.
    """

    round: Round
    plan: Plan
    facts: RoundFacts
    changes: Mapping[str, Change]
    changed: Mapping[str, Change]
    malformed: tuple[Violation, ...]

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Nodes by name."""
        return self.facts.nodes


def read_plan(plan: Plan, facts: RoundFacts) -> Reading:
    """Read ``plan`` against the round of ``facts``; never fails.

    Of several actions for one job the first counts. Without an action a waiting job waits; a running one goes
    on, unless it is forced off.
    """
    without = facts.once(unplanned)
    malformed: list[Violation] = []
    changes = dict(without)
    seen: set[str] = set()
    for action in plan.actions:
        alone = without.get(action.job)
        if alone is None or action.job in seen:
            continue
        seen.add(action.job)
        running = alone.job.running
        if (
            running is not None
            and alone.forced is None
            and action.kind is not ActionKind.EVICT
            and action.placements == running.placements
        ):
            changes[action.job] = alone._replace(action=action)
        else:
            changes[action.job] = _change(alone.job, action, alone.before, facts, malformed)
    changed = {name: change for name, change in changes.items() if change.outcome.status not in _NOTHING_DONE}
    return Reading(facts.round, plan, facts, changes, changed, tuple(malformed))


def unplanned(facts: RoundFacts) -> dict[str, Change]:
    """What every job does without an action, by name: it waits, goes on, or is forced off."""
    found: dict[str, Change] = {}
    for job in facts.round.jobs:
        if job.running is None:
            found[job.name] = Change(job, None, NOTHING, NOTHING, NOTHING, NOTHING, None, _idle(job))
        else:
            found[job.name] = _change(job, None, holding(job.running.placements), facts, [])
    return found


def _change(
    job: Job, action: Action | None, before: Holding, facts: RoundFacts, malformed: list[Violation]
) -> Change:
    forced = facts.forced.get(job.name)
    if action is None:
        after = NOTHING if forced else before
    elif action.kind is ActionKind.EVICT:
        after = NOTHING
    else:
        after = _checked(job, action, facts, malformed)
    status = _status(job, forced, before, after)
    if status is Status.KEPT:
        started = stopped = NOTHING
    elif status is Status.RESIZED:
        started, stopped = minus(after, before), minus(before, after)
    else:
        started, stopped = after, before
    outcome = _outcome(job, status, forced is not None, after, facts)
    return Change(job, action, before, after, started, stopped, forced, outcome)


def _idle(job: Job, status: Status = Status.WAITING, *, forced: bool = False) -> Outcome:
    return Outcome(job, status, forced, "", {}, {}, 0, 0.0, 0.0)


def _checked(job: Job, action: Action, facts: RoundFacts, malformed: list[Violation]) -> Holding:
    """The holding that an action asks for, without what makes no sense."""
    groups = [group.name for group in job.component.task_groups]
    if len(action.placements) == 1:
        only = action.placements[0]
        if only.node in facts.nodes and only.group in groups and only.tasks >= 1 and len(only.devices) < 2:
            return holding(action.placements)
    seen: set[tuple[str, str]] = set()
    sane: list[TaskPlacement] = []

    def report(rule: str, node: str, message: str) -> None:
        malformed.append(Violation(f"structure.{rule}", job.name, node, action.id, message))

    for placement in action.placements:
        group, node = placement.group, placement.node
        if node not in facts.nodes:
            report("unknown-node", node, f"{job.name} is placed on {node!r}, which is not in the cluster")
        elif group not in groups:
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
    return all(map(operator.lt, devices, devices[1:]))


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


def _outcome(job: Job, status: Status, forced: bool, after: Holding, facts: RoundFacts) -> Outcome:  # noqa: FBT001
    if not after:
        return _idle(job, status, forced=forced)
    tasks: dict[str, int] = {}
    types: dict[str, str] = {}
    per_task = {group.name: group.devices_per_task for group in job.component.task_groups}
    devices = 0
    mixed = False
    for (group, node), held in after.items():
        tasks[group] = tasks.get(group, 0) + held.tasks
        each = per_task[group]
        if each:
            devices += held.tasks * each
            kind = facts.nodes[node].accelerator_type
            if kind is None or types.setdefault(group, kind) != kind:
                mixed = True
    scope = NODE if len(after) == 1 else facts.scope([node for _, node in after])
    relative, throughput = (
        (0.0, 0.0) if mixed else facts.throughput.of_gang(job.component, tasks, types, scope)
    )
    return Outcome(job, status, forced, scope, tasks, types, devices, relative, throughput)
