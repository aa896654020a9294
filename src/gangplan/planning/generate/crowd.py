"""The jobs as arrays: what they ask for, how fast they are, and to whom they belong."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gangplan.planning.generate.arrays import BoolArray, FloatArray, IntArray
from gangplan.planning.generate.site import CPU_PER_DEVICE, SPEEDS, TYPES, Site

PRIORITY_WEIGHTS = {0: 1.0, 1: 2.0, 2: 4.0}
PRIORITY_MIX = (0.7, 0.2, 0.1)


@dataclass(slots=True)
class Crowd:
    """The jobs as arrays, one entry per job."""

    requested: IntArray
    smallest: IntArray
    largest: IntArray
    speed: FloatArray
    """Shape (jobs, types): throughput of one device; 0 where forbidden."""
    scaling: FloatArray
    """Throughput grows with the devices to this power."""
    chattiness: FloatArray
    """How much a spread costs, 0 to 1."""
    rho: FloatArray
    """The finish-time ratio to be produced."""
    priority: IntArray
    tenant: IntArray
    tenant_limit: IntArray
    """Shape (tenants,)."""
    has_deadline: BoolArray
    deadline_rate: FloatArray
    """Relative throughput that the deadline needs."""
    disruption: FloatArray
    """Lost and restart time over the horizon."""
    cpu_per_device: IntArray
    arrived: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Took the place of a job that departed."""

    def __len__(self) -> int:
        return len(self.requested)

    def ask(self, requested: IntArray, site: Site) -> None:
        """Ask for other counts; who is elastic stays so."""
        elastic = self.smallest < self.largest
        self.requested = requested
        self.smallest = np.where(elastic, np.maximum(1, requested // 2), requested)
        self.largest = np.where(elastic, np.minimum(2 * requested, site.size.largest_job), requested)

    @property
    def weight(self) -> FloatArray:
        """Base weight by priority."""
        return np.array([PRIORITY_WEIGHTS[level] for level in sorted(PRIORITY_WEIGHTS)])[self.priority]


def draw_rho(rng: np.random.Generator, jobs: int) -> FloatArray:
    """Log-normal finish-time ratios with a spread of 0.5, shape (jobs,)."""
    return np.clip(np.exp(rng.normal(0.0, 0.5, jobs)), 0.3, 4.0)


def draw_crowd(site: Site, rng: np.random.Generator, *, host_limits: bool) -> Crowd:
    """Draw the jobs by the known mix."""
    jobs, size = site.size.jobs, site.size
    kinds = len(TYPES)
    large = np.array([count for count in (16, 32, 64, 128, 256) if count <= size.largest_job])
    chance = np.array([0.45, 0.25, 0.15, 0.1, 0.05])[: len(large)]
    requested = np.append([1, 2, 4, 8], 0)[np.searchsorted([0.7, 0.8, 0.88, 0.96], rng.random(jobs), "right")]
    gangs = requested == 0
    if len(large):
        requested[gangs] = rng.choice(large, int(gangs.sum()), p=chance / chance.sum())
    else:
        requested[gangs] = size.largest_job
    requested = np.minimum(requested, size.largest_job)
    elastic = rng.random(jobs) < 0.4
    smallest = np.where(elastic, np.maximum(1, requested // 2), requested)
    largest = np.where(elastic, np.minimum(2 * requested, size.largest_job), requested)
    speed = SPEEDS * np.exp(rng.normal(0.0, 0.25, (jobs, kinds)))
    speed[rng.random((jobs, kinds)) < 0.1] = 0.0
    speed[:, 0] = np.maximum(speed[:, 0], 0.3)
    tenants = min(20, max(4, jobs // 20))
    scaling, chattiness = rng.uniform(0.85, 0.98, jobs), rng.uniform(0.05, 0.9, jobs)
    rho = draw_rho(rng, jobs)
    priority = rng.choice(len(PRIORITY_MIX), jobs, p=PRIORITY_MIX)
    tenant = np.minimum(rng.zipf(1.5, jobs) - 1, tenants - 1)
    asked = np.minimum(requested, 64)
    share = np.bincount(tenant, weights=asked, minlength=tenants) / asked.sum()
    limit = np.maximum(0.02 * site.devices, 1.4 * site.devices * share)
    limit = np.clip(limit, size.largest_job, max(size.tenant_share * site.devices, size.largest_job))
    cpu = rng.choice(list(site.mix.cpu_per_device), jobs, p=list(site.mix.cpu_chance))
    # What fills whole nodes can have no more than the nodes have.
    cpu = np.where(largest >= min(site.mix.devices_per_node), np.minimum(cpu, CPU_PER_DEVICE), cpu)
    return Crowd(
        requested=requested,
        smallest=smallest,
        largest=largest,
        speed=speed,
        scaling=scaling,
        chattiness=chattiness,
        rho=rho,
        priority=priority,
        tenant=tenant,
        tenant_limit=np.floor(limit).astype(np.int64),
        has_deadline=rng.random(jobs) < 0.2,
        deadline_rate=rng.uniform(0.3, 1.1, jobs),
        disruption=rng.uniform(0.05, 0.5, jobs),
        cpu_per_device=cpu if host_limits else np.zeros(jobs, dtype=np.int64),
        arrived=np.zeros(jobs, dtype=bool),
    )
