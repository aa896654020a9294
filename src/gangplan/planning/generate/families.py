"""The hard families of generated instances: what each has that the known mix lacks.

A family's name stands where an instance's name has its start, ``M/cpu-heavy/50/seed0``; its present state is
the steady one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gangplan.domain.job import Job, ThroughputProfile
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, Domain, Topology

IntArray = NDArray[np.int64]
Finish = Callable[[Round, np.random.Generator], Round]


@dataclass(frozen=True, slots=True)
class Mix:
    """What instances are made of.

    Attributes:
        devices_per_node: by accelerator type.
        nodes_per_rack: in every rack; None: as the size says.
        any_count: jobs ask for any count up to a node and any number of whole nodes, not powers of two only.
        host_limits: jobs ask for CPU and memory, too.
        cpu_per_device: CPUs that jobs ask for with each device; a device's share of its node is 12.
        cpu_chance: of each of those.
        finish: what is done to the round at the end; None: nothing.
    """

    devices_per_node: tuple[int, int, int, int] = (8, 8, 8, 4)
    nodes_per_rack: int | None = None
    any_count: bool = False
    host_limits: bool = False
    cpu_per_device: tuple[int, ...] = (4, 8, 12, 18, 24)
    cpu_chance: tuple[float, ...] = (0.3, 0.3, 0.3, 0.07, 0.03)
    finish: Finish | None = None

    def counts(self, largest: int) -> IntArray:
        """The device counts that jobs may have, up to ``largest``."""
        powers = [1 << k for k in range(9)]
        some = [*range(1, 9), *range(16, 257, 8)] if self.any_count else powers
        return np.array([count for count in some if count <= largest], dtype=np.int64)

    def spread_counts(self, requested: IntArray, rng: np.random.Generator) -> IntArray:
        """Requests of any count instead of powers of two: each lies between half of it and itself."""
        within = rng.integers(requested // 2 + 1, requested + 1)
        whole = rng.integers(requested // 16 + 1, np.maximum(requested // 8, 1) + 1) * 8
        return np.where(requested > 8, whole, np.maximum(within, 1))


def _deepen(round_: Round, rng: np.random.Generator) -> Round:
    """Five levels instead of two, of unequal fan-out: hall, spine, pod, row, rack."""
    old = round_.cluster.topology
    spines = [domain.name for domain in old.domains if domain.level == "spine"]
    domains = [Domain(f"hall-{k // 3}", "hall") for k in range(0, len(spines), 3)]
    domains += [Domain(name, "spine", f"hall-{k // 3}") for k, name in enumerate(spines)]
    rows = pods = 0
    for spine in spines:
        racks = [domain.name for domain in old.domains if domain.parent == spine]
        while racks:
            pod, pods = f"pod-{pods}", pods + 1
            domains.append(Domain(pod, "pod", spine))
            for _ in range(2):
                size = int(rng.integers(1, 4))
                here, racks = racks[:size], racks[size:]
                if not here:
                    break
                row, rows = f"row-{rows}", rows + 1
                domains.append(Domain(row, "row", pod))
                domains += [Domain(rack, "rack", row) for rack in here]
    levels = ("hall", "spine", "pod", "row", "rack")
    cluster = replace(round_.cluster, topology=Topology(levels=levels, domains=tuple(domains)))
    return replace(round_, cluster=cluster, profiles=tuple(_by_five(profile) for profile in round_.profiles))


def _by_five(profile: ThroughputProfile) -> ThroughputProfile:
    """Cells for the levels between: row and pod between rack and spine, hall between spine and anywhere."""
    cells = dict(profile.throughput)
    for (kind, count, scope), wide in profile.throughput.items():
        if scope == "spine":
            narrow = cells.get((kind, count, "rack"), wide)
            cells[kind, count, "row"] = (2 * narrow + wide) / 3
            cells[kind, count, "pod"] = (narrow + 2 * wide) / 3
            anywhere = cells.get((kind, count, CLUSTER))
            if anywhere is not None:
                cells[kind, count, "hall"] = (wide + anywhere) / 2
    return replace(profile, throughput=cells)


def _tighten(round_: Round, rng: np.random.Generator) -> Round:
    """Half the gangs that fit a rack must lie in one, the other half would rather; and a spread costs."""
    per_rack: dict[str, int] = {}
    rack_of: dict[str, str] = {}
    for node in round_.cluster.nodes:
        rack = node.domain or ""
        per_rack[rack] = per_rack.get(rack, 0) + node.device_count
        rack_of[node.name] = rack
    most = max(per_rack.values())

    def tight(job: Job) -> Job:
        strict = rng.random() < 0.5
        if job.component.task_groups[0].count <= 8 or max(_counts(job)) > most:
            return job
        racks = {rack_of[placed.node] for placed in job.running.placements} if job.running else set()
        if strict and len(racks) <= 1:
            return replace(job, component=replace(job.component, required_level="rack"))
        return replace(job, component=replace(job.component, preferred_level="rack"))

    policy = replace(round_.policy, locality_weight=0.2)
    return replace(round_, jobs=tuple(tight(job) for job in round_.jobs), policy=policy)


def _counts(job: Job) -> tuple[int, ...]:
    group = job.component.task_groups[0]
    return group.allowed_counts or (group.count,)


def _dear(round_: Round, rng: np.random.Generator) -> Round:
    """Restarts as they are measured: five minutes in the median, up to an hour; checkpoints hours apart."""

    def dear(job: Job) -> Job:
        restart = float(np.round(np.clip(np.exp(rng.normal(np.log(300.0), 0.8)), 30.0, 3600.0), 6))
        lost = float(np.round(rng.uniform(0.0, 3 * 3600.0), 6))
        if job.running is None or job.running.started_at is None:
            return replace(job, restart_seconds=restart)
        lost = min(lost, float(np.floor((round_.now - job.running.started_at) * 1e6) / 1e6))
        return replace(
            job, restart_seconds=restart, running=replace(job.running, checkpoint_age_seconds=max(0.0, lost))
        )

    return replace(round_, jobs=tuple(dear(job) for job in round_.jobs))


PLAIN = Mix()
FAMILIES = {
    "all-counts": Mix(any_count=True),
    "cpu-heavy": Mix(host_limits=True, cpu_chance=(0.15, 0.2, 0.25, 0.25, 0.15)),
    "nvlink-18x4": Mix(devices_per_node=(4, 4, 4, 4), nodes_per_rack=18),
    "deep-tree": Mix(finish=_deepen),
    "tight-topology": Mix(finish=_tighten),
    "dear-restarts": Mix(finish=_dear),
}
"""By name."""
