"""Plans that use what is not there: devices, parts of them, CPU, memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.cluster import DeviceReporting, Resources
from gangplan.domain.job import WHOLE_DEVICE, DeviceShare
from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.testing.edits import (
    devices_per_task,
    milli_per_device,
    nodes_by_name,
    started_placements,
    with_group,
    with_node,
    with_placement,
)
from gangplan.testing.mutations.registry import breaks


@breaks("capacity.device-indices")
def _one_device_less(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in started_placements(plan):
        if placement.devices:
            yield round_, with_placement(plan, action, index, devices=placement.devices[1:])
        else:
            yield round_, with_placement(plan, action, index, devices=(0,))


@breaks("capacity.device-unusable")
def _no_such_device(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    nodes = nodes_by_name(round_)
    for action, index, placement in started_placements(plan):
        node = nodes[placement.node]
        if placement.devices:
            for device in {*range(node.device_count + 1), -1} - node.usable_devices:
                devices = tuple(sorted((*placement.devices[1:], device)))
                yield round_, with_placement(plan, action, index, devices=devices)


@breaks("capacity.device-shared")
def _same_device(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in started_placements(plan):
        for other in plan.actions:
            for theirs in other.placements:
                pinned = placement.devices and theirs.devices
                both = milli_per_device(round_, action.job, placement) + milli_per_device(
                    round_, other.job, theirs
                )
                if other is not action and theirs.node == placement.node and pinned and both > WHOLE_DEVICE:
                    devices = tuple(sorted({*placement.devices[1:], theirs.devices[0]}))
                    yield round_, with_placement(plan, action, index, devices=devices)


@breaks("capacity.device-share")
def _other_part(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in started_placements(plan):
        if placement.devices:
            parts = (DeviceShare(999),) * len(placement.devices)
            yield round_, with_placement(plan, action, index, shares=parts)
        if placement.shares:
            yield round_, with_placement(plan, action, index, shares=())


@breaks("capacity.device-count")
def _taken_by_others(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    nodes = nodes_by_name(round_)
    for action, _, placement in started_placements(plan):
        node = nodes[placement.node]
        counted = node.device_reporting is DeviceReporting.COUNT_ONLY
        if counted and devices_per_task(round_, action.job, placement.group):
            others = replace(node.used_by_others, device_count=node.device_count)
            yield with_node(round_, node.name, used_by_others=others), plan


@breaks("capacity.cpu")
def _much_cpu(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in started_placements(plan):
        yield with_group(round_, action.job, placement.group, resources_per_task=Resources(10**12, 0)), plan


@breaks("capacity.memory")
def _much_memory(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in started_placements(plan):
        yield with_group(round_, action.job, placement.group, resources_per_task=Resources(0, 10**18)), plan
