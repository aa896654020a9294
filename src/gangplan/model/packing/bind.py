"""From counts to nodes: where the chosen gangs sit.

Blocks are placed in descending order of size, on any node of their pool with room: where sizes divide each
other this never fails (formulation, section 1, "Why binding is exact"). What the rows relax (CPU and memory
of counted nodes, sizes that do not divide each other) may fail; the repair path then looks at every other
node of the block's domain, then at every other domain, and then starts change places until there is room
(``exchange``). A gang that still fits nowhere stays where it is, if it runs and its place is still free, or
waits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from gangplan.model.formulation.layout import ROOT, Domain, Flow, Layout, flow_of, is_direct
from gangplan.model.formulation.nesting import is_nested, present_tasks
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.exchange import Exchange, start_by_exchange
from gangplan.model.packing.fill import fill, place_gangs, stay_where_free
from gangplan.model.packing.in_place import prefer_in_place
from gangplan.model.packing.occupancy import Fit, Occupancy, Taken, spots_of
from gangplan.model.packing.resize import resize_in_place
from gangplan.model.program import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class _Gang:
    """One chosen gang: its option, and the domain that the solution gives it."""

    option: int
    domain: Domain


def bind(layout: Layout, values: FloatArray, order: IntArray | None = None) -> Assignment:
    """Bind an integral solution to nodes, then fill what is left free.

    Args:
        layout: the programme's columns.
        values: shape (columns,).
        order: positions of options in the order in which what is left is filled; None: by value per device,
            waiting jobs alone.
    """
    instance = layout.instance
    counts = values.round().astype("int64")
    staying = {c for c, column in enumerate(layout.keep_column.tolist()) if column >= 0 and counts[column]}
    occupancy = Occupancy(instance, staying)
    members = {c: list(job_class.jobs) for c, job_class in enumerate(instance.classes)}
    placed: dict[int, Placed] = {}
    gangs = []
    unresized: set[int] = set()
    for gang in _chosen(layout, counts):
        if gang.option not in layout.loose:
            gangs.append(gang)
        elif not _resize(layout, occupancy, gang, placed):
            unresized.add(gang.option)
    slots = _place_blocks(layout, counts, occupancy, gangs)
    unbound: list[int] = []
    for gang in gangs:
        c = int(instance.option_class[gang.option])
        option = instance.option_at(gang.option)
        parts = _hand_out(layout, gang, slots)
        if layout.kind(gang.option)[3] >= 0:
            if parts is None or not _goes_on(layout, occupancy, gang, parts, placed):
                _put_back(layout, gang, parts or [], slots)
                unresized.add(gang.option)
        elif parts is None or not occupancy.members_allowed(instance.classes[c], option):
            unbound.append(gang.option)
        else:
            placed[members[c].pop(0)] = occupancy.placed(gang.option, spots_of(parts))
            occupancy.take_quota(instance.classes[c], option, 1)
    for (block, _, _), left in slots.items():
        occupancy.give_back(block, [(node, 1) for node in left])
    failed = [gang for gang in gangs if gang.option in unresized]
    unresized -= {gang.option for gang in failed if _resize(layout, occupancy, gang, placed)}
    unbound = [k for k in unbound if not _place(occupancy, k, members, placed)]
    unbound = _exchange(occupancy, unbound, members, placed)
    staying |= stay_where_free(occupancy, staying, placed)
    kept = frozenset(instance.classes[c].jobs[0] for c in staying)
    filled = fill(
        occupancy,
        Assignment(kept=kept, placed=placed, unbound=len(unbound), unresized=frozenset(unresized)),
        Fit.BEST,
        order,
    )
    if order is not None:
        filled = start_by_exchange(occupancy, filled, order)
    return prefer_in_place(occupancy, filled)


def _place(occupancy: Occupancy, k: int, members: dict[int, list[int]], placed: dict[int, Placed]) -> bool:
    """Place one gang of option ``k`` anywhere."""
    for spots in place_gangs(occupancy, k, 1, Fit.BEST):
        placed[members[int(occupancy.instance.option_class[k])].pop(0)] = occupancy.placed(k, spots)
        return True
    return False


def _exchange(
    occupancy: Occupancy, unbound: list[int], members: dict[int, list[int]], placed: dict[int, Placed]
) -> list[int]:
    """Make room for gangs of one block by exchange, best first; those that find none even so."""
    instance = occupancy.instance
    if not any(instance.option_at(k).is_single for k in unbound):
        return unbound
    exchange = Exchange(occupancy, placed)
    failed: set[int] = set()
    left = []
    for k in unbound:
        option = instance.option_at(k)
        block = instance.block_index[option.demands[0].block]
        if (
            not option.is_single
            or block in failed
            or not occupancy.members_allowed(instance.classes[int(instance.option_class[k])], option)
            or exchange.make_room(block) < 0
            or not _place(occupancy, k, members, placed)
        ):
            failed.add(block)
            left.append(k)
    return left


def _goes_on(
    layout: Layout,
    occupancy: Occupancy,
    gang: _Gang,
    parts: list[tuple[tuple[int, ...], Taken]],
    placed: dict[int, Placed],
) -> bool:
    """Take what the solution gives to a job that may not move, if that is a resize in place."""
    instance = layout.instance
    job_class = instance.classes[int(instance.option_class[gang.option])]
    spots, option = spots_of(parts), instance.option_at(gang.option)
    if not is_nested(present_tasks(instance, job_class.jobs[0]), dict(spots)):
        return False
    if not occupancy.members_allowed(job_class, option):
        return False
    placed[job_class.jobs[0]] = Placed(gang.option, spots)
    occupancy.take_quota(job_class, option, 1)
    return True


def _put_back(
    layout: Layout,
    gang: _Gang,
    parts: list[tuple[tuple[int, ...], Taken]],
    slots: dict[Flow, list[int]],
) -> None:
    """Undo :func:`_hand_out`."""
    kind = layout.kind(gang.option)
    for (block, _), (_, taken) in zip(kind[1], parts, strict=False):
        slots[flow_of(kind, block, gang.domain)].extend(node for node, _ in taken)


def _resize(layout: Layout, occupancy: Occupancy, gang: _Gang, placed: dict[int, Placed]) -> bool:
    """Resize a job that may not move; where that fails it stays, if it can, or stops."""
    instance = layout.instance
    job_class = instance.classes[int(instance.option_class[gang.option])]
    option = instance.option_at(gang.option)
    if not occupancy.members_allowed(job_class, option):
        return False
    spots = resize_in_place(occupancy, job_class.jobs[0], gang.option)
    if spots is None:
        return False
    placed[job_class.jobs[0]] = Placed(gang.option, spots)
    occupancy.take_quota(job_class, option, 1)
    return True


def _chosen(layout: Layout, counts: IntArray) -> list[_Gang]:
    """The chosen gangs, best gain first, each with a domain."""
    instance = layout.instance
    node_scope = len(instance.speeds.scopes) - 1
    room = {key: int(counts[column]) for key, column in layout.gang_column.items()}
    domains: dict[object, list[Domain]] = defaultdict(list)
    for kind, domain in layout.gang_column:
        domains[kind].append(domain)
    gangs = []
    chosen = [
        k for k, column in enumerate(layout.option_column.tolist()) if column >= 0 and counts[column] > 0
    ]
    for k in sorted(chosen, key=lambda k: (-float(instance.gain[k]), k)):
        kind = layout.kind(k)
        for _ in range(int(counts[layout.option_column[k]])):
            domain = ROOT
            if not is_direct(kind, node_scope):
                domain = next((d for d in domains[kind] if room[kind, d] > 0), domains[kind][0])
                room[kind, domain] -= 1
            gangs.append(_Gang(k, domain))
    return gangs


def _place_blocks(
    layout: Layout, counts: IntArray, occupancy: Occupancy, gangs: list[_Gang]
) -> dict[Flow, list[int]]:
    """Nodes for the blocks of every flow, one entry per block; too few where they do not fit."""
    instance = layout.instance
    wanted: dict[Flow, int] = defaultdict(int)
    for gang in gangs:
        for block, multiplicity in layout.kind(gang.option)[1]:
            wanted[flow_of(layout.kind(gang.option), block, gang.domain)] += multiplicity
    slots: dict[Flow, list[int]] = {flow: [] for flow in wanted}
    by_pool: dict[int, dict[Flow, int]] = defaultdict(dict)
    for flow, number in wanted.items():
        left = number
        for pool, column in layout.flow_pools[flow]:
            share = min(left, int(counts[column]))
            if share > 0:
                by_pool[pool][flow] = share
                left -= share
    most = {flow: _most_on_one_node(layout, flow, number) for flow, number in wanted.items()}
    for pool, here in sorted(by_pool.items()):
        for flow in sorted(here, key=_descending(layout, instance.pools.capacity[pool])):
            nodes = instance.pools.members[pool]
            taken = occupancy.take(flow[0], here[flow], nodes, Fit.BEST, together=False, most=most[flow])
            slots[flow].extend(node for node, number in taken for _ in range(number))
    largest = instance.pools.capacity.max(axis=0, initial=0)
    for flow in sorted(wanted, key=_descending(layout, largest)):
        block, domain, _ = flow
        short = wanted[flow] - len(slots[flow])
        if short:
            nodes = occupancy.block_nodes(block)
            if domain != ROOT:
                nodes = nodes[instance.nodes.domain_at[nodes, domain[0]] == domain[1]]
            taken = occupancy.take(block, short, nodes, Fit.BEST, together=False, most=most[flow])
            slots[flow].extend(node for node, number in taken for _ in range(number))
        slots[flow].sort(key=lambda node: tuple(instance.nodes.domain_at[node].tolist()))
    return slots


def _hand_out(
    layout: Layout, gang: _Gang, slots: dict[Flow, list[int]]
) -> list[tuple[tuple[int, ...], Taken]] | None:
    """Take a gang's blocks out of ``slots``; None, and nothing taken, when they are too few."""
    demands = layout.instance.option_at(gang.option).demands
    kind = layout.kind(gang.option)
    need: dict[Flow, int] = defaultdict(int)
    for block, multiplicity in kind[1]:
        need[flow_of(kind, block, gang.domain)] += multiplicity
    if any(len(slots[flow]) < number for flow, number in need.items()):
        return None
    parts: list[tuple[tuple[int, ...], Taken]] = []
    for demand, (block, multiplicity) in zip(demands, kind[1], strict=True):
        mine = slots[flow_of(kind, block, gang.domain)]
        step = max(1, len(mine) // multiplicity) if kind[2] else 1
        last = step * multiplicity
        parts.append((demand.tasks, [(node, 1) for node in mine[:last:step]]))
        del mine[:last:step]
    return parts


def _descending(layout: Layout, capacity: IntArray) -> Callable[[Flow], tuple[object, ...]]:
    """Order of flows: largest share of a node first, and of equal ones those that must lie apart.

    The share is that of what a block takes most of, so that one that needs a whole node's CPU finds one.
    """
    whole = [int(amount) for amount in capacity]

    def key(flow: Flow) -> tuple[object, ...]:
        demand = layout.instance.blocks[flow[0]].demand
        share = max(amount / all_ for amount, all_ in zip(demand, whole, strict=True) if all_)
        return (
            -share,
            *(-amount for amount in demand),
            flow[2] is None,
            flow[0],
            flow[1],
            flow[2] or (),
        )

    return key


def _most_on_one_node(layout: Layout, flow: Flow, number: int) -> int:
    """How many of ``number`` blocks one node may take, so that no gang must lie on it alone."""
    kind = flow[2]
    if kind is None or len(layout.instance.speeds.scopes) - 1 not in kind[2]:
        return number
    gangs = number // sum(multiplicity for block, multiplicity in kind[1] if block == flow[0])
    return gangs * (sum(multiplicity for _, multiplicity in kind[1]) - 1)
