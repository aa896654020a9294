"""Capacity: devices, CPU and memory of every node, recomputed in integers (properties P2 and P3).

On EXACT nodes new tasks name usable device indices that nobody else holds afterwards, or whose held parts
make at most one device: whole devices and parts are one ledger (property P3). On COUNT_ONLY nodes indices are
neither revealed nor pinned and only the number counts (decision 21). A limit that the jobs that go on break
already is reported elsewhere and may not get worse (property P25): what is allowed is the larger of the limit
and what the running jobs that are not forced off hold now.
"""

from __future__ import annotations

import math
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from gangplan.domain.cluster import DeviceReporting
from gangplan.domain.job import WHOLE_DEVICE
from gangplan.model.formulation.layout import blocks_in
from gangplan.model.formulation.rows import Rows
from gangplan.model.instance.sites import DIMENSIONS, Vector
from gangplan.model.verifier.reading import going_on, unplanned
from gangplan.model.verifier.starts import present
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from gangplan.domain.job import DeviceShare, TaskGroup
    from gangplan.model.formulation.layout import Layout, Room
    from gangplan.model.program import IntArray
    from gangplan.model.verifier.columns import Bools
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.holding import Holding
    from gangplan.model.verifier.reading import Change, Reading
    from gangplan.model.verifier.starts import Singles, Starts

NAME = "capacity"
RULES = (
    "capacity.device-indices",
    "capacity.device-unusable",
    "capacity.device-shared",
    "capacity.device-share",
    "capacity.device-count",
    "capacity.cpu",
    "capacity.memory",
)


_SANE = 4096
"""No node has a device of such an index."""
_BITS_IN_MEMORY = 4_096


class Use:
    """What is held on one node: CPU (thousandths), memory (bytes) and, where only they count, devices."""

    __slots__ = ("cpu_milli", "devices", "memory_bytes")

    def __init__(self, cpu_milli: int = 0, memory_bytes: int = 0, devices: int = 0) -> None:
        self.cpu_milli = cpu_milli
        self.memory_bytes = memory_bytes
        self.devices = devices

    def copy(self) -> Use:
        """The same, to go on with."""
        return Use(self.cpu_milli, self.memory_bytes, self.devices)


_NONE = Use()


def violations(reading: Reading) -> list[Violation]:
    """Nodes that hold more than they may, and devices that are wrong, unusable or held twice."""
    found = reading.judged(_indices, _sound)
    final = reading.once(final_use)
    for node in sorted(final):
        found += _totals(node, final[node], reading)
    return found + _shared(reading, final)


def present_use(facts: RoundFacts) -> dict[str, Use]:
    """By node: what the running jobs that are not forced off hold now."""
    use: dict[str, Use] = {}
    for change in facts.once(going_on).values():
        if change.before and change.forced is None:
            add_use(use, change, change.before, facts.nodes)
    there = facts.once(present).there
    if there is not None:
        _add_singles(use, there)
    return use


def final_use(reading: Reading) -> dict[str, Use]:
    """What every node where something starts holds after the plan.

    What goes on there now, less what of that changes, and with what it changes to: the sum over all jobs of
    what they hold afterwards.
    """
    now, starts = reading.facts.once(present_use), reading.starts
    touched = {node for change in reading.changed.values() for _, node in change.started}
    if starts is not None:
        there = starts.there
        touched |= {there.columns.node_names[node] for node in np.unique(there.node).tolist()}
    final = {node: now[node].copy() if node in now else Use() for node in touched}
    if starts is not None:
        _add_singles(final, starts.there)
    for change in reading.changed.values():
        if change.before and change.forced is None:
            add_use(final, change, change.before, final, -1)
        if change.after:
            add_use(final, change, change.after, final)
    return final


def _add_singles(use: dict[str, Use], singles: Singles) -> None:
    """Add what jobs on one node each hold."""
    columns = singles.columns
    where, row = np.unique(singles.node, return_inverse=True)
    sums = np.zeros((3, len(where)), dtype=np.int64)
    for own, per_task in zip(sums, (columns.cpu, columns.memory, columns.devices), strict=True):
        np.add.at(own, row, singles.taken(per_task))
    for node, cpu, memory, devices in zip(where.tolist(), *sums.tolist(), strict=True):
        name = columns.node_names[node]
        here = use.get(name)
        if here is None:
            here = use[name] = Use()
        here.cpu_milli += cpu
        here.memory_bytes += memory
        here.devices += devices


