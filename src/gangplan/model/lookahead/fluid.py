"""The fluid plan: how many jobs of each class run in which way in each bucket, as a linear programme.

Variables ``y[c, o, b]`` are jobs of class c that run under option o in bucket b, on average over the bucket.

* A class's work: ``sum over o, b of y length_b X_co / left_c <= jobs_c``, with ``left_c`` its mean work left.
* ``sum over o of y <= jobs_c`` in each bucket; places as in ``room``; queue limits.
* Each unit of a class's work that is done in bucket b earns ``g_c(end) - g_c(b)`` with
  ``g_c(t) = (rho_c(t)) ** (1 + p)``, where ``rho_c(t) = (age + t) / fair finish`` is the finish-time fairness
  ratio of a job that is done at t (decision 11; Themis, NSDI 2020) and p the policy's fairness power:
  weighted fair completion, and the more convex the more it minds who comes last. With p = 0 nobody is owed
  anything, and ``age + t`` counts by itself: mean completion (:func:`yardstick`). Work is charged at the time
  when it is done, the mean busy time relaxation of weighted completion time (Goemans, SODA 1997); so
  everything earns something at once, and nothing idles that could work (decision 48). Beyond :data:`STEEPEST`
  g goes on straight.
* All that is multiplied by the base weight and the root of ``req ** gamma``: halfway between a vote for each
  job, which lets large gangs wait, and one for each device, which lets small jobs wait. On 30 small histories
  the worst rho was 1.95, against 3.3 by jobs and 3.0 without a look-ahead, and mean completion 2.3 % sooner
  than without.
* Work before a deadline earns ``2 * policy.deadline_weight * max(1, g_c(deadline))`` more.
* Who runs and goes on in the first bucket saves what a stop would cost: ``g_c(done + lost) - g_c(done)``.

The service of Gavel's policies (OSDI 2020, section 4) is the case of one bucket.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gangplan.model.formulation.rows import INFINITY, Rows
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.left import counted_left
from gangplan.model.lookahead.buckets import Buckets
from gangplan.model.lookahead.crowd import Crowd, JobNumbers
from gangplan.model.lookahead.room import Room, Way, build_room, ways_of
from gangplan.model.program import Family, FloatArray, IntArray, Program

STEEPEST = 8.0
"""rho from which on its power is continued in a straight line (the clip of decision 11)."""
_SMALLEST = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Fluid:
    """The programme, and what its columns mean.

    Attributes:
        instance, numbers, crowd, buckets: what it was made of.
        program: columns ``entry * buckets + bucket``.
        class_of: shape (entries,), class of each (class, way).
        way: shape (entries,).
        throughput: shape (entries,), work units per second.
        ways: how jobs may run.
        room: what fits.
    """

    instance: Instance
    numbers: JobNumbers
    crowd: Crowd
    buckets: Buckets
    program: Program
    class_of: IntArray
    way: IntArray
    throughput: FloatArray
    ways: tuple[Way, ...]
    room: Room

    def running(self, values: FloatArray) -> FloatArray:
        """Jobs that run, by class, way and bucket, shape (entries, buckets), of column values."""
        return np.maximum(values, 0.0).reshape(len(self.class_of), self.buckets.count)


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The (class, way) pairs of a crowd.

    Attributes:
        ways: how jobs may run.
        class_of, way: shape (entries,).
        throughput: shape (entries,), work units per second.
    """

    ways: tuple[Way, ...]
    class_of: IntArray
    way: IntArray
    throughput: FloatArray


def build_entries(instance: Instance, crowd: Crowd) -> Entries:
    """Every way of every option of every class."""
    ways, by_option = ways_of(instance, sorted(set(crowd.option.tolist())))
    found = [
        (c, w, float(crowd.throughput[k]))
        for c in range(len(crowd.members))
        for k in range(int(crowd.start[c]), int(crowd.start[c + 1]))
        for w in by_option[int(crowd.option[k])]
        if crowd.throughput[k] > 0.0
    ]
    return Entries(
        ways,
        np.array([c for c, _, _ in found], dtype=np.int64),
        np.array([w for _, w, _ in found], dtype=np.int64),
        np.array([x for _, _, x in found], dtype=np.float64),
    )


