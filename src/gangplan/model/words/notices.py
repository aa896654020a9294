"""What the input has that was tolerated, but that its sender should know (property P25)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from gangplan.domain.cluster import Node
from gangplan.domain.job import DeadlineKind, Job, TaskPlacement
from gangplan.domain.plan import Notice
from gangplan.domain.round import Round
from gangplan.kept import Kept
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.sites import DIMENSIONS, Nodes, admits, vector
from gangplan.model.program import IntArray


def notices(instance: Instance, kept: Kept | None = None) -> tuple[Notice, ...]:
    """All notices, in the order of the request's fields.

    Args:
        instance: the round as arrays.
        kept: the model's own of an earlier round; the notices are the same without. None: nothing.
    """
    round_ = instance.round
    return (*_nodes(instance, kept or Kept()), *_queues(instance), *_jobs(round_, instance))


def _nodes(instance: Instance, kept: Kept) -> list[Notice]:
    nodes = instance.nodes
    usable = kept.once("usable", (instance.round.cluster, nodes.parts), lambda: _usable(nodes))
    over = np.flatnonzero((nodes.held > usable).any(axis=1)).tolist()
    if not over:
        return []
    number = {node.name: i for i, node in enumerate(instance.round.cluster.nodes)}
    found = []
    for i, n in sorted((number[nodes.nodes[n].name], n) for n in over):
        for resource, held, limit in zip(DIMENSIONS, nodes.held[n].tolist(), usable[n].tolist(), strict=True):
            if held > limit:
                unit = nodes.parts if resource == "devices" else 1
                found.append(
                    Notice(
                        "NODE_OVER_CAPACITY",
                        f"cluster.nodes[{i}]",
                        f"{nodes.nodes[n].name} runs jobs that hold {_said(held, unit)} {resource} of "
                        f"{_said(limit, unit)}; no more is added",
                    )
                )
    return found


def _usable(nodes: Nodes) -> IntArray:
    """Shape (nodes, 3): what this scheduler may fill, whoever holds it now."""
    there = [vector(node.usable_resources, node.usable_device_count * nodes.parts) for node in nodes.nodes]
    return np.array(there, dtype=np.int64).reshape(-1, len(DIMENSIONS))


def _said(amount: int, unit: int) -> str:
    """So many units."""
    return f"{amount // unit:,}" if amount % unit == 0 else f"{amount / unit:,g}"


def _queues(instance: Instance) -> list[Notice]:
    if all(queue.device_limit is None for queue in instance.round.queues):
        return []
    held = dict.fromkeys(range(len(instance.limits.names)), 0)
    own = instance.queue[instance.keeps.class_of]
    amounts = np.bincount(own[own >= 0], instance.keeps.amounts[own >= 0, 0], len(held)).astype(np.int64)
    for q, devices in enumerate(amounts.tolist()):
        for queue in instance.limits.ancestors[q] if devices else ():
            held[queue] += devices
    index = {name: q for q, name in enumerate(instance.limits.names)}
    return [
        Notice(
            "QUEUE_OVER_LIMIT",
            f"queues[{i}].device_limit",
            f"queue {queue.name} holds {held[index[queue.name]] / instance.nodes.parts:g} devices, "
            f"over its limit of {queue.device_limit}; it gets no more",
        )
        for i, queue in enumerate(instance.round.queues)
        if queue.device_limit is not None
        and held[index[queue.name]] > queue.device_limit * instance.nodes.parts
    ]


def _jobs(round_: Round, instance: Instance) -> list[Notice]:
    found = []
    nodes = {node.name: node for node in round_.cluster.nodes}
    tainted = {node.name for node in round_.cluster.nodes if node.taints}
    for i, job in enumerate(round_.jobs):
        if job.deadline is not None and job.deadline + job.deadline_decay_seconds <= round_.now:
            found.append(Notice("DEADLINE_PAST", f"jobs[{i}].deadline", _past(job)))
        elif job.deadline is not None and job.work_left is None and job.left_quantiles is None:
            found.append(
                Notice(
                    "DEADLINE_UNJUDGED",
                    f"jobs[{i}].deadline",
                    f"{job.name}'s work left is unknown, so its deadline cannot be judged",
                )
            )
        if job.running is None:
            continue
        placements = instance.placements.get(instance.job_index[job.name], ())
        strangers = _strangers(job, placements, nodes, tainted)
        if strangers:
            found.append(
                Notice(
                    "RUNS_WHERE_NOT_ADMITTED",
                    f"jobs[{i}].running",
                    f"{job.name} runs on {', '.join(strangers)}, which would not admit it now; it may stay",
                )
            )
    return found


def _strangers(
    job: Job, placements: Sequence[TaskPlacement], nodes: Mapping[str, Node], tainted: Collection[str]
) -> list[str]:
    """Nodes among ``placements`` that would not admit the job now, sorted."""
    for group in job.component.task_groups:
        if group.node_selector:
            break
    else:
        placements = [p for p in placements if p.node in tainted] if tainted else ()
    if not placements:
        return []
    groups = {group.name: group for group in job.component.task_groups}
    return sorted({p.node for p in placements if not admits(nodes[p.node], groups[p.group])})


def _past(job: Job) -> str:
    if job.deadline_kind is DeadlineKind.STRICT and job.work_left is not None:
        return f"the strict deadline of {job.name} is past, and running it is worth nothing"
    if job.deadline_kind is DeadlineKind.SOFT:
        return f"the soft deadline of {job.name} is past, and nothing is left of its reward"
    return f"the deadline of {job.name} is past and counts as none"
