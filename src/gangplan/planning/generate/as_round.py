"""From arrays to a round."""

from __future__ import annotations

import numpy as np

from gangplan.domain.cluster import AcceleratorType, Cluster, Node, Resources
from gangplan.domain.job import (
    Component,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
    TaskSplit,
    ThroughputProfile,
)
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import Domain, Topology
from gangplan.planning.generate.columns import SCOPES, Columns, isolated_throughput
from gangplan.planning.generate.crowd import PRIORITY_WEIGHTS, Crowd
from gangplan.planning.generate.floor import Floor
from gangplan.planning.generate.past import ROUND_SECONDS, histories
from gangplan.planning.generate.site import CPU_PER_DEVICE, MEMORY_PER_DEVICE, SPEEDS, TYPES, Site

NOW = 1_767_225_600.0
"""Start of 2026, UTC: the clock of every generated round."""
HORIZON_SECONDS = 3600.0


def as_round(
    site: Site,
    crowd: Crowd,
    columns: Columns,
    floor: Floor,
    rng: np.random.Generator,
    *,
    host_limits: bool,
) -> Round:
    """The round of a site, its crowd and who stands where."""
    jobs = len(crowd)
    running = np.zeros(jobs, dtype=bool)
    running[sorted(floor.held)] = True
    past = histories(isolated_throughput(site, crowd, columns), crowd, running, rng, columns)
    restart = crowd.disruption * HORIZON_SECONDS * rng.uniform(0.1, 0.5, jobs)
    lost = crowd.disruption * HORIZON_SECONDS * rng.uniform(0.0, 0.9, jobs)
    run_time = np.maximum(past.age * rng.uniform(0.05, 0.95, jobs), np.minimum(ROUND_SECONDS, past.age))
    # To the microsecond, so that no way of writing a duration changes it.
    restart, lost = np.round(restart, 6), np.floor(np.minimum(lost, run_time) * 1e6) / 1e6

    rack_width, node_width = len(str(len(site.rack_type))), len(str(len(site.node_rack)))
    job_width = len(str(jobs))
    node_names = [f"node-{index:0{node_width}}" for index in range(len(site.node_rack))]
    job_names = [f"job-{index:0{job_width}}" for index in range(jobs)]
    tenants = len(crowd.tenant_limit)
    queue_names = [f"tenant-{index:0{len(str(tenants))}}" for index in range(tenants)]
    spine_names = [f"spine-{index}" for index in range(site.spines)]
    rack_names = [f"rack-{index:0{rack_width}}" for index in range(len(site.rack_type))]

    nodes = tuple(
        Node(
            name=node_names[index],
            domain=rack_names[site.node_rack[index]],
            accelerator_type=TYPES[site.node_type[index]],
            device_count=int(site.node_devices[index]),
            resources=Resources(
                cpu_milli=int(site.node_devices[index]) * CPU_PER_DEVICE * 1000,
                memory_bytes=int(site.node_devices[index]) * MEMORY_PER_DEVICE,
            ),
        )
        for index in range(len(node_names))
    )
    starts = np.searchsorted(columns.job, np.arange(jobs + 1))
    keys = zip(columns.type.tolist(), columns.count.tolist(), columns.scope.tolist(), strict=True)
    table = [(TYPES[type_], count, SCOPES[scope]) for type_, count, scope in keys]
    throughput = columns.throughput.tolist()
    profiles, round_jobs = [], []
    for job in range(jobs):
        mine = slice(starts[job], starts[job + 1])
        cells = dict(zip(table[mine], throughput[mine], strict=True))
        profiles.append(ThroughputProfile(job_names[job], cells))
        smallest, largest = int(crowd.smallest[job]), int(crowd.largest[job])
        allowed = tuple(count for count in site.mix.counts(largest).tolist() if count >= smallest)
        cpu = int(crowd.cpu_per_device[job])
        group = TaskGroup(
            count=int(crowd.requested[job]),
            allowed_counts=allowed,
            resources_per_task=Resources(
                cpu_milli=cpu * 1000,
                memory_bytes=min(cpu, CPU_PER_DEVICE) * MEMORY_PER_DEVICE // CPU_PER_DEVICE,
            )
            if host_limits
            else Resources(),
            profile=job_names[job],
            split=TaskSplit.WHOLE_NODES,
        )
        placed = None
        if job in floor.held:
            placed = Running(
                placements=tuple(
                    TaskPlacement(group.name, node_names[node], devices, tuple(range(first, first + devices)))
                    for node, first, devices in sorted(floor.held[job])
                ),
                started_at=NOW - float(run_time[job]),
                checkpoint_age_seconds=float(lost[job]),
            )
        deadline = None
        if crowd.has_deadline[job] and columns.reference[job] > 0:
            needed = float(crowd.deadline_rate[job] * columns.reference[job])
            deadline = NOW + float(past.work_left[job]) / needed
        finished = float(past.fair_finish_age[job])
        round_jobs.append(
            Job(
                name=job_names[job],
                component=Component(task_groups=(group,)),
                queue=queue_names[crowd.tenant[job]],
                priority=int(crowd.priority[job]),
                submit_time=NOW - float(past.age[job]),
                work_done=float(past.work_done[job]),
                work_left=float(past.work_left[job]),
                fair_progress=float(past.fair_progress[job]),
                fair_finish_age=None if np.isnan(finished) else finished,
                deadline=deadline,
                restart_seconds=float(restart[job]),
                running=placed,
            )
        )
    return Round(
        now=NOW,
        round_seconds=ROUND_SECONDS,
        horizon_seconds=HORIZON_SECONDS,
        cluster=Cluster(
            topology=Topology(
                levels=("spine", "rack"),
                domains=(
                    *(Domain(name, "spine") for name in spine_names),
                    *(
                        Domain(name, "rack", spine_names[spine])
                        for name, spine in zip(rack_names, site.rack_spine, strict=True)
                    ),
                ),
            ),
            nodes=nodes,
        ),
        accelerators=tuple(
            AcceleratorType(name, float(speed)) for name, speed in zip(TYPES, SPEEDS, strict=True)
        ),
        queues=tuple(
            Queue(name, device_limit=int(limit))
            for name, limit in zip(queue_names, crowd.tenant_limit, strict=True)
        ),
        jobs=tuple(round_jobs),
        profiles=tuple(profiles),
        policy=Policy(priority_weights=PRIORITY_WEIGHTS),
    )
