"""Topology: required levels and whole nodes (property P9).

``required_level``: the component's scope is that level or a narrower one, all its tasks counted, those that
already run included. ``WHOLE_NODES``: a group with devices sits on one node, or on nodes of equal size of
each of which it holds every built-in device. Both bind what changes; a running job that breaks them already
may stay (property P25).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gangplan.domain.job import TaskGroup, TaskSplit
from gangplan.model.formulation.layout import ROOT, flow_of
from gangplan.model.formulation.rows import Rows
from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.verifier.outcome import Status
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.formulation.layout import Domain, GangKind, GangRoom, Layout
    from gangplan.model.program import FloatArray, IntArray
    from gangplan.model.verifier.columns import Bools
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.holding import Holding
    from gangplan.model.verifier.reading import Change, Reading
    from gangplan.model.verifier.starts import Starts

NAME = "topology"
RULES = ("topology.required-level", "topology.whole-nodes")


def violations(reading: Reading) -> list[Violation]:
    """Components that spread wider than they may, and groups on parts of several nodes."""
    return reading.judged(_judge, _sound)


def _sound(starts: Starts, facts: RoundFacts) -> Bools:
    """All of them: each is on one node, which no level is narrower than."""
    del facts
    return np.ones(len(starts), dtype=np.bool_)


def _judge(change: Change, facts: RoundFacts) -> list[Violation]:
    found: list[Violation] = []
    if not change.after:
        return found
    name = change.job.name
    action = change.action.id if change.action else ""
    required = change.job.component.required_level
    scope = change.outcome.scope
    if (
        required is not None
        and (change.started or change.outcome.status is Status.RESIZED)
        and facts.rank[scope] < facts.rank[required]
    ):
        message = f"{name} spreads over scope {scope}; it requires one {required}"
        found.append(Violation("topology.required-level", name, "", action, message))
    if len(change.after) == 1:
        return found  # on one node
    for group in change.groups.values():
        if group.split is TaskSplit.WHOLE_NODES and group.devices_per_task and _broken(group, change, facts):
            message = f"{name} spreads {group.name} over parts of nodes; it takes one node or whole nodes"
            found.append(Violation("topology.whole-nodes", name, "", action, message))
    return found


def _broken(group: TaskGroup, change: Change, facts: RoundFacts) -> bool:
    if _whole(group, change.after, facts):
        return False
    starts = change.status is Status.RESIZED or any(name == group.name for name, _ in change.started)
    return starts or _whole(group, change.before, facts)


def _whole(group: TaskGroup, holding: Holding, facts: RoundFacts) -> bool:
    """Whether ``holding`` has the group on one node, or on whole nodes of equal size."""
    built_in = [
        (facts.nodes[node].device_count, held.tasks * group.devices_per_task)
        for (name, node), held in holding.items()
        if name == group.name
    ]
    return len(built_in) <= 1 or (
        all(count == held for count, held in built_in) and len({count for count, _ in built_in}) == 1
    )


LIFTED_ROWS = 4_000
"""Most lifted rows: those of the largest groups first, which a single job prevents. Without a limit XL has
24,000 of them, four fifths of all rows, and a reduced programme takes four times as long."""


def rows(layout: Layout) -> Rows:
    """Every gang of a scope inside the cluster lies in one domain of that level; some stay where they are."""
    domains: dict[GangKind, dict[Domain, int]] = defaultdict(dict)
    for (kind, domain), column in layout.gang_column.items():
        domains[kind][domain] = column
    found = Rows()
    for kind, by_domain in domains.items():
        chosen, columns = layout.kind_columns[kind], list(by_domain.values())
        values = np.concatenate([np.ones(len(chosen)), -np.ones(len(columns))])
        found.add_arrays(np.concatenate([chosen, columns]), values, upper=0.0)
    for kind in layout.kind_columns:
        if kind[2]:
            _apart_rows(layout, kind, domains.get(kind, {}), found)
    for nested in layout.nested:
        least, most = nested.span.least, nested.span.most
        found.add([(nested.column, 1.0), *((gang, -float(most)) for gang in nested.gangs)], upper=0.0)
        if least:
            found.add([(nested.column, 1.0), *((gang, -float(least)) for gang in nested.gangs)], lower=0.0)
    shapes = _shapes(layout)
    lifted = [_gang_room_rows(room, shapes[room.pools, room.devices], found) for room in layout.gang_rooms]
    left = LIFTED_ROWS
    for lift in sorted(lifted, key=lambda lift: lift.most):
        left -= len(lift.keep)
        if left < 0:
            break
        found.add_pairs(lift.column, 1.0, lift.keep, lift.loss, upper=float(lift.most))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """What rooms for groups of whole nodes have in common, whatever the groups' size.

    Attributes:
        gangs: columns of the gangs that can only lie here, and how many nodes each takes.
        whole: nodes there are.
        free: nodes that no running job holds, or that are idle by what ``held`` says.
        held_columns, held: columns of jobs and rooms that change that number, and by how much.
        keep, nodes: columns of jobs that may stay, and how many of the nodes each holds in part.
    """

    gangs: tuple[tuple[int, int], ...]
    whole: int
    free: int
    held_columns: IntArray
    held: FloatArray
    keep: IntArray
    nodes: IntArray


class _Lifts(NamedTuple):
    """Rows lifted once for every job that may stay: columns of a room and of jobs, and their losses."""

    most: int
    column: int
    keep: IntArray
    loss: FloatArray


def _shapes(layout: Layout) -> dict[tuple[tuple[int, ...], int], _Shape]:
    """By pools and devices of a node of every gang room."""
    inside_of: dict[tuple[int, int], list[tuple[int, int, int, frozenset[int]]]] = defaultdict(list)
    for order, ((kind, domain), column) in enumerate(layout.gang_column.items()):
        if len(kind[1]) > 1:
            continue
        block, multiplicity = kind[1][0]
        pools = [p for p, _ in layout.flow_pools[flow_of(kind, block, domain)]]
        if pools:
            devices = layout.instance.blocks[block].demand[0]
            inside_of[devices, pools[0]].append((order, column, multiplicity, frozenset(pools)))
    found: dict[tuple[tuple[int, ...], int], _Shape] = {}
    for room in layout.gang_rooms:
        if (room.pools, room.devices) not in found:
            inside = set(room.pools)
            near = [gang for p in room.pools for gang in inside_of.get((room.devices, p), ())]
            gangs = sorted(gang[:3] for gang in near if gang[3] <= inside)
            asking = tuple((column, multiplicity) for _, column, multiplicity in gangs)
            found[room.pools, room.devices] = _shape(layout, room, asking)
    return found


def _shape(layout: Layout, room: GangRoom, gangs: tuple[tuple[int, int], ...]) -> _Shape:
    instance = layout.instance
    whole = int(instance.pools.size[list(room.pools)].sum())
    free = whole
    held: dict[int, float] = {}
    nodes_of: dict[int, int] = {}
    for pool in room.pools:
        for one in layout.rooms.get((pool, room.devices), ()):
            free -= 1
            if one.column >= 0:
                held[one.column] = -1.0
            else:
                free += one.constant
            for c, loss in one.keep:
                nodes_of[c] = nodes_of.get(c, 0) + 1
                if one.column < 0:
                    column = int(layout.keep_column[c])
                    held[column] = held.get(column, 0.0) + loss
    return _Shape(
        gangs=gangs,
        whole=whole,
        free=free,
        held_columns=np.array(list(held), dtype=np.int64),
        held=np.array(list(held.values()), dtype=np.float64),
        keep=layout.keep_column[np.array(list(nodes_of), dtype=np.int64)],
        nodes=np.array(list(nodes_of.values()), dtype=np.int64),
    )


def _gang_room_rows(room: GangRoom, shape: _Shape, found: Rows) -> _Lifts:
    """Gangs of m whole nodes count ``floor(m / nodes)`` groups; a domain has so many as its free nodes make.

    As in the nested rows of a pool, with whole nodes as the unit (formulation, section 1, rows 4 and 6).
    Returns the most groups there can be, and the row lifted once for every job that may stay.
    """
    asked = [(column, float(multiplicity // room.nodes)) for column, multiplicity in shape.gangs]
    found.add([(room.column, -1.0), *asked], upper=0.0)
    columns = np.append(room.column, shape.held_columns)
    found.add_arrays(columns, np.append(float(room.nodes), shape.held), upper=float(shape.free))
    most = shape.whole // room.nodes
    loss = most - (shape.whole - shape.nodes) // room.nodes
    tighter = loss * room.nodes > shape.nodes
    return _Lifts(most, room.column, shape.keep[tighter], loss[tighter].astype(np.float64))


def _apart_rows(layout: Layout, kind: GangKind, domains: Mapping[Domain, int], found: Rows) -> None:
    """No gang of ``kind`` lies in one domain of a scope at which it would run slower.

    Of n gangs with m blocks each, one domain holds at most n (m - 1) blocks; dealt out in turn, no gang then
    has all of its blocks there. (On single nodes of larger pools this is left to the binder.)
    """
    instance = layout.instance
    node_scope = len(instance.speeds.scopes) - 1
    gangs = {domain: [(column, 1.0)] for domain, column in domains.items()}
    if not gangs:
        gangs[ROOT] = [(column, 1.0) for column in layout.kind_columns[kind].tolist()]
    blocks = sum(multiplicity for _, multiplicity in kind[1])
    for domain, counts in gangs.items():
        for scope in kind[2]:
            inside: dict[int, list[int]] = defaultdict(list)
            for block, _ in kind[1]:
                for pool, column in layout.flow_pools[flow_of(kind, block, domain)]:
                    where = int(instance.pools.domain_at[pool, scope])
                    if scope == node_scope:
                        where = pool if instance.pools.size[pool] == 1 else NO_DOMAIN
                    if where != NO_DOMAIN:
                        inside[where].append(column)
            for columns in inside.values():
                found.add(
                    [*((c, 1.0) for c in columns), *((c, -(blocks - 1.0) * n) for c, n in counts)], upper=0.0
                )
