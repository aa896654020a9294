"""Plans whose actions come too soon."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.cluster import DeviceReporting, Resources
from gangplan.domain.job import TaskPlacement
from gangplan.domain.plan import ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.testing.edits import (
    jobs_by_name,
    nodes_by_name,
    started_placements,
    unforced,
    with_action,
    with_job,
    with_node,
)
from gangplan.testing.mutations.registry import breaks


@breaks("order.too-soon")
def _without_notice(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    stops = {action.id: action for action in unforced(plan)}
    for action in plan.actions:
        for key in {*action.depends_on, action.id} & stops.keys():
            if action.kind is not ActionKind.EVICT:
                slow = with_job(round_, stops[key].job, checkpoint_seconds=60.0)
                yield slow, with_action(plan, action, not_before=None)
                yield slow, with_action(plan, action, not_before=round_.now + 59.0)


@breaks("order.unknown-dependency")
def _waits_for_nothing(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, with_action(plan, action, depends_on=(*action.depends_on, "no such action"))


@breaks("order.not-a-stop")
def _waits_for_a_start(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for other in plan.actions:
            if other is action or other.kind in (ActionKind.PLACE, ActionKind.KEEP):
                yield round_, with_action(plan, action, depends_on=(*action.depends_on, other.id))


@breaks("order.device")
def _takes_it_too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    left = {
        (placement.node, device)
        for action in plan.actions
        if action.kind in (ActionKind.EVICT, ActionKind.MIGRATE)
        for placement in getattr(jobs_by_name(round_)[action.job].running, "placements", ())
        for device in placement.devices
    }
    for action, _, placement in started_placements(plan):
        if any((placement.node, device) in left for device in placement.devices):
            yield round_, with_action(plan, action, depends_on=())


def _hasty(plan: Plan) -> Plan:
    """The plan in which nothing waits for anything."""
    return Plan(tuple(replace(action, depends_on=()) for action in plan.actions))


def _tight(round_: Round, plan: Plan, dimension: str) -> Iterator[tuple[str, int]]:
    """Nodes where something stops and something starts, and what they hold of ``dimension`` in the end."""
    jobs, nodes = jobs_by_name(round_), nodes_by_name(round_)

    def use(job: str, placement: TaskPlacement) -> int:
        group = next((g for g in jobs[job].component.task_groups if g.name == placement.group), None)
        if group is None:
            return 0
        each = {
            "cpu": group.resources_per_task.cpu_milli,
            "memory": group.resources_per_task.memory_bytes,
            "device-count": group.devices_per_task,
        }
        return each[dimension] * placement.tasks

    final = dict.fromkeys(nodes, 0)
    starts = {
        placement.node for action, _, placement in started_placements(plan) if use(action.job, placement)
    }
    stops: set[str] = set()
    for action in plan.actions:
        for placement in action.placements:
            final[placement.node] += use(action.job, placement)
        running = jobs[action.job].running
        if action.kind is ActionKind.EVICT and running is not None:
            stops |= {placement.node for placement in running.placements if use(action.job, placement)}
    yield from ((name, final[name]) for name in sorted(starts & stops & set(nodes)))


@breaks("order.cpu")
def _cpu_too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for name, final in _tight(round_, plan, "cpu"):
        node = nodes_by_name(round_)[name]
        least = Resources(final + node.used_by_others.resources.cpu_milli, node.resources.memory_bytes)
        yield with_node(round_, name, resources=least), _hasty(plan)


@breaks("order.memory")
def _memory_too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for name, final in _tight(round_, plan, "memory"):
        node = nodes_by_name(round_)[name]
        least = Resources(node.resources.cpu_milli, final + node.used_by_others.resources.memory_bytes)
        yield with_node(round_, name, resources=least), _hasty(plan)


@breaks("order.device-count")
def _count_too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for name, final in _tight(round_, plan, "device-count"):
        node = nodes_by_name(round_)[name]
        if node.device_reporting is DeviceReporting.COUNT_ONLY:
            broken = node.device_count - node.used_by_others.device_count - final
            yield with_node(round_, name, unhealthy_device_count=broken), _hasty(plan)