def build_fluid(
    instance: Instance, numbers: JobNumbers, crowd: Crowd, buckets: Buckets, free: IntArray
) -> Fluid:
    """The programme of ``crowd``.

    Args:
        instance: the round.
        numbers: of its jobs.
        crowd: classes of those that are planned.
        buckets: time.
        free: shape (buckets, nodes, 3), what they may fill on every node.
    """
    entries = build_entries(instance, crowd)
    room = build_room(instance, entries.ways, free)
    size, left = crowd.size.astype(np.float64), crowd.mean(numbers.left)
    count = buckets.count
    done = entries.throughput[:, None] * buckets.seconds / left[entries.class_of, None]
    most = size[entries.class_of, None] / np.maximum(done, 1.0)
    rows = Rows()
    columns = np.arange(len(done) * count, dtype=np.int64)
    add_sums(rows, np.repeat(entries.class_of, count), columns, done.ravel(), size)
    families = [Family("work", 0, len(rows)), *add_limits(rows, instance, numbers, crowd, entries, room)]
    program = Program(
        objective=(
            _earned(instance, numbers, crowd, buckets, entries) * done
            + _saved(instance, numbers, crowd, entries, count)
        ).ravel(),
        lower=np.zeros(len(columns)),
        upper=most.ravel(),
        integer=np.zeros(len(columns), dtype=np.bool_),
        row_start=np.array(rows.start, dtype=np.int64),
        column_index=np.array(rows.column, dtype=np.int64),
        value=np.array(rows.value, dtype=np.float64),
        row_lower=np.array(rows.lower, dtype=np.float64),
        row_upper=np.array(rows.upper, dtype=np.float64),
        column_families=(Family("service", 0, len(columns)),),
        row_families=tuple(families),
    )
    return Fluid(
        instance,
        numbers,
        crowd,
        buckets,
        program,
        entries.class_of,
        entries.way,
        entries.throughput,
        entries.ways,
        room,
    )


def add_limits(
    rows: Rows, instance: Instance, numbers: JobNumbers, crowd: Crowd, entries: Entries, room: Room
) -> list[Family]:
    """Add what holds in every bucket, whatever the objective; returns the families of these rows.

    Columns are ``entry * buckets + bucket``: jobs that run, as in :class:`Fluid`.
    """
    families = []
    count = room.capacity.shape[1]
    begin = len(rows)
    _together(rows, entries, count, crowd.size.astype(np.float64))
    families.append(Family("jobs", begin, len(rows)))
    begin = len(rows)
    _places(rows, entries, room, count)
    families.append(Family("room", begin, len(rows)))
    begin = len(rows)
    _quotas(rows, instance, crowd, entries, numbers, count)
    families.append(Family("quota", begin, len(rows)))
    return families


def add_sums(rows: Rows, group: IntArray, columns: IntArray, values: FloatArray, upper: FloatArray) -> None:
    """Add ``sum of values over each group <= upper``; upper has shape (groups,)."""
    kept = np.abs(values) > _SMALLEST
    lower = np.full(len(upper), -INFINITY)
    rows.add_grouped(group[kept], columns[kept], values[kept], upper, lower)


def _together(rows: Rows, entries: Entries, count: int, size: FloatArray) -> None:
    """No more jobs than there are, where a class has several ways."""
    several = np.bincount(entries.class_of, minlength=len(size)) > 1
    mine = np.flatnonzero(several[entries.class_of])
    group = entries.class_of[mine, None] * count + np.arange(count)
    columns = mine[:, None] * count + np.arange(count)
    add_sums(rows, group.ravel(), columns.ravel(), np.ones(columns.size), np.repeat(size, count))


def _places(rows: Rows, entries: Entries, room: Room, count: int) -> None:
    by_way: dict[int, list[int]] = {}
    for e, w in enumerate(entries.way.tolist()):
        by_way.setdefault(w, []).append(e)
    group, columns, values = [], [], []
    for w, r, amount in zip(room.way.tolist(), room.row.tolist(), room.amount.tolist(), strict=True):
        mine = np.array(by_way.get(w, []), dtype=np.int64)
        at = mine[:, None] * count + np.arange(count)
        columns.append(at.ravel())
        group.append(np.tile(r * count + np.arange(count), len(mine)))
        values.append(np.full(at.size, amount))
    if columns:
        add_sums(
            rows,
            np.concatenate(group),
            np.concatenate(columns),
            np.concatenate(values),
            room.capacity.ravel(),
        )