def _shared(reading: Reading, touched: Container[str]) -> list[Violation]:
    """Devices of nodes where something starts that are held twice, once at least by a new task."""
    crowded = _held_twice(reading, touched)
    if not crowded:
        return []
    holders: dict[str, list[tuple[str, frozenset[int], int]]] = {}
    fresh: dict[str, set[int]] = {}
    changing = dict(reading.changed)
    changing.update((change.job.name, change) for change in reading.started_on(crowded))
    for name, change in changing.items():
        for key, held in change.after.items():
            if held.devices and key[1] in crowded:
                each = milli_of_each(change.groups[key[0]])
                holders.setdefault(key[1], []).append((name, held.devices, each))
                if key in change.started:
                    fresh.setdefault(key[1], set()).update(change.started[key].devices)
    found: list[Violation] = []
    for node, devices in fresh.items():
        there = holders[node]
        there += [held for held in _pinned_on(node, reading.facts) if held[0] not in reading.changed]
        for device in devices:
            jobs = sorted(name for name, held, _ in there if device in held)
            milli = sum(each for _, held, each in there if device in held)
            if len(jobs) > 1 and milli > WHOLE_DEVICE:
                message = f"device {device} of {node} is held more than once, by {' and '.join(jobs)}"
                if milli != WHOLE_DEVICE * len(jobs):
                    message += f": {milli} of {WHOLE_DEVICE} thousandths"
                found.append(Violation("capacity.device-shared", jobs[-1], node, "", message))
    return found


def _held_twice(reading: Reading, touched: Container[str]) -> set[str]:
    """Those of the nodes on which more devices are held than there are different ones, by whomever.

    Nodes with a device whose index is no sane one are among them.
    """
    bits: dict[str, int] = {}
    number: dict[str, int] = {}
    odd: set[str] = set()
    if reading.starts is not None:
        bits, number = _listed(reading.starts.there)
    for change in reading.changed.values():
        for (_, node), held in change.after.items():
            if held.devices and node in touched:
                theirs = _bits(held.devices)
                if theirs < 0:
                    odd.add(node)
                else:
                    bits[node] = bits.get(node, 0) | theirs
                    number[node] = number.get(node, 0) + len(held.devices)
    together = reading.facts.once(_pinned_together)
    disturbed = {node for change in reading.changed.values() for _, node in change.before}
    for node in bits:
        if node in disturbed:
            for name, devices, _ in _pinned_on(node, reading.facts):
                if name not in reading.changed:
                    bits[node] |= _bits(devices)
                    number[node] += len(devices)
        elif node in together:
            theirs, count = together[node]
            bits[node] |= theirs
            number[node] += count
    return odd | {node for node, each in bits.items() if each.bit_count() != number[node]}


def _listed(singles: Singles) -> tuple[dict[str, int], dict[str, int]]:
    """Bits of the devices that jobs on one node each list there, by node, and how many they list."""
    where, row = np.unique(singles.node, return_inverse=True)
    bits, number = np.zeros(len(where), dtype=np.int64), np.zeros(len(where), dtype=np.int64)
    np.bitwise_or.at(bits, row, singles.bits)
    np.add.at(number, row, singles.listed)
    there = [singles.columns.node_names[node] for node in where.tolist()]
    return dict(zip(there, bits.tolist(), strict=True)), dict(zip(there, number.tolist(), strict=True))


@lru_cache(_BITS_IN_MEMORY)
def _bits(devices: frozenset[int]) -> int:
    """One bit for each device; -1 when an index is no sane one."""
    if not all(0 <= device < _SANE for device in devices):
        return -1
    return sum(1 << device for device in devices)


def _pinned_together(facts: RoundFacts) -> dict[str, tuple[int, int]]:
    """Bits and number by node of the devices that running jobs hold which are not forced off."""
    found = {
        node: (reduce(or_, [_bits(devices) for _, devices, _ in there]), sum(len(d) for _, d, _ in there))
        for node, there in facts.once(_pinned).items()
    }
    singles = facts.once(present).there
    if singles is not None:
        bits, number = _listed(singles)
        for node, theirs in bits.items():
            before, count = found.get(node, (0, 0))
            found[node] = before | theirs, count + number[node]
    return found


def _pinned_on(node: str, facts: RoundFacts) -> list[tuple[str, frozenset[int], int]]:
    """What each running job that is not forced off holds on a node: devices, and thousandths of each."""
    found = list(facts.once(_pinned).get(node, ()))
    every = facts.once(unplanned)
    for name in facts.once(_present_on).get(node, ()):
        for (group, _), held in every[name].after.items():
            if held.devices:
                found.append((name, held.devices, milli_of_each(every[name].groups[group])))
    return found


def _present_on(facts: RoundFacts) -> dict[str, list[str]]:
    """Jobs of :func:`present` by node."""
    there = facts.once(present)
    found: dict[str, list[str]] = {}
    if there.there is not None:
        for name, node in zip(there.names, there.there.node.tolist(), strict=True):
            found.setdefault(there.there.columns.node_names[node], []).append(name)
    return found


