"""Plans with half a gang, or a mixed one."""

from __future__ import annotations

from collections.abc import Iterator

from gangplan.domain.job import TaskPlacement
from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.testing.edits import (
    devices_per_task,
    jobs_by_name,
    nodes_by_name,
    started_placements,
    with_action,
    with_placement,
)
from gangplan.testing.mutations.registry import breaks


@breaks("gang.incomplete")
def _half_a_gang(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for name in {placement.group for placement in action.placements}:
            rest = tuple(placement for placement in action.placements if placement.group != name)
            if rest:
                yield round_, with_action(plan, action, placements=rest)


@breaks("gang.count")
def _odd_count(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in started_placements(plan):
        group = next(
            g for g in jobs_by_name(round_)[action.job].component.task_groups if g.name == placement.group
        )
        yield round_, with_placement(plan, action, index, tasks=group.allowed_counts[-1] + 1)


@breaks("gang.mixed-types")
def _mixed(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    nodes = nodes_by_name(round_)
    for action, _, placement in started_placements(plan):
        for node in nodes.values():
            other = node.accelerator_type != nodes[placement.node].accelerator_type
            if other and devices_per_task(round_, action.job, placement.group):
                astray = TaskPlacement(placement.group, node.name, 1)
                yield round_, with_action(plan, action, placements=(*action.placements, astray))