def _quotas(
    rows: Rows, instance: Instance, crowd: Crowd, entries: Entries, numbers: JobNumbers, count: int
) -> None:
    """Queue limits, or what a queue's running jobs hold now where that is more (property P25)."""
    names = {name: q for q, name in enumerate(instance.limits.names)}
    for queue in instance.limits.queues.values():
        if queue.name in instance.limits.keeps_room:
            continue  # that is of this round
        limits: list[tuple[int | None, int]] = [
            (instance.speeds.type_index[name], limit)
            for name, limit in sorted(queue.device_limit_by_type.items())
        ]
        if queue.device_limit is not None:
            limits.append((None, queue.device_limit))
        inside = np.array(
            [q >= 0 and names[queue.name] in instance.limits.ancestors[q] for q in crowd.queue.tolist()],
            dtype=np.bool_,
        )
        mine = np.flatnonzero(inside[entries.class_of]) if len(inside) else np.zeros(0, dtype=np.int64)
        for type_, limit in limits:
            if not len(mine):
                break
            takes = np.array([_devices(instance, entries.ways[w], type_) for w in entries.way[mine].tolist()])
            fixed, now = _held(instance, numbers, names[queue.name], type_)
            group = np.tile(np.arange(count), len(mine))
            columns = (mine[:, None] * count + np.arange(count)).ravel()
            left = float(max(limit, now) - fixed)
            add_sums(rows, group, columns, np.repeat(takes, count), np.full(count, left))


def _devices(instance: Instance, way: Way, type_: int | None) -> float:
    demands = instance.distinct[way.option].demands
    return float(
        sum(
            d.multiplicity * d.block.demand[0]
            for d, t in zip(demands, way.types, strict=True)
            if type_ is None or t == type_
        )
    )


def _held(instance: Instance, numbers: JobNumbers, queue: int, type_: int | None) -> tuple[int, int]:
    """Devices that a queue's fixed jobs, and all its running jobs, hold now."""
    fixed = now = 0
    for c, use in enumerate(instance.keep_use):
        mine = instance.classes[c]
        if not use or mine.queue < 0 or queue not in instance.limits.ancestors[mine.queue]:
            continue
        held = sum(
            amount[0] for n, amount in use.items() if type_ is None or instance.nodes.type_of[n] == type_
        )
        now += held
        fixed += held if numbers.fixed[mine.jobs[0]] else 0
    return fixed, now


def rising(rho: FloatArray, power: float) -> FloatArray:
    """``rho ** power``, continued in a straight line beyond :data:`STEEPEST`."""
    within = np.minimum(rho, STEEPEST)
    found: FloatArray = within**power + power * STEEPEST ** (power - 1.0) * np.maximum(0.0, rho - STEEPEST)
    return found


def _earned(
    instance: Instance, numbers: JobNumbers, crowd: Crowd, buckets: Buckets, entries: Entries
) -> FloatArray:
    """What doing all of a class's work in a bucket earns each job, shape (entries, buckets)."""
    policy = instance.round.policy
    power = 1.0 + policy.fairness_power
    age, fair = crowd.mean(numbers.age)[:, None], crowd.mean(yardstick(instance, numbers))[:, None]
    base = _votes(instance, numbers, crowd)[:, None]
    late = rising((age + buckets.end) / fair, power)
    earned = late - rising((age + buckets.middle) / fair, power)
    deadline = np.array([numbers.deadline[m].min() for m in crowd.members])[:, None]
    due = np.where(np.isfinite(deadline), np.maximum(deadline, 0.0), 0.0)
    before = np.clip((due - buckets.edges[:-1]) / buckets.seconds, 0.0, 1.0)
    worth = 2.0 * policy.deadline_weight * np.maximum(1.0, rising((age + due) / fair, power))
    by_class = base * (earned + np.where(np.isfinite(deadline), worth * before, 0.0))
    found: FloatArray = by_class[entries.class_of]
    return found


