"""How a job runs on given nodes: scope, throughput, devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.domain.job import Job, TaskPlacement
from gangplan.kept import Kept
from gangplan.model.instance.sites import NO_DOMAIN, Nodes, Vector, task_vector
from gangplan.model.instance.throughput import Speeds


@dataclass(frozen=True, slots=True)
class AsPlaced:
    """What a placement means.

    Attributes:
        scope: index into the scopes, widest first, of the narrowest level that holds all tasks.
        relative: X / X_ref of the slowest group (decision 7).
        throughput: work units per second.
        devices: devices held; a part of one counts as that part.
        wider_than_preferred: the locality term's flag.
        use: devices (in parts), CPU and memory by node index.
    """

    scope: int
    relative: float
    throughput: float
    devices: float
    wider_than_preferred: bool
    use: dict[int, Vector]


def as_placed(job: Job, placements: Sequence[TaskPlacement], speeds: Speeds, nodes: Nodes) -> AsPlaced:
    """How ``job`` runs at ``placements``, all of whose nodes exist."""
    groups = {group.name: group for group in job.component.task_groups}
    counts = dict.fromkeys(groups, 0)
    types: dict[str, int] = {}
    use: dict[int, Vector] = {}
    for placement in placements:
        n = nodes.index[placement.node]
        counts[placement.group] += placement.tasks
        types[placement.group] = nodes.type_of.item(n)
        task = task_vector(groups[placement.group], nodes.parts)
        had = use.get(n, (0, 0, 0))
        use[n] = (
            had[0] + task[0] * placement.tasks,
            had[1] + task[1] * placement.tasks,
            had[2] + task[2] * placement.tasks,
        )
    scope = narrowest(nodes, list(use))
    relative, throughput = speed_at(job, counts, types, scope, speeds)
    preferred = job.component.preferred_level
    return AsPlaced(
        scope=scope,
        relative=relative,
        throughput=throughput,
        devices=sum(amounts[0] for amounts in use.values()) / nodes.parts,
        wider_than_preferred=preferred is not None and scope < speeds.scopes.index(preferred),
        use=use,
    )


def stay_placed(
    jobs: Sequence[Job],
    stays: Mapping[str, tuple[TaskPlacement, ...]],
    speeds: Speeds,
    nodes: Nodes,
    kept: Kept,
) -> list[AsPlaced]:
    """How the jobs that may stay where they run do run, in their order.

    Args:
        jobs: of the round; those that stay are among them, in the same order.
        stays: what they hold, by name.
        speeds: throughput of any group anywhere.
        nodes: of the round.
        kept: of an earlier round.
    """
    return kept.each(
        "as placed",
        [job for job in jobs if job.name in stays],
        lambda job: as_placed(job, stays[job.name], speeds, nodes),
        beside=(speeds, nodes.index, nodes.type_of, nodes.domain_at, nodes.parts),
    )


def speed_at(
    job: Job, counts: Mapping[str, int], types: Mapping[str, int], scope: int, speeds: Speeds
) -> tuple[float, float]:
    """Relative and absolute throughput of ``job`` with so many tasks of each group, on such types."""
    ratios = []
    rate = None
    groups = job.component.task_groups
    for group in groups:
        if group.devices_per_task:
            reference = speeds.reference(group)
            type_ = types.get(group.name, -1)
            x = speeds.group(group, type_, counts[group.name], scope) if type_ >= 0 else 0.0
            ratios.append(x / reference if reference > 0 else 0.0)
            rate = reference if rate is None else rate
    relative = min(ratios) if ratios else min([counts[g.name] / g.count for g in groups])
    return relative, relative * (float(groups[0].count) if rate is None else rate)


def narrowest(nodes: Nodes, used: Sequence[int]) -> int:
    """The narrowest scope whose one domain holds the ``used`` nodes, each named once."""
    if len(used) == 1:
        return int(nodes.domain_at.shape[1]) - 1
    table = nodes.domain_at[used]
    shared = (table == table[0]).all(axis=0) & (table[0] != NO_DOMAIN)
    shared[0] = True
    return int(np.flatnonzero(shared)[-1])
