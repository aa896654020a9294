"""Whether given nodes are a way of taking an option."""

from __future__ import annotations

from gangplan.model.instance.instance import Instance
from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.packing.assignment import Spot


def is_way(instance: Instance, k: int, spots: tuple[Spot, ...]) -> bool:
    """Whether the tasks on every node are whole blocks of option ``k``, where they may be."""
    option = instance.option_at(k)
    if option.counts != tuple(map(sum, zip(*(tasks for _, tasks in spots), strict=True))):
        return False
    nodes = [node for node, _ in spots]
    at = instance.nodes.domain_at[nodes]
    here = at[:, option.scope]
    if option.scope and ((here == NO_DOMAIN).any() or (here != here[0]).any()):
        return False
    if any(at[0, s] != NO_DOMAIN and (at[:, s] == at[0, s]).all() for s in option.apart):
        return False
    pools = instance.pools.pool_of[nodes]
    if (pools < 0).any():
        return False
    for (_, tasks), pool in zip(spots, pools.tolist(), strict=True):
        covered = [0] * len(tasks)
        for demand in option.demands:
            g = next(i for i, count in enumerate(demand.tasks) if count)
            copies = tasks[g] // demand.tasks[g]
            if copies and instance.block_pools[instance.block_index[demand.block], pool] < copies:
                return False
            covered = [had + copies * count for had, count in zip(covered, demand.tasks, strict=True)]
        if tuple(covered) != tasks:
            return False
    return True
