"""Headroom: some devices are left for interactive jobs to start on.

For every type with a headroom h in the policy, the jobs that are not interactive hold, after the plan, at
most

    C - h,  or what they hold now where that is more,

where C is what may be filled of the type: usable devices of nodes where tasks may start, and what those jobs
hold on other nodes, rounded up. "Now" is what running jobs that are not forced off hold. So nobody is ever
stopped for it, and what an interactive job takes of it is free again when that ends. The programme has it
among the limits of queues (``quota.rows``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gangplan.domain.cluster import NodeHealth
from gangplan.model.verifier.reading import unplanned
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gangplan.domain.cluster import Node
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.holding import Holding
    from gangplan.model.verifier.reading import Change, Reading

NAME = "headroom"
RULES = ("headroom.taken",)


def violations(reading: Reading) -> list[Violation]:
    """Types of which jobs that are not interactive would hold more than is left to them."""
    facts = reading.facts
    if not any(facts.round.policy.headroom.values()):
        return []
    now, most = facts.once(_now), facts.once(left_to_others)
    after = dict(now)
    for change in reading.every_change.values():
        if change.job.interactive is not None:
            continue
        if change.before and change.forced is None:
            _count(after, change, change.before, facts, -1)
        _count(after, change, change.after, facts, 1)
    found = []
    for kind, limit in sorted(most.items()):
        if after.get(kind, 0) > max(limit, now.get(kind, 0)):
            message = (
                f"jobs that are not interactive would hold {after[kind] / 1000:g} devices of {kind}; "
                f"{limit / 1000:g} are theirs ({now.get(kind, 0) / 1000:g} now)"
            )
            found.append(Violation("headroom.taken", message=message))
    return found


def _now(facts: RoundFacts) -> dict[str, int]:
    """Thousandths of devices by type that others than interactive jobs hold, and go on with."""
    held: dict[str, int] = {}
    for change in _running(facts):
        if change.job.interactive is None and change.before and change.forced is None:
            _count(held, change, change.before, facts, 1)
    return held


def _running(facts: RoundFacts) -> Iterator[Change]:
    """What running jobs do without an action."""
    every = facts.once(unplanned)
    return (every[job.name] for job in facts.round.jobs if job.running is not None)


def left_to_others(facts: RoundFacts) -> dict[str, int]:
    """Thousandths of devices that are theirs, by type with a headroom."""
    policy = facts.round.policy
    found: dict[str, int] = {}
    for kind, headroom in policy.headroom.items():
        if not headroom:
            continue
        mine = [node for node in facts.round.cluster.nodes if node.accelerator_type == kind]
        fillable = sum(node.usable_device_count for node in mine if _takes_tasks(node, facts.round.now))
        shut = {node.name for node in mine if not _takes_tasks(node, facts.round.now)}
        held = sum(
            part.tasks * change.groups[group].device_milli
            for change in _running(facts)
            if change.job.interactive is None and change.before and change.forced is None
            for (group, node), part in change.before.items()
            if node in shut and group in change.groups
        )
        whole = (held + 999) // 1000
        found[kind] = max(0, fillable + whole - headroom) * 1000
    return found


def _takes_tasks(node: Node, now: float) -> bool:
    if node.health is not NodeHealth.HEALTHY or node.cordoned:
        return False
    return node.drain_time is None or now < node.drain_time


def _count(held: dict[str, int], change: Change, holding: Holding, facts: RoundFacts, sign: int) -> None:
    """Add a holding to ``held``, by the type of its nodes."""
    for (group, name), part in holding.items():
        node = facts.nodes.get(name)
        if group in change.groups and node is not None and node.accelerator_type is not None:
            milli = sign * part.tasks * change.groups[group].device_milli
            held[node.accelerator_type] = held.get(node.accelerator_type, 0) + milli
