"""Gangs spread wider than they may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.job import TaskSplit
from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE
from gangplan.testing.edits import (
    devices_per_task,
    jobs_by_name,
    nodes_by_name,
    started_placements,
    with_group,
    with_job,
    with_node,
)
from gangplan.testing.mutations.registry import breaks


@breaks("topology.required-level")
def _too_wide(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, _ in started_placements(plan):
        if index == 0 and action.scope != NODE:
            component = replace(jobs_by_name(round_)[action.job].component, required_level=NODE)
            yield with_job(round_, action.job, component=component), plan


@breaks("topology.whole-nodes")
def _part_of_a_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in started_placements(plan):
        spread = sum(other.group == placement.group for other in action.placements) > 1
        if spread and devices_per_task(round_, action.job, placement.group):
            whole = with_group(round_, action.job, placement.group, split=TaskSplit.WHOLE_NODES)
            larger = nodes_by_name(round_)[placement.node].device_count + 1
            yield with_node(whole, placement.node, device_count=larger), plan
