"""Rounds and plans with one thing changed, and short ways to ask what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gangplan.domain.cluster import Node
from gangplan.domain.job import Job, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.domain.round import Round


def with_action(plan: Plan, old: Action, **fields: Any) -> Plan:
    """The plan with some fields of one action changed."""
    return Plan(tuple(replace(a, **fields) if a is old else a for a in plan.actions))


def with_placement(plan: Plan, old: Action, index: int, **fields: Any) -> Plan:
    """The plan with some fields of one placement of one action changed."""
    changed = [replace(p, **fields) if i == index else p for i, p in enumerate(old.placements)]
    return with_action(plan, old, placements=tuple(changed))


def with_job(round_: Round, name: str, **fields: Any) -> Round:
    """The round with some fields of one job changed."""
    return replace(round_, jobs=tuple(replace(j, **fields) if j.name == name else j for j in round_.jobs))


def with_group(round_: Round, job: str, group: str, **fields: Any) -> Round:
    """The round with some fields of one task group changed."""
    component = jobs_by_name(round_)[job].component
    groups = tuple(replace(g, **fields) if g.name == group else g for g in component.task_groups)
    return with_job(round_, job, component=replace(component, task_groups=groups))


def with_running(round_: Round, job: str, **fields: Any) -> Round:
    """The round with some fields of how a job runs changed."""
    running = jobs_by_name(round_)[job].running
    assert running is not None
    return with_job(round_, job, running=replace(running, **fields))


def with_node(round_: Round, name: str, **fields: Any) -> Round:
    """The round with some fields of one node changed."""
    nodes = tuple(replace(n, **fields) if n.name == name else n for n in round_.cluster.nodes)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes))


def jobs_by_name(round_: Round) -> dict[str, Job]:
    """Its jobs by name."""
    return {job.name: job for job in round_.jobs}


def nodes_by_name(round_: Round) -> dict[str, Node]:
    """Its nodes by name."""
    return {node.name: node for node in round_.cluster.nodes}


def devices_per_task(round_: Round, job: str, group: str) -> int:
    """Devices that a task of one group of a job takes."""
    return next(
        g.devices_per_task for g in jobs_by_name(round_)[job].component.task_groups if g.name == group
    )


def milli_per_device(round_: Round, job: str, placement: TaskPlacement) -> int:
    """Thousandths that a placement takes of each of its devices; 0 where the job has no such group."""
    groups = {group.name: group for group in jobs_by_name(round_)[job].component.task_groups}
    group = groups.get(placement.group)
    return 0 if group is None or not group.devices_per_task else group.device_milli // group.devices_per_task


def started_placements(plan: Plan) -> Iterator[tuple[Action, int, TaskPlacement]]:
    """Every placement of a waiting job that starts."""
    for action in plan.actions:
        if action.kind is ActionKind.PLACE:
            for index, placement in enumerate(action.placements):
                yield action, index, placement


def unforced(plan: Plan, *kinds: ActionKind) -> Iterator[Action]:
    """Stops, moves and new sizes that nobody forced, of some kinds only where any are named."""
    wanted = kinds or (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
    return (action for action in plan.actions if action.forced is None and action.kind in wanted)
