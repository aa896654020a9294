"""Which nodes a job can use that may be resized but not moved: nested sets (decision 18).

Such a job goes on where it is, with fewer tasks there, or with as many and more beside them, group by group.
So of every option's blocks each node takes a least and a most number: a group that shrinks has at most its
present tasks on each node, a group that grows at least those. These numbers describe all nested sets, and no
others, where every node that the job uses now is a pool of its own; nothing need be enumerated. Elsewhere the
numbers of a pool are the sums over its nodes, which lets more pass (a relaxation: the binder repairs it).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.instance.options import Demand, Option
from gangplan.model.instance.sites import NO_DOMAIN

Tasks = Mapping[int, tuple[int, ...]]
"""Tasks of every group by node index."""


@dataclass(frozen=True, slots=True)
class Span:
    """How many blocks of one kind lie on the nodes of a pool: ``least <= blocks <= most``."""

    least: int
    most: int


def is_rooted(instance: Instance, c: int) -> bool:
    """Whether class ``c`` is a running job that may not move (but perhaps be resized)."""
    job_class = instance.classes[c]
    return job_class.kept and not instance.jobs[job_class.jobs[0]].capabilities.movable


def present_tasks(instance: Instance, j: int) -> dict[int, tuple[int, ...]]:
    """Where running job ``j`` is now."""
    groups = {group.name: g for g, group in enumerate(instance.jobs[j].component.task_groups)}
    tasks: dict[int, list[int]] = {}
    for placement in instance.placements[j]:
        node = instance.nodes.index[placement.node]
        tasks.setdefault(node, [0] * len(groups))[groups[placement.group]] += placement.tasks
    return {node: tuple(counts) for node, counts in sorted(tasks.items())}


def is_nested(before: Tasks, after: Tasks) -> bool:
    """Whether every group only gives up tasks on its nodes, or only gets more."""
    groups = len(next(iter(before.values())))
    none = (0,) * groups
    for g in range(groups):
        more = [after.get(n, none)[g] - before.get(n, none)[g] for n in before.keys() | after.keys()]
        if any(change > 0 for change in more) and any(change < 0 for change in more):
            return False
    return True


def spans(instance: Instance, k: int, domain: tuple[int, int]) -> dict[int, dict[int, Span]]:
    """Spans by block and pool of a rooted job under its option ``k`` in a domain; empty: it cannot be there.

    Pools without an entry take none of the block's blocks.

    Args:
        instance: the round as arrays.
        k: position of the option.
        domain: scope and index of the domain that all tasks must lie in; scope 0: anywhere.
    """
    option = instance.option_at(k)
    before = present_tasks(instance, instance.classes[int(instance.option_class[k])].jobs[0])
    now = np.array(list(before.values())).sum(axis=0).tolist()
    found: dict[int, dict[int, Span]] = {}
    for demand in option.demands:
        here = _of_demand(instance, before, now, option, demand, domain)
        if here is None:
            return {}
        b = instance.block_index[demand.block]
        for p, span in here.items():
            had = found.setdefault(b, {}).get(p, Span(0, 0))
            found[b][p] = Span(had.least + span.least, had.most + span.most)
    return found


def _of_demand(
    instance: Instance,
    before: Tasks,
    now: list[int],
    option: Option,
    demand: Demand,
    domain: tuple[int, int],
) -> dict[int, Span] | None:
    """Spans of the blocks of one demand by pool; None where they do not fit."""
    scope, at = domain
    copies = instance.block_pools[instance.block_index[demand.block]]
    groups = [g for g, count in enumerate(demand.tasks) if count]
    least: dict[int, int] = defaultdict(int)
    most: dict[int, int] = defaultdict(int)
    for node, tasks in before.items():
        pool = int(instance.pools.pool_of[node])
        inside = pool >= 0 and (not scope or instance.nodes.domain_at[node, scope] == at)
        low, high = 0, min(int(copies[pool]), demand.multiplicity) if inside else 0
        for g in groups:
            if option.counts[g] <= now[g]:
                high = min(high, tasks[g] // demand.tasks[g])
            if option.counts[g] >= now[g]:
                low = max(low, -(-tasks[g] // demand.tasks[g]))
        if low > high:
            return None
        if inside:
            least[pool] += low
            most[pool] += high
    if all(option.counts[g] > now[g] for g in groups):
        own = [int(instance.pools.pool_of[node]) for node in before]
        for p in np.flatnonzero(copies).tolist():
            if not scope or instance.pools.domain_at[p, scope] == at != NO_DOMAIN:
                others = int(instance.pools.size[p]) - own.count(p)
                most[p] += others * min(int(copies[p]), demand.multiplicity)
    if sum(least.values()) > demand.multiplicity or sum(most.values()) < demand.multiplicity:
        return None
    return {p: Span(least[p], min(number, demand.multiplicity)) for p, number in most.items() if number}
