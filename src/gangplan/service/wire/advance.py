"""A round after a small change, from the round before it: only what has changed is read.

A change of jobs and nodes alone leaves what other objects mean as it was. Where that cannot be told quickly,
or something is wrong, there is no answer here and everything is read anew; so nothing is accepted, and
nothing said, that reading everything would not accept and say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from gangplan.domain.cluster import Node
from gangplan.domain.job import OPEN, Job
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.known import Known
from gangplan.service.wire.read_cluster import read_cluster
from gangplan.service.wire.read_job import read_jobs
from gangplan.v1 import cluster_pb2, job_pb2

_name = attrgetter("name")


@dataclass(frozen=True, slots=True)
class SmallChange:
    """Jobs and nodes that are new, other or gone; nothing else.

    Attributes:
        jobs: new or other.
        job_classes: of such.
        nodes: new or other, with the topology that they stand in.
        removed_jobs: names.
        removed_nodes: names.
    """

    jobs: Sequence[job_pb2.Job] = ()
    job_classes: Sequence[job_pb2.JobClass] = ()
    nodes: cluster_pb2.Cluster | None = None
    removed_jobs: Collection[str] = ()
    removed_nodes: Collection[str] = ()


def in_order(round_: Round) -> Round:
    """The round with its jobs and nodes in the order of names, however it came about."""
    cluster = replace(round_.cluster, nodes=tuple(sorted(round_.cluster.nodes, key=_name)))
    return replace(round_, cluster=cluster, jobs=tuple(sorted(round_.jobs, key=_name)))


def advance(round_: Round, change: SmallChange) -> Round | None:
    """The round after ``change``, in order; None: it has to be read as a whole.

    Args:
        round_: before it, valid and in order.
        change: what is new, other or gone.
    """
    fields = Fields()
    nodes = {node.name: node for node in round_.cluster.nodes}
    types = frozenset(type_.name for type_ in round_.accelerators)
    if change.nodes is not None:
        read = read_cluster(change.nodes, "", types, fields).nodes
        if _touches_running(read, nodes, round_.jobs):
            return None
        nodes |= {node.name: node for node in read}
    for name in change.removed_nodes:
        del nodes[name]
    changed = {job.name for job in change.jobs}
    changed.update(name for alike in change.job_classes for name in alike.names)
    gone = changed.union(change.removed_jobs)
    others = [job for job in round_.jobs if job.name not in gone]
    known = Known(
        types,
        frozenset((CLUSTER, NODE, *round_.cluster.topology.levels)),
        frozenset(queue.name for queue in round_.queues),
        frozenset(profile.name for profile in round_.profiles),
        nodes,
    )
    if _share_devices(change.jobs, others):
        return None
    before = {job.name: job for job in round_.jobs if job.name in changed}
    told = read_jobs(change.jobs, change.job_classes, "", known, fields)
    jobs = [*others, *(_as_before(job, before.get(job.name)) for job in told)]
    if fields.invalid or fields.unsupported or not nodes:
        return None
    if any(job.gate.after_jobs for job in [job for job in jobs if job.gate is not OPEN]):
        return None
    cluster = round_.cluster  # the same object while no node is touched: what was made from it still holds
    if change.nodes is not None or change.removed_nodes:
        cluster = replace(cluster, nodes=tuple(sorted(nodes.values(), key=_name)))
    return replace(round_, cluster=cluster, jobs=tuple(sorted(jobs, key=_name)))


def _as_before(job: Job, before: Job | None) -> Job:
    """The job, with the component that it had if that is equal: what was made from it still holds."""
    if before is None or job.component is before.component or job.component != before.component:
        return job
    return replace(job, component=before.component)


def _touches_running(read: Iterable[Node], nodes: dict[str, Node], jobs: Iterable[Job]) -> bool:
    """Whether devices that a job holds may mean something else on one of the nodes."""
    other = {
        node.name
        for node in read
        if (before := nodes.get(node.name)) is None
        or before.device_count != node.device_count
        or before.device_reporting is not node.device_reporting
    }
    return bool(other) and any(
        place.node in other for job in jobs if job.running is not None for place in job.running.placements
    )


def _share_devices(changed: Iterable[job_pb2.Job], others: Iterable[Job]) -> bool:
    """Whether one of ``changed`` may hold a device that another job holds, too: parts of it, or a mistake."""
    wanted = {
        (place.node, device)
        for job in changed
        if job.HasField("running")
        for place in job.running.placements
        for device in place.devices
    }
    return bool(wanted) and any(
        (place.node, device) in wanted
        for job in others
        if job.running is not None
        for place in job.running.placements
        for device in place.devices
    )
