"""What a plan leaves free in whole blocks, counted node by node: the verifier's own arithmetic."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gangplan.domain.cluster import NodeHealth
from gangplan.model.verifier.reading import going_on, unplanned
from gangplan.model.verifier.starts import present

if TYPE_CHECKING:
    from gangplan.domain.cluster import Node
    from gangplan.domain.outlook import FreeBlocks
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.reading import Change, Reading
    from gangplan.model.verifier.starts import Singles

_Shape = tuple[str, int]
"""Accelerator type and built-in devices of a node."""


def worth_of_free(reading: Reading) -> float:
    """The most that the free nodes are worth in blocks, no node in two of them.

    Of one shape of nodes there are blocks of one node and blocks of one other kind: for every number of the
    latter the rest goes to the former.
    """
    facts = reading.facts
    outlook = facts.round.outlook
    if outlook is None or not outlook.free_blocks:
        return 0.0
    kinds: dict[_Shape, list[FreeBlocks]] = {}
    for entry in outlook.free_blocks:
        kinds.setdefault((entry.accelerator_type, entry.node_devices), []).append(entry)
    free = _free(reading)
    return sum(_best(facts, mine, free.get(shape, [])) for shape, mine in sorted(kinds.items()))


def _best(facts: RoundFacts, kinds: list[FreeBlocks], free: list[str]) -> float:
    single = next((entry for entry in kinds if entry.nodes == 1), None)
    several = next((entry for entry in kinds if entry.nodes > 1), None)
    most = 0
    if several is not None:
        counts = _by_domain(facts, several.level, free)
        most = min(several.number, sum(number // several.nodes for number in counts))
    best = 0.0
    for blocks in range(most + 1):
        value = 0.0
        rest = len(free)
        if several is not None:
            value += several.worth * blocks
            rest -= several.nodes * blocks
        if single is not None:
            value += single.worth * min(single.number, rest)
        best = max(best, value)
    return best


def _by_domain(facts: RoundFacts, level: str | None, free: list[str]) -> list[int]:
    """Free nodes in every domain of a level; all together without a level."""
    levels = facts.round.cluster.topology.levels
    if level is None:
        return [len(free)]
    if level not in levels:
        return []
    at = levels.index(level)
    domains = [facts.domains[name][at] for name in free]
    return list(Counter(domain for domain in domains if domain is not None).values())


def _free(reading: Reading) -> dict[_Shape, list[str]]:
    """Names of the nodes that the plan leaves free, by shape."""
    facts = reading.facts
    without = facts.once(unplanned)
    held = Counter(facts.once(_holders))
    for name, change in reading.changed.items():
        held.subtract(_nodes(without[name]))
        held.update(_nodes(change))
    if reading.starts is not None:  # each takes devices of its one node
        held.update(_places(reading.starts.there))
    found: dict[_Shape, list[str]] = {}
    for node, shape in facts.once(_able).items():
        if not held[node]:
            found.setdefault(shape, []).append(node)
    return found


def _able(facts: RoundFacts) -> dict[str, _Shape]:
    """Shape of every node that could count, were nobody there."""
    return {
        node.name: (node.accelerator_type, node.device_count)
        for node in facts.round.cluster.nodes
        if node.accelerator_type is not None and node.device_count and _counts(node, facts.round.now)
    }


def _counts(node: Node, now: float) -> bool:
    """Whether plain tasks may start on a node, all of whose devices are usable."""
    if node.health is not NodeHealth.HEALTHY or node.cordoned or node.taints:
        return False
    if node.drain_time is not None and node.drain_time <= now:
        return False
    return node.usable_device_count == node.device_count


def _holders(facts: RoundFacts) -> Counter[str]:
    """How many jobs hold devices of each node without a plan."""
    found = Counter(node for change in facts.once(going_on).values() for node in _nodes(change))
    there = facts.once(present).there
    if there is not None:
        found.update(_places(there))
    return found


def _places(there: Singles) -> list[str]:
    """The node of each of the jobs that are on one node each, with devices."""
    return [there.columns.node_names[node] for node in there.node.tolist()]


def _nodes(change: Change) -> set[str]:
    """Nodes of which a job holds devices afterwards."""
    return {
        node
        for (group, node), part in change.after.items()
        if part.tasks and group in change.groups and change.groups[group].devices_per_task
    }
