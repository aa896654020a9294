"""Finish-time fairness of the unserved job, by the verifier's own arithmetic.

rho is that of Mahajan et al., *Themis: Fair and Efficient GPU Cluster Scheduling*, NSDI 2020, section 3.1, in
the form of decision 11.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gangplan.columns import Columns
from gangplan.domain.job import WHOLE_DEVICE, Component, Job, TaskGroup
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.kept import Kept
from gangplan.model.verifier.gates import counted_ages
from gangplan.model.verifier.throughput import Packed, Throughput

RHO_MIN, RHO_MAX = 0.25, 8.0
"""rho is clipped to this range before any power (decision 11)."""


def isolated_throughputs(
    components: Sequence[Component],
    bases: NDArray[np.float64],
    contending: float,
    capacity: Mapping[str, int],
    throughput: Throughput,
    kept: Kept,
) -> NDArray[np.float64]:
    """x_iso of every job: the best throughput that a fair share gives, work units/s (decision 11).

    The maximum over all options (a type and an allowed count per device group, packed) of throughput
    times ``min(1, share / size)``, where a gang larger than its share runs time-shared; with several types
    the scarcest one decides. A CPU-only component: its throughput at the requested counts.

    Args:
        components: what runs, by job.
        bases: shape (jobs,), base weight of each.
        contending: N, the sum of the base weights of the jobs that contend.
        capacity: C, usable devices by type; the fair share of a job of base weight w is C w / N.
        throughput: lookup.
        kept: of an earlier round.
    """
    shares = bases / contending if contending else np.zeros(len(bases))
    found = np.zeros(len(components))
    alone, groups, others = kept.once("device groups", tuple(components), lambda: _device_groups(components))
    for i, with_devices in others:
        share = {name: count * shares.item(i) for name, count in capacity.items()}
        found[i] = _isolated(components[i], with_devices, share, throughput)
    for packed in kept.once("packed", (throughput, groups), lambda: throughput.packed(groups)):
        its = alone[packed.rows]
        found[its] = _isolated_alone(groups[packed.rows[0]], packed, shares[its], capacity)
    return found


def _device_groups(
    components: Sequence[Component],
) -> tuple[NDArray[np.int64], list[TaskGroup], list[tuple[int, tuple[TaskGroup, ...]]]]:
    """Jobs in which one group has all the devices, that group of each, and the others with such groups."""
    alone: list[int] = []
    groups: list[TaskGroup] = []
    others: list[tuple[int, tuple[TaskGroup, ...]]] = []
    for i, component in enumerate(components):
        with_devices = component.task_groups
        if len(with_devices) > 1 or not with_devices[0].devices_per_task:
            with_devices = tuple(group for group in with_devices if group.devices_per_task)
        if len(with_devices) == 1:
            alone.append(i)
            groups.append(with_devices[0])
        else:
            others.append((i, with_devices))
    return np.array(alone, dtype=np.int64), groups, others


def _isolated(
    component: Component, groups: Sequence[TaskGroup], share: Mapping[str, float], throughput: Throughput
) -> float:
    """x_iso of a component with several groups that have devices, or with none."""
    if not groups:
        counts = {group.name: group.count for group in component.task_groups}
        return throughput.of_gang(component, counts, {}, CLUSTER)[1]
    choices = [
        [
            (group.name, name, count, count * group.device_milli / WHOLE_DEVICE)
            for name in throughput.types(group)
            for count in group.allowed_counts
        ]
        for group in groups
    ]
    best = 0.0
    for option in itertools.product(*choices):
        counts = {group: count for group, _, count, _ in option}
        types: dict[str, str | None] = {group: name for group, name, _, _ in option}
        devices: dict[str, float] = {}
        for _, name, _, needed in option:
            devices[name] = devices.get(name, 0.0) + needed
        served = min(min(1.0, share.get(name, 0.0) / needed) for name, needed in devices.items())
        if served > 0:
            best = max(best, served * throughput.of_gang(component, counts, types, NODE)[1])
    return best


def _isolated_alone(
    group: TaskGroup, packed: Packed, shares: NDArray[np.float64], capacity: Mapping[str, int]
) -> NDArray[np.float64]:
    """x_iso where one group has all the devices, for jobs with groups like ``group``: nothing is slower."""
    allowed = [at for at, (_, count) in enumerate(packed.pairs) if count in group.allowed_counts]
    fleet = np.array([capacity.get(packed.pairs[at][0], 0) for at in allowed], dtype=np.float64)
    each = group.device_milli / WHOLE_DEVICE
    needed = np.array([packed.pairs[at][1] * each for at in allowed], dtype=np.float64)
    share = fleet * shares[:, np.newaxis]
    reference = packed.reference[:, np.newaxis]
    relative = np.divide(packed.x[:, allowed], reference, where=reference > 0, out=np.zeros_like(share))
    throughput = relative * reference
    found: NDArray[np.float64] = (np.minimum(1.0, share / needed) * throughput).max(axis=1, initial=0.0)
    return found


def finish_time_fairness(
    jobs: Columns[Job],
    left: NDArray[np.float64],
    isolated: NDArray[np.float64],
    now: float,
    round_seconds: float,
) -> NDArray[np.float64]:
    """Rho of every job if this round does not serve it, clipped (Themis, NSDI 2020, 3.1; decision 11).

    ``rho = (age + f) / (A + isolated_left / x_iso)`` with ``f = D + work_left / r`` and
    ``r = (work_done + x_iso D) / (age + D)``. 1 when the submit time or the work left is unknown, or when
    x_iso or the denominator is 0.

    Args:
        jobs: the jobs.
        left: shape (jobs,), work left of each, as it counts; NaN: unknown.
        isolated: shape (jobs,), x_iso of each, work units/s; 0 for who does not contend.
        now: seconds since the epoch.
        round_seconds: D.
    """
    found = np.ones(len(jobs))
    age = counted_ages(jobs, now)
    which = np.flatnonzero(~np.isnan(left) & (isolated > 0) & ~np.isnan(age))
    work_left, x_iso, age = left[which], isolated[which], age[which]
    done = jobs.numbers("work_done")[which]
    progress = jobs.numbers("fair_progress")[which]
    frozen = jobs.numbers("fair_finish_age")[which]  # None: NaN
    with np.errstate(over="ignore"):
        rate = (done + x_iso * round_seconds) / (age + round_seconds)
        shared = age + round_seconds + work_left / rate
        alone = age + np.maximum(0.0, done + work_left - progress) / x_iso
    alone = np.where(np.isnan(frozen), alone, frozen)
    known = alone > 0.0
    ratio = np.divide(shared, alone, out=np.ones_like(alone), where=known)
    found[which] = np.where(known, np.clip(ratio, RHO_MIN, RHO_MAX), 1.0)
    return found
