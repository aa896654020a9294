"""A plan taken apart and put together anew, again and again, around prices (:mod:`.ruin`).

What the prices leave far behind is no way of anybody here; what a plan does that is no way (several groups of
tasks, parts of devices, resizes in place) stays as it is. Whoever is held, or may not be stopped, goes on
doing what it does.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import fill, stay_where_free
from gangplan.model.packing.in_place import prefer_in_place
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.quotas import option_devices
from gangplan.model.packing.ruin import ruin_and_recreate
from gangplan.model.packing.ruin_state import BEST, OUT, Field, State
from gangplan.model.prices.prices import Prices
from gangplan.model.program import BoolArray, FloatArray, IntArray

_WIDTH = 64
"""Most blocks of a way."""
_MOST_WAYS = 60_000
_LEAST_SIZE = 1e-6
"""Devices of a way without any, where worth is compared by device."""


class _Jobs(NamedTuple):
    """Whose ways are looked at, and their ways one after the other.

    Attributes:
        jobs: job indices.
        class_of: shape (jobs,), their classes.
        runs: shape (jobs,), whether the last way of each is to stay.
        start: shape (jobs + 1,), ways of each.
        option: shape (ways,), positions of options; -1 for staying.
    """

    jobs: IntArray
    class_of: IntArray
    runs: BoolArray
    start: IntArray
    option: IntArray


@dataclass(slots=True, eq=False)
class Recreation:
    """A plan that gets better the more steps are taken.

    Attributes:
        instance: the round as arrays.
        start: the plan that it began with.
    """

    instance: Instance
    start: Assignment
    _field: Field
    _state: State
    _who: _Jobs
    _height: float

    @classmethod
    def of(
        cls,
        instance: Instance,
        prices: Prices,
        start: Assignment,
        *,
        held: Collection[int] = (),
        regret: float,
        height: float,
        seed: int = 0,
    ) -> Recreation | None:
        """Begin with a plan.

        Args:
            instance: the round as arrays.
            prices: good ones; they say which ways are near.
            start: a plan.
            held: running classes that go on doing what they do.
            regret: what a way may lack at most of its job's best at the prices, in GPU-equivalents.
            height: the highest temperature, in the same unit.
            seed: of the random numbers.

        Returns:
            None where devices are shared in parts, stages decide before the objective, or nothing is near.
        """
        if instance.nodes.parts > 1 or instance.floors or instance.guarantee_floors:
            return None
        simple = np.array([_is_simple(instance, o) for o in range(len(instance.distinct))], dtype=np.bool_)
        profit = np.where(
            _rooted(instance)[instance.option_class], -np.inf, instance.gain - prices.option_cost
        )
        near = simple[instance.option] & (instance.gain > 0.0)
        near &= np.maximum(0.0, prices.best_profit)[instance.option_class] - profit <= regret
        does = {
            j: placed.option
            for j, placed in start.placed.items()
            if simple[instance.option[placed.option]] and _copies(instance, placed) is not None
        }
        near[list(does.values())] = True
        near &= np.isfinite(profit)
        who = _gather(instance, near, start.placed.keys() - does.keys())
        if not 0 < len(who.option) <= _MOST_WAYS:
            return None
        field = _field(instance, prices, who, held)
        return cls(instance, start, field, _state(instance, start, field, who, does, seed), who, height)

    @property
    def value(self) -> float:
        """What the best plan so far is worth more than the one it began with."""
        return float(self._state.worth[BEST])

    def improve(self, steps: int) -> None:
        """Take so many steps; holds no lock of the interpreter."""
        ruin_and_recreate(self._field, self._state, self._height, steps)

    def found(self) -> Assignment:
        """The best plan so far."""
        instance, field = self.instance, self._field
        mine = set(self._who.jobs.tolist())
        kept = {j for j in self.start.kept if j not in mine}
        placed = {j: each for j, each in self.start.placed.items() if j not in mine}
        best = (self._state.best_does.tolist(), self._state.best_spots.tolist())
        for j, way, spots in zip(self._who.jobs.tolist(), *best, strict=True):
            if way == OUT:
                continue
            if field.block[way] < 0:
                kept.add(j)
                continue
            k = int(self._who.option[way])
            tasks = instance.option_at(k).demands[0].tasks
            there = [
                (node, tuple(number * each for each in tasks))
                for node, number in itertools.takewhile(lambda spot: spot[0] >= 0, spots)
            ]
            placed[j] = Placed(k, tuple(sorted(there)))
        return replace(self.start, kept=frozenset(kept), placed=placed)

    def assignment(self, order: IntArray) -> Assignment:
        """The best plan so far, and what is left free filled.

        Args:
            order: positions of options in the order in which it is filled.
        """
        instance, found = self.instance, self.found()
        staying = {int(instance.class_of_job[j]) for j in found.kept}
        occupancy = Occupancy(instance, staying)
        placed = {j: occupancy.take_placed(j, each) for j, each in sorted(found.placed.items())}
        staying |= stay_where_free(occupancy, staying, placed)
        stays = frozenset(instance.classes[c].jobs[0] for c in staying)
        filled = fill(occupancy, replace(found, kept=stays, placed=placed), Fit.BEST, order)
        return prefer_in_place(occupancy, filled)


def _is_simple(instance: Instance, o: int) -> bool:
    """Whether a distinct option is some alike blocks that may lie anywhere in one domain."""
    option = instance.distinct[o]
    return len(option.demands) == 1 and not option.apart and option.demands[0].multiplicity <= _WIDTH


def _rooted(instance: Instance) -> BoolArray:
    """Running classes that may not move, shape (classes,)."""
    found = np.zeros(len(instance.classes), dtype=np.bool_)
    for c in np.flatnonzero(instance.kept).tolist():
        found[c] = not instance.jobs[instance.classes[c].jobs[0]].capabilities.movable
    return found


def _copies(instance: Instance, placed: Placed) -> list[tuple[int, int]] | None:
    """Nodes and blocks on each; None where tasks are no whole blocks."""
    demand = instance.option_at(placed.option).demands[0]
    size = sum(demand.tasks)
    found = []
    for node, tasks in placed.spots:
        number = sum(tasks) // size if size else 0
        if not number or tasks != tuple(number * each for each in demand.tasks):
            return None
        found.append((node, number))
    return found if sum(number for _, number in found) == demand.multiplicity else None


def _gather(instance: Instance, near: BoolArray, foreign: Collection[int]) -> _Jobs:
    """All jobs with a way that is ``near``, and running ones, but those that are ``foreign``."""
    positions = np.flatnonzero(near)
    begin = np.searchsorted(instance.option_class[positions], np.arange(len(instance.classes) + 1))
    jobs: list[int] = []
    ways: list[IntArray] = [np.zeros(0, dtype=np.int64)]
    for c, job_class in enumerate(instance.classes):
        mine = positions[begin[c] : begin[c + 1]]
        if job_class.kept:
            mine = np.append(mine, -1)
        asked = [j for j in job_class.jobs if j not in foreign] if len(mine) else []
        jobs += asked
        ways += [mine] * len(asked)
    where = np.array(jobs, dtype=np.int64)
    class_of = instance.class_of_job[where]
    start = np.cumsum([len(mine) for mine in ways])
    return _Jobs(where, class_of, instance.kept[class_of], start, np.concatenate(ways))


def _field(instance: Instance, prices: Prices, who: _Jobs, held: Collection[int]) -> Field:
    job = np.repeat(np.arange(len(who.jobs)), np.diff(who.start))
    class_of = who.class_of[job]
    moves = who.option >= 0
    known = np.where(moves, who.option, 0)
    distinct = instance.option[known]
    demands = [option.demands[0] for option in instance.distinct]
    block, copies, scope = (
        np.where(moves, np.array(column, dtype=np.int64)[distinct], empty)
        for column, empty in (
            ([instance.block_index[demand.block] for demand in demands], -1),
            ([demand.multiplicity for demand in demands], 0),
            ([option.scope for option in instance.distinct], 0),
        )
    )
    gain = np.where(moves, instance.gain[known], instance.keep_gain[class_of])
    devices = np.where(moves[:, None], option_devices(instance)[distinct], instance.keeps.devices[class_of])
    cost = np.where(moves, prices.option_cost[known], _held_cost(instance, prices)[class_of])
    lacks = np.where(moves, np.maximum(0.0, prices.best_profit)[class_of] - (gain - cost), 0.0)
    _, some, kind = np.unique(
        np.column_stack([block, copies, scope]), axis=0, return_index=True, return_inverse=True
    )
    kind = kind.reshape(-1)
    one_type = (devices[:, :-1] == devices[:, -1:]) & (devices[:, -1:] > 0)
    order = _orders(gain, cost, devices[:, -1])
    entries, held_start = _entries(instance.keeps.class_of, len(instance.classes), who)
    node_start, node, serves = _nodes_by_block(instance)
    chains = [instance.limits.ancestors[q] if q >= 0 else () for q in instance.queue[who.class_of].tolist()]
    classes = [instance.classes[c] for c in who.class_of.tolist()]
    stopped = instance.round.policy.disruption_limit
    found = Field(
        job=job,
        block=block,
        kind=kind,
        kind_block=block[some],
        serves=serves,
        copies=copies,
        scope=scope,
        gain=gain,
        devices=devices,
        type=np.where(one_type.any(axis=1), one_type.argmax(axis=1), -1),
        orders=np.ascontiguousarray(np.stack([order, job[order], kind[order]], axis=2)),
        nearest=np.argsort(lacks, kind="stable"),
        demand=np.array([each.demand for each in instance.blocks], dtype=np.int64).reshape(-1, 3),
        node_start=node_start,
        node=node,
        domain_at=np.ascontiguousarray(instance.nodes.domain_at, dtype=np.int64),
        domains=int(instance.nodes.domain_at.max(initial=0)) + 1,
        chain_start=np.cumsum([0, *(len(chain) for chain in chains)]),
        chain=np.array([queue for chain in chains for queue in chain], dtype=np.int64),
        held_start=held_start,
        held_node=instance.keeps.node[entries],
        held=np.ascontiguousarray(instance.keeps.amounts[entries]),
        runs=who.runs,
        fixed=np.array([each.must_stay or each.must_run for each in classes], dtype=np.bool_)
        | np.isin(who.class_of, list(held)),
        most_stopped=len(who.jobs) if stopped is None else stopped,
    )
    return Field._make(_plain(each) if isinstance(each, np.ndarray) else each for each in found)


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """A copy in one piece that may be written: compiled loops are compiled anew for whatever is not."""
    return np.array(array, order="C")


def _entries(class_of: IntArray, classes: int, who: _Jobs) -> tuple[IntArray, IntArray]:
    """Entries of what running jobs hold, job by job (CSR): positions, and where each job's begin."""
    start = np.searchsorted(class_of, np.arange(classes + 1))
    begin = np.where(who.runs, start[who.class_of], 0)
    number = np.where(who.runs, start[who.class_of + 1], 0) - begin
    held_start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(number)])
    return np.repeat(begin - held_start[:-1], number) + np.arange(held_start[-1]), held_start


