"""Plans that use what is left free for interactive jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.plan import ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.testing.edits import jobs_by_name
from gangplan.testing.mutations.registry import breaks


@breaks("headroom.taken")
def _into_the_headroom(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    """All of a type is left for interactive jobs, and one that is not starts there beside all that runs."""
    kinds = {node.name: node.accelerator_type for node in round_.cluster.nodes}
    if any(action.kind not in (ActionKind.KEEP, ActionKind.PLACE) for action in plan.actions):
        return
    for action in plan.actions:
        job = jobs_by_name(round_)[action.job]
        counted = {group.name for group in job.component.task_groups if group.devices_per_task}
        for kind in {kinds.get(place.node) for place in action.placements if place.group in counted}:
            if action.kind is ActionKind.PLACE and job.interactive is None:
                yield replace(round_, policy=replace(round_.policy, headroom={str(kind): 2**20})), plan
