"""A plan read against its round: what each job holds before and after, whatever the plan says.

Reading never fails. What makes no sense is left out of the holdings and kept in :attr:`Reading.malformed`,
from where the structure family reports it. What a plan *does* to a job is derived from what the job holds
before and after, never from the kind that the action claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from gangplan.domain.cluster import Node
from gangplan.domain.job import Job, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, ForcedReason, Plan
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE
from gangplan.model.verifier.facts import RoundFacts
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.violation import Violation


class Held(NamedTuple):
    """Tasks of one group on one node, and the device indices they hold (none where they are not pinned)."""

    tasks: int
    devices: frozenset[int]


Holding = Mapping[tuple[str, str], Held]
"""What a job holds, by (group, node)."""

NOTHING: Holding = MappingProxyType({})
_NO_DEVICES: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Change:
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
        return self.forced is None and self.status in _DISRUPTIONS

    @property
    def gains(self) -> bool:
        """Whether the job is placed, moved, or resized to more tasks of some group."""
        if self.status is Status.RESIZED:
            before = _counts(self.before)
            return any(count > before.get(group, 0) for group, count in self.outcome.counts.items())
        return self.status in (Status.STARTED, Status.MOVED)


_DISRUPTIONS = (Status.EVICTED, Status.MOVED, Status.RESIZED)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A plan beside its round.

    Attributes:
        round: the round.
        plan: the plan.
        facts: the round's constants.
        changes: one for every job, by name, in the round's order.
        malformed: placements that make no sense.
    """

    round: Round
    plan: Plan
    facts: RoundFacts
    changes: Mapping[str, Change]
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
    actions: dict[str, Action] = {}
    for one in plan.actions:
        actions.setdefault(one.job, one)
    malformed: list[Violation] = []
    changes: dict[str, Change] = {}
    for job in facts.round.jobs:
        action = actions.get(job.name)
        if action is not None or job.running is not None:
            changes[job.name] = _change(job, action, facts, malformed)
        else:
            changes[job.name] = Change(job, None, NOTHING, NOTHING, NOTHING, NOTHING, None, _idle(job))
    return Reading(facts.round, plan, facts, changes, tuple(malformed))


def _change(job: Job, action: Action | None, facts: RoundFacts, malformed: list[Violation]) -> Change:
    forced = facts.forced.get(job.name)
    before = NOTHING
    if job.running is not None:
        before = _holding(job.running.placements)
    if action is None:
        after = NOTHING if forced else before
    elif action.kind is ActionKind.EVICT:
        after = NOTHING
    elif job.running is not None and action.placements == job.running.placements:
        after = before if not forced else _checked(job, action, facts, malformed)
    else:
        after = _checked(job, action, facts, malformed)
    status = _status(job, forced, before, after)
    if status is Status.KEPT:
        started = stopped = NOTHING
    elif status is Status.RESIZED:
        started, stopped = _minus(after, before), _minus(before, after)
    else:
        started, stopped = after, before
    outcome = _outcome(job, status, forced is not None, after, facts)
    return Change(job, action, before, after, started, stopped, forced, outcome)


def _idle(job: Job, status: Status = Status.WAITING, *, forced: bool = False) -> Outcome:
    return Outcome(job, status, forced, "", {}, {}, 0, 0.0, 0.0)


def _holding(placements: tuple[TaskPlacement, ...]) -> Holding:
    if len(placements) == 1:
        only = placements[0]
        devices = frozenset(only.devices) if only.devices else _NO_DEVICES
        return {(only.group, only.node): Held(only.tasks, devices)}
    holding: dict[tuple[str, str], Held] = {}
    for placement in placements:
        key = (placement.group, placement.node)
        known = holding.get(key, Held(0, _NO_DEVICES))
        holding[key] = Held(known.tasks + placement.tasks, known.devices | frozenset(placement.devices))
    return holding


def _checked(job: Job, action: Action, facts: RoundFacts, malformed: list[Violation]) -> Holding:
    """The holding that an action asks for, without what makes no sense."""
    groups = {group.name for group in job.component.task_groups}
    if len(action.placements) == 1:
        only = action.placements[0]
        if only.node in facts.nodes and only.group in groups and only.tasks >= 1 and len(only.devices) < 2:
            return _holding(action.placements)
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
        if any(a >= b for a, b in zip(placement.devices, placement.devices[1:], strict=False)):
            report(
                "device-order", node, f"{job.name} lists devices {placement.devices} on {node}, not ascending"
            )
    return _holding(tuple(sane))


def _minus(holding: Holding, other: Holding) -> Holding:
    """What ``holding`` has and ``other`` has not."""
    left: dict[tuple[str, str], Held] = {}
    for key, held in holding.items():
        known = other.get(key)
        if known is None:
            left[key] = held
        elif held.tasks > known.tasks or held.devices - known.devices:
            left[key] = Held(max(0, held.tasks - known.tasks), held.devices - known.devices)
    return left


def _counts(holding: Holding) -> dict[str, int]:
    counts: dict[str, int] = {}
    for (group, _), held in holding.items():
        counts[group] = counts.get(group, 0) + held.tasks
    return counts


def _within(inner: Holding, outer: Holding, group: str) -> bool:
    """Whether all that ``inner`` holds for ``group``, ``outer`` holds too."""
    for key, held in inner.items():
        if key[0] == group:
            known = outer.get(key)
            if known is None or held.tasks > known.tasks or not held.devices <= known.devices:
                return False
    return True


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
        _within(after, before, group.name) or _within(before, after, group.name)
        for group in job.component.task_groups
    )
    if nested and _counts(after) != _counts(before):
        return Status.RESIZED
    return Status.MOVED


def _outcome(job: Job, status: Status, forced: bool, after: Holding, facts: RoundFacts) -> Outcome:  # noqa: FBT001
    if not after:
        return _idle(job, status, forced=forced)
    counts: dict[str, int] = {}
    types: dict[str, str] = {}
    per_task = {group.name: group.devices_per_task for group in job.component.task_groups}
    devices = 0
    mixed = False
    for (group, node), held in after.items():
        counts[group] = counts.get(group, 0) + held.tasks
        each = per_task[group]
        if each:
            devices += held.tasks * each
            kind = facts.nodes[node].accelerator_type
            if kind is None or types.setdefault(group, kind) != kind:
                mixed = True
    scope = NODE if len(after) == 1 else facts.scope(node for _, node in after)
    relative, throughput = (
        (0.0, 0.0) if mixed else facts.throughput.of_gang(job.component, counts, types, scope)
    )
    return Outcome(job, status, forced, scope, counts, types, devices, relative, throughput)
