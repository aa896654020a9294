"""Keep and fill, and filling what a plan has left free."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.instance.options import Option
from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.choose import Crowd
from gangplan.model.packing.occupancy import Fit, Occupancy, Taken, spots_of
from gangplan.model.program import FloatArray, IntArray

_ALL = 2**62


def keep_and_fill(instance: Instance) -> Assignment:
    """Keep everything that may stay, then fill by value per device, first fit (decision 22)."""
    kept = frozenset(instance.first[instance.kept].tolist())
    occupancy = Occupancy(instance, np.flatnonzero(instance.kept).tolist())
    return fill(occupancy, Assignment(kept=kept, placed={}), Fit.FIRST)


def keep_only(instance: Instance) -> Assignment:
    """Keep everything that may stay, and start nothing (decision 20)."""
    return Assignment(kept=frozenset(instance.first[instance.kept].tolist()), placed={})


def fill(occupancy: Occupancy, assignment: Assignment, fit: Fit, order: IntArray | None = None) -> Assignment:
    """Place whoever neither stays nor is placed on what is free.

    Room only gets less, so an option that once found none is not tried again, for any job.

    Args:
        occupancy: what is free; changed.
        assignment: who stays and who is placed.
        fit: which of the nodes with room.
        order: positions of options in the order in which they are tried; None: waiting jobs alone, best value
            per device first, ties by name (decision 22).
    """
    instance = occupancy.instance
    placed = dict(assignment.placed)
    left = jobs_left(instance, placed)
    staying = np.zeros(len(instance.jobs), dtype=np.bool_)
    staying[list(assignment.kept)] = True
    left[instance.kept if order is None else instance.kept & staying[instance.first]] = 0
    crowd = Crowd.of(left, len(instance.distinct))
    ahead = by_density(instance) if order is None else order
    shared = order is None and instance.nodes.parts > 1
    place_crowd(occupancy, ahead, crowd, placed, fit, take_turns=shared)
    return replace(assignment, placed=placed)


def jobs_left(instance: Instance, placed: Mapping[int, Placed]) -> IntArray:
    """Jobs of every class that are not ``placed``, shape (classes,)."""
    where = instance.class_of_job[np.fromiter(placed, dtype=np.int64, count=len(placed))]
    return instance.members - np.bincount(where, minlength=len(instance.classes))


def place_crowd(
    occupancy: Occupancy,
    ahead: IntArray,
    crowd: Crowd,
    placed: dict[int, Placed],
    fit: Fit,
    *,
    gangs_again: bool = False,
    take_turns: bool = False,
) -> None:
    """Place as many of a crowd as there is room for.

    Args:
        occupancy: what is free; changed.
        ahead: positions of options in the order in which they are tried.
        crowd: who is left; changed.
        placed: who is placed, by job; added to.
        fit: which of the nodes with room.
        gangs_again: try options of gangs again that once found no room.
        take_turns: mix small tasks that are worth the same.
    """
    instance = occupancy.instance
    waiting: dict[int, list[int]] = {}
    class_of, option_of = instance.option_class.item, instance.option.item

    def place(k: int, where: tuple[tuple[int, tuple[int, ...]], ...]) -> None:
        c = class_of(k)
        mine = waiting.get(c)
        if mine is None:
            mine = waiting[c] = [j for j in reversed(instance.classes[c].jobs) if j not in placed]
        placed[mine.pop()] = occupancy.placed(k, where)

    if take_turns:
        ahead, limit = _mixed(instance, ahead, crowd)
    else:
        limit = None
    at = 0
    while at < len(ahead):
        at, singles = occupancy.place_single(ahead, at, crowd, fit)
        for k, node, number in singles:
            where = ((node, instance.distinct[option_of(k)].demands[0].tasks),)
            for _ in range(number):
                place(k, where)
        if at < len(ahead):
            k = int(ahead[at])
            c, option = int(instance.option_class[k]), instance.option_at(k)
            allowed = min(int(crowd.left[c]), occupancy.members_allowed(instance.classes[c], option))
            if limit is not None:
                allowed = min(allowed, int(limit[at]))
            spots = list(place_gangs(occupancy, k, allowed, fit)) if allowed else []
            for gang in spots:
                place(k, gang)
            crowd.left[c] -= len(spots)
            if len(spots) < allowed and not gangs_again:
                crowd.open[int(instance.option[k])] = False
            at += 1


def _mixed(instance: Instance, ahead: IntArray, crowd: Crowd) -> tuple[IntArray, IntArray]:
    """The options ``ahead``, and how many of each at a time: small tasks worth the same are mixed.

    Tasks of at most one device that are worth the same by device, one after the other in ``ahead``, take
    turns, each class as often as it has members. One class after the other, tasks that take much CPU would
    meet on the same nodes, and leave devices there that nobody can use.
    """
    option = [instance.distinct[o] for o in instance.option[ahead].tolist()]
    small = np.array([o.is_single and o.devices <= instance.nodes.parts for o in option], dtype=np.bool_)
    density = np.round(instance.gain[ahead] / shares(instance)[ahead] * instance.nodes.parts, 6)
    breaks = ~small | ~np.roll(small, 1) | (density != np.roll(density, 1))
    run = np.cumsum(breaks)
    left = crowd.left[instance.option_class[ahead]]
    number = np.where(small, left, 1)
    position = np.repeat(np.arange(len(ahead)), number)
    first = np.repeat(np.cumsum(number) - number, number)
    turn = (np.arange(len(position)) - first + 0.5) / np.maximum(1, number[position])
    order = np.lexsort((position, turn, run[position]))
    mixed = position[order]
    return ahead[mixed], np.where(small, 1, _ALL)[mixed]


def by_density(instance: Instance) -> IntArray:
    """Options with a gain, by gain per device, best first; ties by the class's first name, then by order."""
    if not len(instance.option):
        return np.zeros(0, dtype=np.int64)
    some = np.flatnonzero(instance.gain > 0.0)
    density = instance.gain[some] / shares(instance)[some]
    name_rank = instance.first[instance.option_class[some]]
    return some[np.lexsort((name_rank, -density))]


