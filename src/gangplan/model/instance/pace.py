"""How slowly a job may run, and so how long at most, wherever it is placed."""

from __future__ import annotations

from gangplan.domain.job import Component, Job
from gangplan.domain.round import Round
from gangplan.model.instance.left import counted_left
from gangplan.model.instance.throughput import Speeds


def slowest(component: Component, speeds: Speeds) -> float:
    """Work units per second of a component however it is placed: no way to run it is slower.

    The least of all allowed counts, types and scopes, group by group; ways without throughput are none.
    """
    groups = component.task_groups
    with_devices = [group for group in groups if group.devices_per_task]
    if not with_devices:
        return min([min(g.allowed_counts) / g.count for g in groups]) * groups[0].count
    least = float("inf")
    for group in with_devices:
        reference = speeds.reference(group)
        if reference <= 0.0:
            return 0.0
        ways = [
            speeds.group(group, t, count, scope)
            for t in speeds.allowed_types(group)
            for count in group.allowed_counts
            for scope in range(len(speeds.scopes))
        ]
        least = min([least, *(x / reference for x in ways if x > 0.0)])
    return 0.0 if least == float("inf") else least * speeds.reference(with_devices[0])


def run_seconds(job: Job, round_: Round, speeds: Speeds) -> float:
    """For how long a job that starts runs at most, as far as the policy's quantile is sure; maybe ``inf``."""
    left = counted_left(job, round_.policy.promise_quantile)
    if left is None:
        return float("inf")
    pace = slowest(job.component, speeds)
    return job.restart_seconds + left / pace if pace > 0.0 else float("inf")