def yardstick(instance: Instance, numbers: JobNumbers) -> FloatArray:
    """Seconds that an end is held against, shape (jobs,): ``fair ** q common ** (1 - q)``, q = min(1, p).

    With a fairness power p of 1 or more it is its own fair finish; with 0 the median of all that are planned,
    so that an hour is an hour, whoever waits for it. Held against fair finishes with p = 0 too, 1,761 jobs of
    Philly's completed after 4.56 h, and so after 4.50; Gavel's and Shockwave's within .7 % either way. Sia's,
    on seven draws, complete no sooner by greedy steps (benchmarks/results/2026-12-01-policies.md).
    """
    share = min(1.0, instance.round.policy.fairness_power)
    fair = numbers.fair_finish
    common = float(np.median(fair[numbers.planned])) if numbers.planned.any() else 1.0
    found: FloatArray = fair**share * common ** (1.0 - share)
    return found


def _votes(instance: Instance, numbers: JobNumbers, crowd: Crowd) -> FloatArray:
    """What each job of a class weighs, shape (classes,)."""
    found: FloatArray = crowd.mean(numbers.base * numbers.size ** (instance.round.policy.size_exponent / 2))
    return found


def _saved(instance: Instance, numbers: JobNumbers, crowd: Crowd, entries: Entries, count: int) -> FloatArray:
    """What going on in the first bucket saves a running job, shape (entries, buckets)."""
    power = 1.0 + instance.round.policy.fairness_power
    age, fair = crowd.mean(numbers.age), crowd.mean(yardstick(instance, numbers))
    done = age + crowd.mean(numbers.alone)
    lost = crowd.mean(np.where(numbers.running, numbers.lost, 0.0))
    saved = _votes(instance, numbers, crowd) * (
        rising((done + lost) / fair, power) - rising(done / fair, power)
    )
    found = np.zeros((len(entries.class_of), count))
    found[:, 0] = saved[entries.class_of]
    return found


def free_over_time(instance: Instance, numbers: JobNumbers, times: FloatArray) -> IntArray:
    """What is not held by fixed jobs at each time, shape (times, nodes, 3); one of unknown length stays.

    Args:
        instance: the round.
        numbers: of its jobs.
        times: shape (times,), seconds from now.
    """
    nodes = instance.nodes
    open_ = np.where(nodes.open[:, None], nodes.capacity, nodes.held)
    free = np.repeat(open_[None], len(times), axis=0)
    for c, use in enumerate(instance.keep_use):
        job = instance.classes[c].jobs[0]
        if not use or not numbers.fixed[job]:
            continue
        ends = finishes(instance, job)
        for n, amount in use.items():
            free[times < ends, n] -= np.array(amount, dtype=np.int64)
    left: IntArray = np.maximum(free, 0)
    return left


def finishes(instance: Instance, job: int) -> float:
    """When a running job is done where it is, seconds from now; ``inf`` when unknown."""
    mine = instance.jobs[job]
    present = instance.keeps.throughput[int(instance.class_of_job[job])]
    left = counted_left(mine, instance.round.policy.fairness_quantile)
    if left is None or present <= 0.0:
        return math.inf
    return float(left / present)


def horizon_of(instance: Instance, numbers: JobNumbers, crowd: Crowd) -> float:
    """Seconds in which all that is known could be done: twice the load, after the longest job."""
    busy, longest = load_of(instance, numbers, crowd)
    return 2.0 * busy + longest


def load_of(instance: Instance, numbers: JobNumbers, crowd: Crowd) -> tuple[float, float]:
    """Seconds for which all devices would be busy with all that is planned, and the longest job at its best.

    Each job counts where it takes least device time.
    """
    nodes = instance.nodes
    total = max(1.0, float(nodes.capacity[nodes.open, 0].sum()))
    load = 0.0
    for c, members in enumerate(crowd.members):
        own = slice(int(crowd.start[c]), int(crowd.start[c + 1]))
        devices = np.array(
            [instance.distinct[o].devices for o in crowd.option[own].tolist()], dtype=np.float64
        )
        each = float((devices / np.maximum(crowd.throughput[own], 1e-300)).min(initial=math.inf))
        if math.isfinite(each):
            load += each * float(numbers.left[members].sum())
    planned = np.concatenate([np.zeros(0, dtype=np.int64), *crowd.members])
    longest = numbers.alone[planned].max(initial=0.0)
    return load / total, float(longest)
