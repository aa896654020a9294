"""What a round says of each job before anything is decided: the verifier's own arithmetic.

Plain Python, written from the definitions and not from the model, so that the two can be checked against
each other. Sources: relative (effective) throughput, Narayanan et al., *Heterogeneity-Aware Cluster
Scheduling Policies for Deep Learning Workloads* (Gavel), OSDI 2020, section 3.1; finish-time fairness rho,
Mahajan et al., *Themis: Fair and Efficient GPU Cluster Scheduling*, NSDI 2020, section 3.1, in the form of
decision 11; reference throughput, decision 2; switching, decision 13; sizes of CPU-only jobs, decision 41;
missing throughput cells, decision 42.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gangplan.domain.cluster import Node
from gangplan.domain.job import Component, Job, TaskGroup
from gangplan.domain.plan import ForcedReason
from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.model.verifier.forced import forced_reasons

RHO_MIN, RHO_MAX = 0.25, 8.0
"""rho is clipped to this range before any power (decision 11)."""


@dataclass(frozen=True, slots=True)
class JobFacts:
    """One job's constants in this round.

    Attributes:
        size: req, devices asked for; for a CPU-only job its dominant share of reference hosts
            (decision 41).
        full_value: ``size ** policy.size_exponent``, GPU-equivalents at the reference throughput.
        reference: X_ref of the first device group, work units/s; for a CPU-only job the count of its first
            group. 0 when the job has no option at its requested count.
        isolated: x_iso, work units/s with its fair share alone (decision 11).
        rho: finish-time fairness ratio of the unserved job, clipped.
        base: ``job.weight`` times the weight of its priority class.
        base_weight: b, ``base`` over its median.
        weight: w, ``base * rho ** p`` over its median.
        present: relative throughput where it runs now; 0 while it waits or when that is no option.
        present_throughput: work units/s where it runs now; 0 likewise.
        held: devices held now (a CPU-only job: ``size``); 0 while it waits.
        horizon: H, seconds over which a switching cost is spread (decision 13).
        lost_seconds: running time that a stop throws away (decision 13).
        time_left: seconds until the deadline; None without one.
    """

    size: float
    full_value: float
    reference: float
    isolated: float
    rho: float
    base: float
    base_weight: float
    weight: float
    present: float
    present_throughput: float
    held: float
    horizon: float
    lost_seconds: float
    time_left: float | None


class Throughput:
    """Throughput lookup: profile cells, catalogue speeds and references of one round."""

    def __init__(self, round_: Round) -> None:
        self._scopes = round_.cluster.topology.scopes
        self._rank = {scope: rank for rank, scope in enumerate(self._scopes)}
        self._speeds = {entry.name: entry.relative_speed for entry in round_.accelerators}
        self._cells = {profile.name: profile.throughput for profile in round_.profiles}
        self._known: dict[tuple[str, str, int, str], float] = {}
        self._references: dict[object, float] = {}

    def of_group(self, group: TaskGroup, accelerator_type: str | None, count: int, scope: str) -> float:
        """X of a device group, work units/s; 0 when that option does not exist.

        The cell of ``scope``, or of the next wider listed scope for the same type and count (decision 42).
        Without a profile: relative speed of the type times devices, at any scope.
        """
        if accelerator_type not in self._speeds:
            return 0.0
        if group.profile is None:
            return self._speeds[accelerator_type] * count * group.devices_per_task
        key = (group.profile, accelerator_type, count, scope)
        known = self._known.get(key)
        if known is None:
            cells = self._cells.get(group.profile, {})
            known = 0.0
            for rank in range(self._rank.get(scope, 0), -1, -1):
                cell = cells.get((accelerator_type, count, self._scopes[rank]))
                if cell is not None:
                    known = cell
                    break
            self._known[key] = known
        return known

    def types(self, group: TaskGroup) -> tuple[str, ...]:
        """Catalogued types that a device group may run on."""
        if not group.accelerator_types:
            return tuple(self._speeds)
        return tuple(name for name in group.accelerator_types if name in self._speeds)

    def reference(self, group: TaskGroup) -> float:
        """X_ref of a device group: its requested count, packed, on its best allowed catalogued type (decision
        2).

        It depends neither on what is present nor on what is free. 0 when no such cell exists.
        """
        key = (group.profile, group.accelerator_types, group.count, group.devices_per_task)
        found = self._references.get(key)
        if found is None:
            values = (self.of_group(group, name, group.count, NODE) for name in self.types(group))
            found = self._references[key] = max(values, default=0.0)
        return found

    def of_gang(
        self, component: Component, counts: Mapping[str, int], types: Mapping[str, str | None], scope: str
    ) -> tuple[float, float]:
        """Relative and absolute throughput of a component; ``(0, 0)`` when that option does not exist.

        A gang runs at the speed of its slowest group (decision 7): ``min X / X_ref`` over groups with
        devices, or ``min count / requested count`` when there is none. The absolute figure is the relative
        one times X_ref of the first device group (CPU-only: times its first group's requested count).
        """
        relative = math.inf
        unit = 0.0
        for group in component.task_groups:
            if group.devices_per_task == 0:
                continue
            reference = self.reference(group)
            if reference <= 0:
                return 0.0, 0.0
            unit = unit or reference
            x = self.of_group(group, types.get(group.name), counts.get(group.name, 0), scope)
            relative = min(relative, x / reference)
        if not unit:
            unit = float(component.task_groups[0].count)
            relative = min(counts.get(group.name, 0) / group.count for group in component.task_groups)
        return (relative, relative * unit) if relative > 0 else (0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class RoundFacts:
    """Everything the verifier knows of a round before it sees a plan.

    Attributes:
        round: the round.
        nodes: by name.
        domains: by node name: its domain at each declared level, outermost first; None where it has none.
        rank: scope to its place in ``topology.scopes``; 0 is the widest.
        throughput: the lookup.
        forced: running jobs that cannot go on, and why.
        jobs: constants by job name.
    """

    round: Round
    nodes: Mapping[str, Node]
    domains: Mapping[str, tuple[str | None, ...]]
    rank: Mapping[str, int]
    throughput: Throughput
    forced: Mapping[str, ForcedReason]
    jobs: Mapping[str, JobFacts]

    def scope(self, nodes: Iterable[str]) -> str:
        """The narrowest level whose one domain holds all ``nodes`` (names of present nodes).

        A node without a domain at a level is in no domain of that level. Domains are equal when
        their full names are (property P9).
        """
        return _scope(nodes, self.domains, self.round.cluster.topology.levels)


def round_facts(round_: Round) -> RoundFacts:
    """All facts of ``round_``: O(jobs + nodes), with options of alike jobs looked at once."""
    topology = round_.cluster.topology
    nodes = {node.name: node for node in round_.cluster.nodes}
    by_domain = {
        name: tuple(topology.at_level(name, level) for level in topology.levels)
        for name in {node.domain for node in round_.cluster.nodes}
    }
    domains = {node.name: by_domain[node.domain] for node in round_.cluster.nodes}
    throughput = Throughput(round_)
    forced = forced_reasons(round_)
    policy = round_.policy

    bases = {job.name: job.weight * policy.priority_weights.get(job.priority, 1.0) for job in round_.jobs}
    rhos, isolated = _fairness(round_, bases, throughput)
    unfair = {name: base * rhos[name] ** policy.fairness_power for name, base in bases.items()}
    base_median = _median(bases.values())
    median = _median(unfair.values())

    jobs: dict[str, JobFacts] = {}
    for job in round_.jobs:
        name = job.name
        size = job_size(job, policy)
        relative, present = _present(job, nodes, domains, topology.levels, throughput, forced)
        first = next((g for g in job.component.task_groups if g.devices_per_task), None)
        jobs[name] = JobFacts(
            size=size,
            full_value=size**policy.size_exponent,
            reference=throughput.reference(first) if first else float(job.component.task_groups[0].count),
            isolated=isolated[name],
            rho=rhos[name],
            base=bases[name],
            base_weight=bases[name] / base_median,
            weight=unfair[name] / median,
            present=relative,
            present_throughput=present,
            held=_held(job, size),
            horizon=_horizon(round_, job, present),
            lost_seconds=_lost(round_, job),
            time_left=None if job.deadline is None else job.deadline - round_.now,
        )
    ranks = {scope: rank for rank, scope in enumerate(topology.scopes)}
    return RoundFacts(round_, nodes, domains, ranks, throughput, forced, jobs)


def job_size(job: Job, policy: Policy) -> float:
    """Req of a job (decision 41).

    The devices of all its groups at their requested counts; for a CPU-only job the larger of its CPU and its
    memory as a share of ``policy.reference_host`` (a dimension of the host that is 0 counts nothing).
    """
    groups = job.component.task_groups
    devices = sum(group.count * group.devices_per_task for group in groups)
    if devices:
        return float(devices)
    host = policy.reference_host
    cpu = sum(group.count * group.resources_per_task.cpu_milli for group in groups)
    memory = sum(group.count * group.resources_per_task.memory_bytes for group in groups)
    return max(
        cpu / host.cpu_milli if host.cpu_milli else 0.0,
        memory / host.memory_bytes if host.memory_bytes else 0.0,
    )


def _fairness(
    round_: Round, bases: Mapping[str, float], throughput: Throughput
) -> tuple[dict[str, float], dict[str, float]]:
    """Clipped rho and x_iso of every job."""
    capacity: dict[str, int] = {}
    for node in round_.cluster.nodes:
        if node.accelerator_type is not None:
            capacity[node.accelerator_type] = (
                capacity.get(node.accelerator_type, 0) + node.usable_device_count
            )
    contending = math.fsum(bases.values())
    rhos: dict[str, float] = {}
    isolated: dict[str, float] = {}
    seen: dict[object, float] = {}
    for job in round_.jobs:
        base = bases[job.name]
        signature = (
            base,
            *(
                (g.profile, g.accelerator_types, g.count, g.allowed_counts, g.devices_per_task)
                for g in job.component.task_groups
            ),
        )
        x = seen.get(signature)
        if x is None:
            share = base / contending if contending else 0.0
            x = seen[signature] = isolated_throughput(
                job.component, {name: count * share for name, count in capacity.items()}, throughput
            )
        isolated[job.name] = x
        rhos[job.name] = finish_time_fairness(job, x, round_.now, round_.round_seconds)
    return rhos, isolated


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
    reference = throughput.reference(group)
    if reference <= 0:
        return 0.0
    best = 0.0
    for name in throughput.types(group):
        mine = share.get(name, 0.0)
        if mine <= 0:
            continue
        for count in group.allowed_counts:
            x = throughput.of_group(group, name, count, NODE)
            if x > 0:
                best = max(
                    best, min(1.0, mine / (count * group.devices_per_task)) * (x / reference * reference)
                )
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


def _median(values: Iterable[float]) -> float:
    """The ordinary median; 1 when there is none or it is 0, so that weights can be divided by it."""
    values = list(values)
    return (statistics.median(values) if values else 1.0) or 1.0


def _scope(
    nodes: Iterable[str], domains: Mapping[str, tuple[str | None, ...]], levels: tuple[str, ...]
) -> str:
    names = set(nodes)
    if len(names) == 1:
        return NODE
    paths = [domains[name] for name in names]
    for place in range(len(levels) - 1, -1, -1):
        first = paths[0][place] if paths else None
        if first is not None and all(path[place] == first for path in paths):
            return levels[place]
    return CLUSTER


def _present(
    job: Job,
    nodes: Mapping[str, Node],
    domains: Mapping[str, tuple[str | None, ...]],
    levels: tuple[str, ...],
    throughput: Throughput,
    forced: Mapping[str, ForcedReason],
) -> tuple[float, float]:
    """Relative and absolute throughput where the job runs now; 0 when it waits or is forced off."""
    if job.running is None or job.name in forced:
        return 0.0, 0.0
    counts: dict[str, int] = {}
    types: dict[str, str | None] = {}
    for placement in job.running.placements:
        counts[placement.group] = counts.get(placement.group, 0) + placement.tasks
        types[placement.group] = nodes[placement.node].accelerator_type
    scope = _scope((placement.node for placement in job.running.placements), domains, levels)
    return throughput.of_gang(job.component, counts, types, scope)


def _held(job: Job, size: float) -> float:
    """Devices held now; a CPU-only job holds its size."""
    if job.running is None:
        return 0.0
    per_task = {group.name: group.devices_per_task for group in job.component.task_groups}
    if not any(per_task.values()):
        return size
    return float(sum(p.tasks * per_task.get(p.group, 0) for p in job.running.placements))


def _horizon(round_: Round, job: Job, present: float) -> float:
    """H: min(horizon, time left at the present speed), at least one round (decision 13)."""
    horizon = round_.horizon_seconds
    if job.work_left is not None and job.work_left > 0 and present > 0:
        horizon = min(horizon, job.work_left / present)
    return max(round_.round_seconds, horizon)


def _lost(round_: Round, job: Job) -> float:
    """Running time that a stop throws away: the checkpoint's age, or else the worst case (decision 13)."""
    if job.running is None:
        return 0.0
    if job.running.checkpoint_age_seconds is not None:
        lost = job.running.checkpoint_age_seconds
    elif job.running.started_at is not None:
        lost = round_.now - job.running.started_at
    elif job.submit_time is not None:
        lost = round_.now - job.submit_time
    else:
        lost = round_.horizon_seconds
    return max(0.0, lost)