def _pinned(facts: RoundFacts) -> dict[str, list[tuple[str, frozenset[int], int]]]:
    """By node: what :func:`_pinned_on` says of jobs that are not of :func:`present`."""
    found: dict[str, list[tuple[str, frozenset[int], int]]] = {}
    for name, change in facts.once(going_on).items():
        for (group, node), held in change.after.items():
            if held.devices:
                each = milli_of_each(change.groups[group])
                found.setdefault(node, []).append((name, held.devices, each))
    return found


def milli_of_each(group: TaskGroup) -> int:
    """Thousandths that a task of ``group`` holds of each of its devices."""
    return WHOLE_DEVICE if group.device_share is None else group.device_share.compute_milli


def add_use(
    use: dict[str, Use], change: Change, holding: Holding, nodes: Container[str], sign: int = 1
) -> None:
    """Add (``sign`` -1: take away) a holding of a job to ``use``, by node.

    Args:
        use: what is held so far; changed.
        change: the job's.
        holding: what is added.
        nodes: the nodes that matter.
        sign: 1 or -1.
    """
    for (name, node), held in holding.items():
        if node in nodes and name in change.groups:
            group, tasks = change.groups[name], sign * held.tasks
            here = use.get(node)
            if here is None:
                here = use[node] = Use()
            here.cpu_milli += group.resources_per_task.cpu_milli * tasks
            here.memory_bytes += group.resources_per_task.memory_bytes * tasks
            here.devices += group.devices_per_task * tasks


def limits(name: str, facts: RoundFacts) -> tuple[tuple[str, int, int, int], ...]:
    """(dimension, limit, present use, what is allowed) of each dimension that is counted on a node."""
    known = facts.once(_known_limits)
    if name not in known:
        node, present = facts.nodes[name], facts.once(present_use).get(name, _NONE)
        usable = node.usable_resources
        rows = [
            ("cpu", usable.cpu_milli, present.cpu_milli),
            ("memory", usable.memory_bytes, present.memory_bytes),
        ]
        if node.device_reporting is DeviceReporting.COUNT_ONLY:
            rows.append(("device-count", node.usable_device_count, present.devices))
        known[name] = tuple((what, limit, now, max(limit, now)) for what, limit, now in rows)
    return known[name]


def _known_limits(facts: RoundFacts) -> dict[str, tuple[tuple[str, int, int, int], ...]]:
    """Limits by node, filled by :func:`limits` as they are asked for."""
    return {}


def _usable(facts: RoundFacts) -> dict[str, frozenset[int]]:
    """Devices that may be used, by node."""
    return {name: node.usable_devices for name, node in facts.nodes.items()}


def amount(use: Use, dimension: str) -> int:
    """The figure of ``use`` in a dimension of :func:`limits`."""
    if dimension == "cpu":
        return use.cpu_milli
    return use.memory_bytes if dimension == "memory" else use.devices


def _totals(node: str, final: Use, reading: Reading) -> list[Violation]:
    found: list[Violation] = []
    for dimension, limit, now, allowed in limits(node, reading.facts):
        held = amount(final, dimension)
        if held > allowed:
            message = f"{node} would hold {held} of {limit} {dimension} ({now} now)"
            found.append(Violation(f"capacity.{dimension}", "", node, "", message))
    return found


def _sound(starts: Starts, facts: RoundFacts) -> Bools:
    """Starts with as many devices as they take, all of them usable, or with none where they only count."""
    del facts
    there, columns = starts.there, starts.there.columns
    exact = columns.exact[there.node]
    wanted = np.where(exact, there.taken(columns.devices), 0)
    usable = ~exact | ((there.bits & ~columns.usable[there.node]) == 0)
    sound: Bools = (there.listed == wanted) & usable
    return sound


def _indices(change: Change, facts: RoundFacts) -> list[Violation]:
    """Wrong numbers of indices, and new ones that cannot be used."""
    found: list[Violation] = []
    action = change.action.id if change.action else ""
    name, nodes, usable = change.job.name, facts.nodes, facts.once(_usable)
    for key, held in change.after.items():
        group, node = key
        exact = nodes[node].device_reporting is DeviceReporting.EXACT
        expected = held.tasks * change.groups[group].devices_per_task if exact else 0
        if len(held.devices) != expected:
            message = f"{name} lists {len(held.devices)} devices for {group} on {node}; it takes {expected}"
            found.append(Violation("capacity.device-indices", name, node, action, message))
        part = change.groups[group].device_share
        if held.shares != (() if part is None else (part,) * len(held.devices)):
            message = f"{name} holds {_parts(held.shares)} for {group} on {node}; it takes {_parts((part,))}"
            found.append(Violation("capacity.device-share", name, node, action, message))
        if exact and key in change.started and not change.started[key].devices <= usable[node]:
            wrong = sorted(change.started[key].devices - usable[node])
            message = f"{name} takes devices {wrong} of {node}, which cannot be used"
            found.append(Violation("capacity.device-unusable", name, node, action, message))
    return found