def shares(instance: Instance) -> FloatArray:
    """Devices of every option, shape (options,); of one without any, its share of a reference host."""
    each = np.array(
        [option.devices or max(_host_share(instance, option), 1e-9) for option in instance.distinct],
        dtype=np.float64,
    )
    return each[instance.option]


def _host_share(instance: Instance, option: Option) -> float:
    host = instance.round.policy.reference_host
    cpu = sum(d.block.demand[1] * d.multiplicity for d in option.demands)
    memory = sum(d.block.demand[2] * d.multiplicity for d in option.demands)
    return max(cpu / host.cpu_milli, memory / host.memory_bytes)


def place_gangs(
    occupancy: Occupancy, k: int, most: int, fit: Fit
) -> Iterator[tuple[tuple[int, tuple[int, ...]], ...]]:
    """Place up to ``most`` gangs of option ``k`` on exact node state, as far as quotas allow."""
    instance = occupancy.instance
    job_class, option = instance.classes[int(instance.option_class[k])], instance.option_at(k)
    most = min(most, occupancy.members_allowed(job_class, option))
    if option.is_single:
        demand = option.demands[0]
        block = instance.block_index[demand.block]
        taken = occupancy.take(block, most, occupancy.block_nodes(block), fit, together=False)
        occupancy.take_quota(job_class, option, sum(number for _, number in taken))
        for node, number in taken:
            for _ in range(number):
                yield ((node, demand.tasks),)
        return
    for _ in range(most):
        spots = _place_gang(occupancy, option, fit)
        if spots is None:
            return
        occupancy.take_quota(job_class, option, 1)
        yield spots


def _place_gang(
    occupancy: Occupancy, option: Option, fit: Fit
) -> tuple[tuple[int, tuple[int, ...]], ...] | None:
    """One gang in the tightest domain that takes all of it; None when there is none."""
    return next((spots for spots, _ in _gangs(occupancy, option, fit)), None)


def ways_to_place(occupancy: Occupancy, k: int, fit: Fit) -> Iterator[Placed]:
    """One place of option ``k`` in every domain that takes all of it, tightest first; nothing stays taken."""
    for spots, parts in _gangs(occupancy, occupancy.instance.option_at(k), fit):
        placed = occupancy.placed(k, spots)
        if placed.device >= 0:  # the part goes back, too
            occupancy.return_part(k, placed)
        for block, _, taken in parts:
            occupancy.give_back(block, taken)
        yield placed


_Parts = list[tuple[int, tuple[int, ...], Taken]]
"""Blocks by number, tasks of each group in a copy, and where copies were taken."""


def _gangs(
    occupancy: Occupancy, option: Option, fit: Fit
) -> Iterator[tuple[tuple[tuple[int, tuple[int, ...]], ...], _Parts]]:
    """A gang in each domain that takes all of it, tightest first, taken; whoever goes on gives it back."""
    instance = occupancy.instance
    demands = sorted(option.demands, key=lambda d: d.block.demand, reverse=True)
    node_scope = len(instance.speeds.scopes) - 1
    most = sum(d.multiplicity for d in demands) - 1 if node_scope in option.apart else None
    first = instance.block_index[demands[0].block]
    for nodes in occupancy.domains(option.scope, first, demands[0].multiplicity):
        domain = int(instance.nodes.domain_at[nodes[0], option.scope]) if len(nodes) else 0
        parts: _Parts = []
        for demand in demands:
            block = instance.block_index[demand.block]
            here = occupancy.nodes_within(block, option.scope, domain)
            taken = occupancy.take(block, demand.multiplicity, here, fit, together=True, most=most)
            parts.append((block, demand.tasks, taken))
            if sum(number for _, number in taken) < demand.multiplicity:
                break
        else:
            spots = spots_of([(tasks, taken) for _, tasks, taken in parts])
            if _lies_apart(instance, option, [node for node, _ in spots]):
                yield spots, parts
                continue
        for block, _, taken in parts:
            occupancy.give_back(block, taken)


def _lies_apart(instance: Instance, option: Option, nodes: list[int]) -> bool:
    """Whether the nodes share no domain at a scope at which the option must lie apart."""
    at = instance.nodes.domain_at[nodes]
    return not any(at[0, s] != NO_DOMAIN and (at[:, s] == at[0, s]).all() for s in option.apart)


def stay_where_free(occupancy: Occupancy, staying: Collection[int], placed: Mapping[int, Placed]) -> set[int]:
    """Let running jobs stay that were to leave, got no new place, and whose old place is still free.

    Nobody is stopped for nobody's good, not even who is worth nothing where it runs (property P5).
    Returns their classes.
    """
    instance = occupancy.instance
    found = set()
    for c in np.flatnonzero(instance.kept).tolist():
        if c in staying or instance.classes[c].jobs[0] in placed:
            continue
        if occupancy.can_stay(c):
            occupancy.stay(c)
            found.add(c)
    return found
