"""Terse builders, so that a test draws a whole cluster as one literal table.

::

    cluster = (node("a", "H100", 8), node("b", "H100", 8), node("c", cpu=64))
    jobs = (job("train", gpus=8, running=at("a", range(8))), job("serve", gpus=2, weight=2.0))
    judged = verify(round_of(cluster, jobs), plan_of(keep("train", at("a", range(8))), ...))

Names default to what most tests want: one accelerator type ``H100`` of speed 1, one task of one device.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gangplan.domain.cluster import (
    AcceleratorType,
    Cluster,
    DeviceReporting,
    Node,
    OtherUse,
    Resources,
    Taint,
    TaintEffect,
)
from gangplan.domain.job import (
    Component,
    DeviceShare,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
    ThroughputProfile,
)
from gangplan.domain.plan import Action, ActionKind, ForcedReason, Plan
from gangplan.domain.round import Round
from gangplan.domain.topology import Domain, Topology

GIB = 2**30
"""Bytes of one GiB."""


def node(
    name: str,
    accelerator_type: str | None = None,
    devices: int = 0,
    *,
    cpu: int = 64,
    memory: int = 512,
    domain: str | None = None,
    count_only: bool = False,
    unhealthy: Iterable[int] | int = (),
    others: Iterable[int] | int = (),
    **fields: Any,
) -> Node:
    """A node with ``devices`` accelerators, whole CPUs and GiB of memory.

    Args:
        name: its name.
        accelerator_type: None for a CPU-only node.
        devices: accelerators built in.
        cpu: CPUs.
        memory: GiB.
        domain: innermost topology domain.
        count_only: it does not pin device indices.
        unhealthy: indices out of order; on a COUNT_ONLY node their number.
        others: indices used by others; on a COUNT_ONLY node their number.
        **fields: any other field of :class:`~gangplan.domain.cluster.Node`.
    """
    broken = frozenset() if isinstance(unhealthy, int) else frozenset(unhealthy)
    used = frozenset() if isinstance(others, int) else frozenset(others)
    return Node(
        name=name,
        domain=domain,
        accelerator_type=accelerator_type,
        device_count=devices,
        resources=Resources(cpu * 1000, memory * GIB),
        device_reporting=DeviceReporting.COUNT_ONLY if count_only else DeviceReporting.EXACT,
        unhealthy_devices=broken,
        unhealthy_device_count=unhealthy if isinstance(unhealthy, int) else len(broken),
        used_by_others=OtherUse(used, others if isinstance(others, int) else len(used)),
        **fields,
    )


def taint(key: str, value: str = "", *, execute: bool = False) -> Taint:
    """A taint: NO_EXECUTE when ``execute``, else NO_SCHEDULE."""
    return Taint(key, value, TaintEffect.NO_EXECUTE if execute else TaintEffect.NO_SCHEDULE)


def topology(*levels: str, **parents: str) -> Topology:
    """A topology of ``levels``, outermost first, from ``domain="level"`` or ``domain="level<parent"`` pairs.

    ::

        topology("spine", "rack", s="spine", r1="rack<s", r2="rack<s", lone="rack")
    """
    domains = []
    for name, spec in parents.items():
        level, _, parent = spec.partition("<")
        domains.append(Domain(name, level, parent or None))
    return Topology(levels, tuple(domains))


def group(
    name: str = "worker",
    count: int = 1,
    *,
    gpus: int = 1,
    counts: Sequence[int] = (),
    cpu: float = 0,
    memory: float = 0,
    types: Sequence[str] = (),
    milli: int | None = None,
    **fields: Any,
) -> TaskGroup:
    """A task group.

    Args:
        name: its name.
        count: tasks asked for.
        gpus: devices per task.
        counts: every allowed count; only ``count`` when empty.
        cpu: CPUs per task.
        memory: GiB per task.
        types: accelerator types allowed; any when empty.
        milli: thousandths of its device; the whole when None.
        **fields: any other field of :class:`~gangplan.domain.job.TaskGroup`.
    """
    return TaskGroup(
        device_share=None if milli is None else DeviceShare(milli),
        name=name,
        count=count,
        allowed_counts=tuple(counts) or (count,),
        devices_per_task=gpus,
        resources_per_task=Resources(round(cpu * 1000), round(memory * GIB)),
        accelerator_types=tuple(types),
        **fields,
    )


def at(
    node: str,
    devices: Iterable[int] = (),
    *,
    tasks: int | None = None,
    group: str = "worker",
    milli: int | None = None,
) -> TaskPlacement:
    """Tasks of a group on a node, one per device unless ``tasks`` says otherwise (one, without devices).

    With ``milli``, they hold so many thousandths of each.
    """
    held = tuple(devices)
    shares = () if milli is None else (DeviceShare(milli),) * len(held)
    return TaskPlacement(group, node, len(held) or 1 if tasks is None else tasks, held, shares)


_JOB_FIELDS = frozenset(field.name for field in dataclasses.fields(Job))


def job(
    name: str,
    *groups: TaskGroup,
    running: TaskPlacement | Sequence[TaskPlacement] | None = None,
    started: float | None = None,
    checkpoint_age: float | None = None,
    required: str | None = None,
    preferred: str | None = None,
    gpus: int = 1,
    **fields: Any,
) -> Job:
    """A job of ``groups``; without any, of one group of ``gpus`` tasks with one device each.

    Args:
        name: its name.
        *groups: task groups.
        running: present placements; None while it waits.
        started: when it started.
        checkpoint_age: seconds since its last checkpoint.
        required: required level.
        preferred: preferred level.
        gpus: tasks of the default group.
        **fields: any other field of :class:`~gangplan.domain.job.Job`; what is none is a field of the default
            group (see :func:`group`).
    """
    own = {key: fields.pop(key) for key in tuple(fields) if key in _JOB_FIELDS}
    if groups and fields:
        raise TypeError(f"unknown fields of a job: {sorted(fields)}")
    placements = (running,) if isinstance(running, TaskPlacement) else running
    return Job(
        name=name,
        component=Component(groups or (group(count=gpus, **fields),), required, preferred),
        running=None if placements is None else Running(tuple(placements), started, checkpoint_age),
        **own,
    )


def round_of(
    nodes: Sequence[Node],
    jobs: Sequence[Job],
    *,
    types: Mapping[str, float] | None = None,
    profiles: Mapping[str, Mapping[tuple[str, int, str], float]] | None = None,
    topology: Topology | None = None,
    **fields: Any,
) -> Round:
    """A round of nodes and jobs.

    Args:
        nodes: the cluster.
        jobs: running and waiting.
        types: relative speed by accelerator type; those of the nodes at speed 1 when not given.
        profiles: cells by profile name.
        topology: the tree; none by default.
        **fields: any other field of :class:`~gangplan.domain.round.Round`.
    """
    if types is None:
        types = dict.fromkeys((n.accelerator_type for n in nodes if n.accelerator_type), 1.0)
    return Round(
        cluster=Cluster(topology or Topology(), tuple(nodes)),
        accelerators=tuple(AcceleratorType(name, speed) for name, speed in types.items()),
        jobs=tuple(jobs),
        profiles=tuple(ThroughputProfile(name, cells) for name, cells in (profiles or {}).items()),
        **fields,
    )


def act(
    kind: ActionKind,
    job: str,
    *placements: TaskPlacement,
    scope: str = "",
    throughput: float = 0.0,
    after: Sequence[str] = (),
    good_of: Sequence[str] = (),
    forced: ForcedReason | None = None,
    **fields: Any,
) -> Action:
    """An action of id ``kind:job``; ``after`` and ``good_of``: ``depends_on`` and ``beneficiaries``."""
    return Action(
        **{"id": f"{kind.value.lower()}:{job}", **fields},
        kind=kind,
        job=job,
        placements=placements,
        scope=scope,
        throughput=throughput,
        depends_on=tuple(after),
        beneficiaries=tuple(good_of),
        forced=forced,
    )


def plan_of(*actions: Action) -> Plan:
    """A plan of ``actions``."""
    return Plan(actions)