def _parts(shares: Sequence[DeviceShare | None]) -> str:
    """Parts of devices in words."""
    said = [f"{share.compute_milli} thousandths" for share in shares if share is not None]
    return " and ".join(said) or "whole devices"


def rows(layout: Layout) -> Rows:
    """Capacity of every pool, in every dimension and for every device size.

    Besides the sums, for every size s that occurs: blocks count ``floor(devices / s)`` each, and a node holds
    ``floor(free / s)`` of them. That holds for any sizes, and is exact where sizes divide each other
    (formulation, section 1; decision 28). Parts of a device are counted in the sums, and where they are more
    than half of one, as one device each.
    """
    instance, found = layout.instance, Rows()
    keep_column: list[int] = layout.keep_column.tolist()
    for p in range(instance.pools.count):
        if layout.pool_flows[p]:
            blocks = [(column, instance.blocks[flow[0]].demand) for flow, column in layout.pool_flows[p]]
            kept = [
                (keep_column[c], amounts)
                for node in instance.pools.members[p].tolist()
                if node in layout.kept_on
                for c, amounts in layout.kept_on[node]
            ]
            for dimension in range(len(DIMENSIONS)):
                _sum_row(layout, p, dimension, blocks, kept, found)
            for size in layout.sizes[p]:
                if size > 1:
                    _nested_row(layout, p, size, blocks, keep_column, found)
    return found


def _sum_row(
    layout: Layout,
    pool: int,
    dimension: int,
    blocks: list[tuple[int, Vector]],
    kept: list[tuple[int, Vector]],
    found: Rows,
) -> None:
    capacity = layout.instance.pools.capacity[pool]
    staying = [(column, amounts[dimension]) for column, amounts in kept if amounts[dimension]]
    if (
        dimension
        and not staying
        and all(_devices_bind_first(demand, capacity, dimension) for _, demand in blocks)
    ):
        return
    entries = [(column, demand[dimension]) for column, demand in blocks if demand[dimension]]
    unit = _unit([amount for _, amount in entries] + [amount for _, amount in staying])
    limit = int(capacity[dimension]) * int(layout.instance.pools.size[pool])
    found.add(
        [(column, float(amount // unit)) for column, amount in [*entries, *staying]],
        upper=float(limit // unit),
    )


def _devices_bind_first(demand: tuple[int, int, int], capacity: IntArray, dimension: int) -> bool:
    return demand[dimension] * max(1, int(capacity[0])) <= int(capacity[dimension]) * demand[0]


def _unit(amounts: list[int]) -> int:
    """A common unit that keeps coefficients below 2^20.

    Rounding amounts and limit down loosens the row and never cuts off a plan that fits.
    """
    if not amounts:
        return 1
    return max(math.gcd(*amounts), max(amounts) >> 20, 1)


def _nested_row(
    layout: Layout,
    pool: int,
    size: int,
    blocks: list[tuple[int, Vector]],
    keep_column: list[int],
    found: Rows,
) -> None:
    instance = layout.instance
    capacity = int(instance.pools.capacity[pool, 0])
    rooms = layout.rooms[pool, size]
    untouched = int(instance.pools.size[pool]) - len(rooms)
    parts = instance.nodes.parts
    entries = [(column, float(blocks_in(demand[0], size, parts))) for column, demand in blocks]
    limit = float(untouched * blocks_in(capacity, size, parts))
    for room in rooms:
        if room.column < 0:
            limit += room.constant
            entries.extend([(keep_column[c], float(amount)) for c, amount in room.keep])
        else:
            entries.append((room.column, -1.0))
            _room_rows(layout, room, capacity, keep_column, found)
    found.add(entries, upper=limit)


def _room_rows(layout: Layout, room: Room, capacity: int, keep_column: list[int], found: Rows) -> None:
    """A room counts at most what fits beside the jobs that stay; lifted once for each of them."""
    held = {c: amounts[0] for c, amounts in layout.kept_on[room.node] if amounts[0]}
    kept = [(keep_column[c], float(devices)) for c, devices in held.items()]
    found.add([(room.column, float(room.size)), *kept], upper=float(capacity))
    for c, loss in room.keep:
        if loss * room.size > held[c]:
            found.add([(room.column, 1.0), (keep_column[c], float(loss))], upper=float(room.constant))
