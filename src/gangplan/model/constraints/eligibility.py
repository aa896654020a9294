"""Eligibility: new tasks only where they may be (property P12).

A node must be healthy, not cordoned and not past its drain time, carry the labels that the group selects, and
have no taint that the group does not tolerate; a group with devices must be allowed the node's type, and the
gang must have a throughput there (decision 42). What runs already where it now would not be allowed stays
(property P25). A resized job stops and starts, so all its tasks count as new.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gangplan.domain.cluster import DeviceReporting, Node, NodeHealth
from gangplan.domain.job import TaskGroup
from gangplan.model.verifier.outcome import Status
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.verifier.columns import Bools
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.reading import Change, Reading
    from gangplan.model.verifier.starts import Starts

NAME = "eligibility"
RULES = (
    "eligibility.node-unhealthy",
    "eligibility.node-cordoned",
    "eligibility.node-drained",
    "eligibility.node-selector",
    "eligibility.taint",
    "eligibility.accelerator-type",
    "eligibility.device-reporting",
    "eligibility.no-throughput",
)


def violations(reading: Reading) -> list[Violation]:
    """New tasks on nodes that do not take them, and gangs that have no throughput where they go."""
    return reading.judged(_judge, _sound)


def _sound(starts: Starts, facts: RoundFacts) -> Bools:
    """Starts on open nodes without taints, of a type that is allowed, at a pace, that select no labels."""
    del facts
    there, columns = starts.there, starts.there.columns
    typed = columns.allowed_types[columns.types[there.job], columns.type_of[there.node]]
    sound: Bools = typed & columns.open[there.node] & ~columns.selecting[there.job]
    return sound & (there.relative > 0.0)


def _judge(change: Change, facts: RoundFacts) -> list[Violation]:
    found: list[Violation] = []
    if not change.after:
        return found
    name, now, catalogue = change.job.name, facts.round.now, facts.once(_catalogue)
    action = change.action.id if change.action else ""
    for group, node in change.after if change.outcome.status is Status.RESIZED else change.started:
        for rule, why in _objections(change.groups[group], facts.nodes[node], catalogue, now):
            message = f"{name} puts new tasks of {group} on {node}, {why}"
            found.append(Violation(f"eligibility.{rule}", name, node, action, message))
    if change.outcome.relative_throughput <= 0:
        message = f"{name} has no throughput on {change.outcome.types} at scope {change.outcome.scope}"
        found.append(Violation("eligibility.no-throughput", name, "", action, message))
    return found


def _catalogue(facts: RoundFacts) -> set[str]:
    """Accelerator types that are catalogued."""
    return {entry.name for entry in facts.round.accelerators}


def _objections(group: TaskGroup, node: Node, catalogue: set[str], now: float) -> Iterator[tuple[str, str]]:
    if node.health is not NodeHealth.HEALTHY:
        yield "node-unhealthy", "which is unhealthy"
    if node.cordoned:
        yield "node-cordoned", "which is cordoned"
    if node.drain_time is not None and node.drain_time <= now:
        yield "node-drained", "which is drained"
    for label, value in group.node_selector.items():
        if node.labels.get(label) != value:
            yield "node-selector", f"which lacks {label}={value}"
    for taint in node.taints:
        if not any(toleration.tolerates(taint) for toleration in group.tolerations):
            yield "taint", f"whose taint {taint.key}={taint.value} it does not tolerate"
    if group.devices_per_task:
        allowed = group.accelerator_types or catalogue
        if node.accelerator_type not in allowed or node.accelerator_type not in catalogue:
            yield "accelerator-type", f"whose devices are {node.accelerator_type}"
        if group.device_share is not None and node.device_reporting is not DeviceReporting.EXACT:
            yield "device-reporting", "which does not say which device is which, and it takes a part of one"
