"""Plans that put tasks on nodes that may not take them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.cluster import DeviceReporting, NodeHealth, Taint
from gangplan.domain.job import DeviceShare, ThroughputProfile
from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.testing.edits import devices_per_task, nodes_by_name, started_placements, with_group, with_node
from gangplan.testing.mutations.registry import breaks


@breaks("eligibility.node-unhealthy")
def _sick_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for _, _, placement in started_placements(plan):
        yield with_node(round_, placement.node, health=NodeHealth.UNHEALTHY), plan


@breaks("eligibility.device-reporting")
def _part_of_what(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    nodes = nodes_by_name(round_)
    for action, _, placement in started_placements(plan):
        counted = nodes[placement.node].device_reporting is DeviceReporting.COUNT_ONLY
        if counted and devices_per_task(round_, action.job, placement.group):
            yield with_group(round_, action.job, placement.group, device_share=DeviceShare(500)), plan


@breaks("eligibility.node-cordoned")
def _cordoned_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for _, _, placement in started_placements(plan):
        yield with_node(round_, placement.node, cordoned=True), plan


@breaks("eligibility.node-drained")
def _drained_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for _, _, placement in started_placements(plan):
        yield with_node(round_, placement.node, drain_time=round_.now), plan


@breaks("eligibility.node-selector")
def _choosy_group(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in started_placements(plan):
        yield with_group(round_, action.job, placement.group, node_selector={"no such label": "x"}), plan


@breaks("eligibility.taint")
def _tainted_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in started_placements(plan):
        intolerant = with_group(round_, action.job, placement.group, tolerations=())
        yield with_node(intolerant, placement.node, taints=(Taint("no such taint"),)), plan


@breaks("eligibility.accelerator-type")
def _other_type(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in started_placements(plan):
        if devices_per_task(round_, action.job, placement.group):
            yield with_group(round_, action.job, placement.group, accelerator_types=("no such type",)), plan


@breaks("eligibility.no-throughput")
def _no_cell(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    empty = replace(round_, profiles=(*round_.profiles, ThroughputProfile("no cells", {})))
    for action, _, placement in started_placements(plan):
        if devices_per_task(round_, action.job, placement.group):
            yield with_group(empty, action.job, placement.group, profile="no cells"), plan
