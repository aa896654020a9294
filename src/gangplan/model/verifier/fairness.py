"""Finish-time fairness of the unserved job, by the verifier's own arithmetic.

rho is that of Mahajan et al., *Themis: Fair and Efficient GPU Cluster Scheduling*, NSDI 2020, section 3.1, in
the form of decision 11.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from gangplan.domain.job import Component, Job, TaskGroup
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.model.verifier.throughput import Throughput

RHO_MIN, RHO_MAX = 0.25, 8.0
"""rho is clipped to this range before any power (decision 11)."""


def isolated_throughput(component: Component, share: Mapping[str, float], throughput: Throughput) -> float:
    """x_iso: the best throughput that a fair share gives, work units/s (decision 11).

    The maximum over all options (a type and an allowed count per device group, packed) of throughput
    times ``min(1, share / size)``, where a gang larger than its share runs time-shared; with several types
    the scarcest one decides. A CPU-only component: its throughput at the requested counts.

    Args:
        component: what runs.
        share: fair share by type, devices: C_t * w / N.
        throughput: lookup.
    """
    groups = [group for group in component.task_groups if group.devices_per_task]
    if not groups:
        counts = {group.name: group.count for group in component.task_groups}
        return throughput.of_gang(component, counts, {}, CLUSTER)[1]
    if len(groups) == 1:
        return _isolated_alone(groups[0], share, throughput)
    choices = [
        [
            (group.name, name, count, count * group.devices_per_task)
            for name in throughput.types(group)
            for count in group.allowed_counts
        ]
        for group in groups
    ]
    best = 0.0
    for option in itertools.product(*choices):
        counts = {group: count for group, _, count, _ in option}
        types: dict[str, str | None] = {group: name for group, name, _, _ in option}
        devices: dict[str, int] = {}
        for _, name, _, needed in option:
            devices[name] = devices.get(name, 0) + needed
        served = min(min(1.0, share.get(name, 0.0) / needed) for name, needed in devices.items())
        if served > 0:
            best = max(best, served * throughput.of_gang(component, counts, types, NODE)[1])
    return best


def _isolated_alone(group: TaskGroup, share: Mapping[str, float], throughput: Throughput) -> float:
    """x_iso where one group has all the devices: nothing is slower than it."""
    packed = throughput.packed(group)
    reference = packed.reference
    if reference <= 0:
        return 0.0
    best = 0.0
    for (name, count), x in packed.x.items():
        if count in group.allowed_counts:
            mine, needed = share.get(name, 0.0), count * group.devices_per_task
            served = mine / needed if mine < needed else 1.0
            best = max(best, served * (x / reference * reference))
    return best


def finish_time_fairness(job: Job, isolated: float, now: float, round_seconds: float) -> float:
    """Rho of the job if this round does not serve it, clipped (Themis, NSDI 2020, 3.1; decision 11).

    ``rho = (age + f) / (A + isolated_left / x_iso)`` with ``f = D + work_left / r`` and
    ``r = (work_done + x_iso D) / (age + D)``. 1 when the submit time or the work left is unknown, or when
    x_iso or the denominator is 0.

    Args:
        job: the job.
        isolated: x_iso, work units/s.
        now: seconds since the epoch.
        round_seconds: D.
    """
    if job.submit_time is None or job.work_left is None or isolated <= 0:
        return 1.0
    age = max(0.0, now - job.submit_time)
    rate = (job.work_done + isolated * round_seconds) / (age + round_seconds)
    shared = age + round_seconds + job.work_left / rate
    if job.fair_finish_age is None:
        alone = age + max(0.0, job.work_done + job.work_left - job.fair_progress) / isolated
    else:
        alone = job.fair_finish_age
    if alone <= 0:
        return 1.0
    return min(RHO_MAX, max(RHO_MIN, shared / alone))