def _state(
    instance: Instance, start: Assignment, field: Field, who: _Jobs, does: Mapping[int, int], seed: int
) -> State:
    """The plan ``start`` as the loop has it."""
    occupancy = Occupancy(instance, instance.class_of_job[list(start.kept)].tolist())
    for j, placed in start.placed.items():
        occupancy.take_placed(j, placed)
    width = max(1, int(field.copies.max(initial=1)), int(np.diff(field.held_start).max(initial=1)))
    now = np.full(len(who.jobs), OUT, dtype=np.int64)
    spots = np.full((len(now), width, 2), -1, dtype=np.int64)
    for u, j in enumerate(who.jobs.tolist()):
        begin, end = int(who.start[u]), int(who.start[u + 1])
        if j in start.kept:
            now[u] = end - 1
            nodes = field.held_node[field.held_start[u] : field.held_start[u + 1]]
            spots[u, : len(nodes), 0] = nodes
        elif j in does:
            now[u] = begin + int(np.flatnonzero(who.option[begin:end] == does[j])[0])
            there = _copies(instance, start.placed[j]) or []
            spots[u, : len(there)] = there
    head = np.full(len(occupancy.free), -1, dtype=np.int64)
    links = np.full((len(now) * width, 2), -1, dtype=np.int64)
    for entry, node in enumerate(spots[:, :, 0].reshape(-1).tolist()):
        if node >= 0:
            links[entry, 1] = head[node]
            links[head[node], 0] = entry if head[node] >= 0 else links[head[node], 0]
            head[node] = entry
    return State(
        free=_plain(occupancy.free[:, :3]),
        left=_plain(occupancy.quotas_left),
        does=now,
        spots=spots,
        head=head,
        links=links,
        best_does=now.copy(),
        best_spots=spots.copy(),
        worth=np.zeros(2),
        tally=np.array([seed, 1], dtype=np.int64),
    )


