"""Who waits for whom.

A start waits for the stops of those who hold its devices now, and, where a node could not hold everybody
at once, for every stop on that node. Stops wait for nothing, so there is never a cycle (decision 18).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from gangplan.domain.job import TaskPlacement
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.sites import Vector, pins_devices, task_vector
from gangplan.model.packing.placements import Places


@dataclass(frozen=True, slots=True)
class Side:
    """What one job gives up or takes on one node."""

    job: int
    devices: frozenset[int]
    amounts: Vector


def who_waits(instance: Instance, changing: Sequence[int], after: Places) -> dict[int, set[int]]:
    """For every job that starts: the jobs whose stop it waits for.

    Args:
        instance: the round as arrays.
        changing: all jobs that start, stop, move or change; one that is resized stops and starts.
        after: where they are then.
    """
    stops: dict[int, list[Side]] = defaultdict(list)
    starts: dict[int, list[Side]] = defaultdict(list)
    for j in changing:
        running = instance.jobs[j].running
        if running is not None:
            _add_sides(instance, j, running.placements, instance.nodes.index, stops)
    if not stops:
        return {}
    crowded = {instance.nodes.nodes[n].name for n in stops}
    for j in changing:
        _add_sides(instance, j, after.get(j, ()), crowded, starts)
    return _waits(instance, stops, starts)


def _add_sides(
    instance: Instance,
    j: int,
    placements: Sequence[TaskPlacement],
    nodes: Container[str],
    sides: dict[int, list[Side]],
) -> None:
    """Add what job ``j`` has at ``placements`` on each of ``nodes``."""
    by_node: dict[int, Side] = {}
    for placement in placements:
        if placement.node not in nodes:
            continue
        group = next((g for g in instance.jobs[j].component.task_groups if g.name == placement.group), None)
        if group is None:
            continue
        n = instance.nodes.index[placement.node]
        had = by_node.get(n, Side(j, frozenset(), (0, 0, 0)))
        devices, cpu, memory = task_vector(group, instance.nodes.parts)
        by_node[n] = Side(
            j,
            had.devices.union(placement.devices),
            (
                had.amounts[0] + devices * placement.tasks,
                had.amounts[1] + cpu * placement.tasks,
                had.amounts[2] + memory * placement.tasks,
            ),
        )
    for n, side in by_node.items():
        sides[n].append(side)


def _waits(
    instance: Instance, stops: Mapping[int, list[Side]], starts: Mapping[int, list[Side]]
) -> dict[int, set[int]]:
    waits: dict[int, set[int]] = defaultdict(set)
    for n, coming in starts.items():
        going = stops[n]
        crowded = _crowded(instance, n, going, coming)
        for start in coming:
            for stop in going:
                if stop.job != start.job and (crowded or start.devices & stop.devices):
                    waits[start.job].add(stop.job)
    return waits


def _crowded(instance: Instance, n: int, going: Sequence[Side], coming: Sequence[Side]) -> bool:
    """Whether node ``n`` cannot hold those who stay, those who stop and those who start, all at once."""
    node = instance.nodes.nodes[n]
    usable = node.usable_resources
    devices = 2**62 if pins_devices(node) else node.usable_device_count * instance.nodes.parts
    for r, limit in enumerate((devices, usable.cpu_milli, usable.memory_bytes)):
        there = int(instance.nodes.held[n, r])
        there += sum(side.amounts[r] for side in going if side.job not in instance.placements)
        if there + sum(side.amounts[r] for side in coming) > limit:
            return True
    return False
