"""What the input has that was tolerated, but that its sender should know (property P25)."""

from __future__ import annotations

import numpy as np

from gangplan.domain.job import DeadlineKind, Job
from gangplan.domain.plan import Notice
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.sites import admits


def notices(instance: Instance) -> tuple[Notice, ...]:
    """All notices, in the order of the request's fields."""
    round_ = instance.round
    return (*_nodes(instance), *_queues(instance), *_jobs(round_, instance))


def _nodes(instance: Instance) -> list[Notice]:
    full = (instance.nodes.held > 0) & (instance.nodes.held >= instance.nodes.capacity)
    full_nodes = {instance.nodes.nodes[n].name: n for n in np.flatnonzero(full.any(axis=1)).tolist()}
    found = []
    for i, node in enumerate(instance.round.cluster.nodes):
        n = full_nodes.get(node.name)
        if n is None:
            continue
        usable = node.usable_resources
        limits = (node.usable_device_count * instance.nodes.parts, usable.cpu_milli, usable.memory_bytes)
        for resource, held, limit in zip(
            ("devices", "cpu", "memory"), instance.nodes.held[n].tolist(), limits, strict=True
        ):
            if held > limit:
                unit = instance.nodes.parts if resource == "devices" else 1
                found.append(
                    Notice(
                        "NODE_OVER_CAPACITY",
                        f"cluster.nodes[{i}]",
                        f"{node.name} runs jobs that hold {_said(held, unit)} {resource} of "
                        f"{_said(limit, unit)}; no more is added",
                    )
                )
    return found


def _said(amount: int, unit: int) -> str:
    """So many units."""
    return f"{amount // unit:,}" if amount % unit == 0 else f"{amount / unit:,g}"


def _queues(instance: Instance) -> list[Notice]:
    held = dict.fromkeys(range(len(instance.limits.names)), 0)
    for c, job_class in enumerate(instance.classes):
        if job_class.kept and job_class.queue >= 0:
            devices = sum(amounts[0] for amounts in instance.keep_use[c].values())
            for queue in instance.limits.ancestors[job_class.queue]:
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
        groups = {group.name: group for group in job.component.task_groups}
        strangers = sorted({p.node for p in placements if not admits(nodes[p.node], groups[p.group])})
        if strangers:
            found.append(
                Notice(
                    "RUNS_WHERE_NOT_ADMITTED",
                    f"jobs[{i}].running",
                    f"{job.name} runs on {', '.join(strangers)}, which would not admit it now; it may stay",
                )
            )
    return found


def _past(job: Job) -> str:
    if job.deadline_kind is DeadlineKind.STRICT and job.work_left is not None:
        return f"the strict deadline of {job.name} is past, and running it is worth nothing"
    if job.deadline_kind is DeadlineKind.SOFT:
        return f"the soft deadline of {job.name} is past, and nothing is left of its reward"
    return f"the deadline of {job.name} is past and counts as none"