def _held_cost(instance: Instance, prices: Prices) -> FloatArray:
    """About what the place of every running class costs, shape (classes,): by the device as options do."""
    types = instance.keeps.devices.shape[1] - 1
    device = np.zeros(types + 1)
    each = option_devices(instance)[instance.option]
    for t in range(types):
        mine = (each[:, t] > 0) & (each[:, t] == each[:, -1]) & np.isfinite(prices.option_cost)
        if mine.any():
            device[t] = np.median(prices.option_cost[mine] / each[mine, t])
    return np.asarray(instance.keeps.devices @ device, dtype=np.float64)


def _orders(gain: FloatArray, cost: FloatArray, devices: IntArray) -> IntArray:
    """Ways by profit per device, by size and profit, and by gain per device, shape (3, ways)."""
    size = np.maximum(devices, _LEAST_SIZE)
    density = (gain - cost) / size
    return np.ascontiguousarray(
        [
            np.argsort(-density, kind="stable"),
            np.lexsort((-density, -devices)),
            np.argsort(-gain / size, kind="stable"),
        ]
    ).astype(np.int64)


def _nodes_by_block(instance: Instance) -> tuple[IntArray, IntArray, BoolArray]:
    """By block: open nodes that could take it when empty (CSR), and the same as (blocks, nodes)."""
    serves = np.zeros((len(instance.blocks), len(instance.nodes.nodes)), dtype=np.bool_)
    for block, pools in enumerate(instance.block_pools > 0):
        for pool in np.flatnonzero(pools).tolist():
            serves[block, instance.pools.members[pool]] = True
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(serves.sum(axis=1))])
    return start, np.nonzero(serves)[1], serves
