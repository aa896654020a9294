"""Plans beyond a queue's limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.plan import Plan
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.testing.edits import devices_per_task, nodes_by_name, started_placements, with_job
from gangplan.testing.mutations.registry import breaks


@breaks("quota.device-limit")
def _no_quota(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in started_placements(plan):
        if devices_per_task(round_, action.job, placement.group):
            queues = (Queue("closed", device_limit=0), Queue("inner", "closed"), *round_.queues)
            yield with_job(replace(round_, queues=queues), action.job, queue="inner"), plan


@breaks("quota.device-limit-by-type")
def _no_quota_of_type(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in started_placements(plan):
        kind = nodes_by_name(round_)[placement.node].accelerator_type
        if kind is not None and devices_per_task(round_, action.job, placement.group):
            queues = (Queue("closed", device_limit_by_type={kind: 0}), *round_.queues)
            yield with_job(replace(round_, queues=queues), action.job, queue="closed"), plan
