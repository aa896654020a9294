"""Promises to gangs too large for what is free: where and by when there will be room (decision 19)."""

from __future__ import annotations

import math

import numpy as np

from gangplan.domain.outlook import Reservation
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.options import Option
from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.lookahead.fluid import Fluid, finishes
from gangplan.model.lookahead.service import Service
from gangplan.model.program import IntArray

MOST = 4
"""Promises of one outlook at most: each holds places empty."""


def reservations(fluid: Fluid, service: Service) -> tuple[Reservation, ...]:
    """Promises to the largest gangs that are to start within the horizon and have no room now.

    The domain is the one that the running jobs leave first if nothing new comes, of those that no larger gang
    has; the latest start is the moment when they have left, or the fluid plan's if that is later. Where that
    takes longer than the horizon, or work left is unknown, nothing is promised.
    """
    instance = fluid.instance
    round_ = instance.round
    waits = [
        j
        for members in fluid.crowd.members
        for j in members.tolist()
        if not fluid.numbers.running[j] and 0.0 < service.start[j] <= round_.horizon_seconds
    ]
    asked = [(j, gang) for j in waits if (gang := whole_node_gang(instance, j)) is not None]
    asked.sort(key=lambda pair: (-pair[1].devices, service.start[pair[0]], instance.jobs[pair[0]].name))
    leaves = _leaves(instance)
    taken: set[tuple[int, int]] = set()
    found: list[Reservation] = []
    for j, gang in asked:
        if len(found) == MOST:
            break
        place = _first_room(instance, gang, leaves, taken)
        if place is None or not 0.0 < place[0] <= round_.horizon_seconds:
            continue
        taken.add((gang.scope, place[1]))
        latest = round_.now + max(place[0], float(service.start[j]))
        found.append(
            Reservation(
                job=instance.jobs[j].name,
                domain=_name(instance, gang.scope, place[1]),
                latest_start=latest,
                expires_at=latest + round_.horizon_seconds,
                duration_seconds=_duration(fluid, j),
            )
        )
    return tuple(sorted(found, key=lambda promise: promise.job))


def _duration(fluid: Fluid, job: int) -> float | None:
    mine = fluid.instance.jobs[job]
    if mine.work_left is None and mine.left_quantiles is None:
        return None
    return float(fluid.numbers.left[job] / fluid.numbers.best[job])


def whole_node_gang(instance: Instance, job: int) -> Option | None:
    """The fastest option of a job, where it takes a whole node or more."""
    mine = instance.classes[int(instance.class_of_job[job])]
    best = mine.start + int(instance.throughput[mine.start : mine.stop].argmax())
    option = instance.option_at(best)
    demand = option.demands[0]
    if len(option.demands) > 1 or len(demand.block.types) != 1:
        return None
    there = instance.nodes.built_in[instance.nodes.type_of == demand.block.types[0]]
    whole = int(there.max(initial=0))
    return option if whole and demand.multiplicity * demand.block.demand[0] >= whole else None


def _leaves(instance: Instance) -> list[tuple[float, IntArray]]:
    """Moments at which running jobs are done, ascending, and what is free from then on, shape (nodes,)."""
    nodes = instance.nodes
    free = np.where(nodes.open, nodes.capacity[:, 0] - nodes.held[:, 0], 0)
    ends = sorted(
        (finishes(instance, k.jobs[0]), c) for c, k in enumerate(instance.classes) if instance.keep_use[c]
    )
    found = [(0.0, free.copy())]
    for end, c in ends:
        if math.isinf(end) or end > instance.round.horizon_seconds:
            break
        for n, amount in instance.keep_use[c].items():
            if nodes.open[n]:
                free[n] += amount[0]
        found.append((end, free.copy()))
    return found


def _first_room(
    instance: Instance, gang: Option, leaves: list[tuple[float, IntArray]], taken: set[tuple[int, int]]
) -> tuple[float, int] | None:
    """When, seconds from now, and in which domain of its scope a gang first has room; None: not seen."""
    demand, nodes = gang.demands[0], instance.nodes
    fits = (nodes.type_of == demand.block.types[0]) & nodes.open
    if demand.block.built_in:
        fits &= nodes.built_in == demand.block.built_in
    at = nodes.domain_at[:, gang.scope]
    fits &= at != NO_DOMAIN
    for moment, free in leaves:
        blocks = np.bincount(
            at[fits], weights=(free[fits] // demand.block.demand[0]).astype(np.float64), minlength=1
        )
        for domain in np.flatnonzero(blocks >= demand.multiplicity).tolist():
            if (gang.scope, domain) not in taken:
                return moment, domain
            if moment == 0.0:
                return None  # there is room now, and it is another's
    return None


def _name(instance: Instance, scope: int, domain: int) -> str | None:
    """Name of a domain; None for the whole cluster."""
    topology = instance.round.cluster.topology
    if scope == 0:
        return None
    if scope == len(topology.scopes) - 1:
        return instance.nodes.nodes[domain].name
    return sorted(d.name for d in topology.domains)[domain]
