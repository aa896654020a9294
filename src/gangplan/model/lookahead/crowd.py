"""All jobs by class: alike in their options, weight, age, work left within a ratio, deadline and queue.

Classes keep the fluid plan small however many jobs there are: the fewer there may be, the wider what counts
as alike.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.columns import Columns
from gangplan.domain.job import Job
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.left import counted_left
from gangplan.model.instance.switching import lost_seconds
from gangplan.model.instance.throughput import size
from gangplan.model.program import BoolArray, FloatArray, IntArray

LONGEST_SECONDS = 100.0 * 366.0 * 86_400.0
"""What takes longer never ends."""
UNKNOWN_SECONDS = 3_600.0
"""What a job of unknown length has left is at least so much at its reference, as for the peers that order by
it (``planning.policies.rates``). With a round in its place every new job was the shortest of all, the more so
the shorter rounds were, and who ran was stopped for it: ends came 1 % (of Gavel's jobs) to 6 % later, with
more stops (benchmarks/results/2026-12-01-policies.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class JobNumbers:
    """What the fluid plan reads of every job of an instance, shape (jobs,) each.

    Attributes:
        planned: whether the plan may give it service: it has options, and nothing fixes it where it is.
        fixed: whether it goes on where it is, whatever is planned.
        running: whether it runs and may stay.
        left: work units left; where that is unknown as much as it has done, at least a round and
            :data:`UNKNOWN_SECONDS` at its reference: what has run long will run long (decision 15).
        reference: work units per second at its reference throughput; 0 without options.
        best: most work units per second of any of its options.
        age: seconds since submission; 0 when unknown.
        fair_finish: age in seconds at which its fair self is done, at least one round.
        base: base weight over the median.
        size: req, reference devices.
        lost: seconds that stopping it would lose.
        deadline: seconds from now; ``inf`` without one.
    """

    planned: BoolArray
    fixed: BoolArray
    running: BoolArray
    left: FloatArray
    reference: FloatArray
    best: FloatArray
    age: FloatArray
    fair_finish: FloatArray
    base: FloatArray
    size: FloatArray
    lost: FloatArray
    deadline: FloatArray

    @property
    def alone(self) -> FloatArray:
        """Seconds until its end at its best, shape (jobs,); :data:`LONGEST_SECONDS` where that is never."""
        never = np.full(len(self.left), LONGEST_SECONDS)
        ends = self.best * LONGEST_SECONDS > self.left
        alone: FloatArray = np.divide(self.left, self.best, out=never, where=ends)
        return alone


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """Classes of jobs.

    Attributes:
        members: job indices of every class, those served first before others: who runs, then who came first.
        queue: shape (classes,), index of the queue; -1 without.
        start: shape (classes + 1,), where each class's options begin.
        option: shape (options,), index into the instance's distinct options.
        throughput: shape (options,), mean over the members, work units per second.
    """

    members: tuple[IntArray, ...]
    queue: IntArray
    start: IntArray
    option: IntArray
    throughput: FloatArray

    @property
    def size(self) -> IntArray:
        """Members of each class, shape (classes,)."""
        return np.array([len(m) for m in self.members], dtype=np.int64)

    def mean(self, values: FloatArray) -> FloatArray:
        """Mean over the members of each class of numbers by job, shape (classes,)."""
        return np.array([values[m].mean() for m in self.members], dtype=np.float64)


def job_numbers(instance: Instance) -> JobNumbers:
    """The numbers of every job."""
    round_, jobs = instance.round, instance.jobs
    length = round_.round_seconds
    count = len(jobs)
    first = np.array([c.start for c in instance.classes], dtype=np.int64)
    options = np.array([c.stop - c.start for c in instance.classes], dtype=np.int64)
    reference, best = np.zeros(len(instance.classes)), np.zeros(len(instance.classes))
    some = np.flatnonzero(options)
    if len(some):
        reference[some] = instance.throughput[first[some]] / instance.relative[first[some]]
        best[some] = np.maximum.reduceat(instance.throughput, first[some])
    mine = instance.class_of_job
    reference, best = reference[mine], best[mine]
    stays = np.array(
        [c.kept and (c.must_run or c.start == c.stop) for c in instance.classes], dtype=np.bool_
    )[mine]
    age = np.array([0.0 if j.submit_time is None else max(0.0, round_.now - j.submit_time) for j in jobs])
    probability = round_.policy.fairness_quantile
    known = [counted_left(job, probability) for job in jobs]
    least = reference * max(length, UNKNOWN_SECONDS)
    left = np.array([_work_left(job, known[j], float(least[j])) for j, job in enumerate(jobs)])
    fair = np.maximum(instance.fair_rate, 1e-12)
    finish = np.array(
        [
            _fair_finish(job, known[j], float(age[j]), float(left[j] / fair[j]), float(fair[j]))
            for j, job in enumerate(jobs)
        ]
    )
    weights = round_.policy.priority_weights
    base = np.array([job.weight * weights.get(job.priority, 1.0) for job in jobs])
    return JobNumbers(
        planned=(options[mine] > 0) & ~stays & (left > 0.0),
        fixed=stays,
        running=instance.kept[mine] if count else np.zeros(0, dtype=np.bool_),
        left=left,
        reference=reference,
        best=best,
        age=age,
        fair_finish=np.clip(finish, length, 1e9),
        base=base / (float(np.median(base)) or 1.0) if count else base,
        size=np.array([size(job.component, round_.policy.reference_host) for job in jobs]),
        lost=lost_seconds(Columns(jobs), round_)
        + np.array([j.restart_seconds if j.running else 0.0 for j in jobs]),
        deadline=np.array([math.inf if j.deadline is None else j.deadline - round_.now for j in jobs]),
    )


def build_crowd(instance: Instance, numbers: JobNumbers, jobs: Sequence[int], most: int) -> Crowd:
    """Put alike ones of ``jobs`` together, no more than needed to stay within ``most`` options.

    Jobs with the same options (or, where those are too many sets, with the same counts of devices) begin as
    one class. Then the class that is spread widest in what matters to the plan is split where it is spread
    widest, until all classes are of a kind or there are enough.

    Args:
        instance: the round.
        numbers: of its jobs.
        jobs: job indices.
        most: options of all classes that are enough; the programme has as many columns for every bucket.
    """
    groups = _alike(instance, jobs, most)
    features = _features(instance, numbers)
    total = sum(len(options) for options, _ in groups)
    heap = [(_spread(features, members), n) for n, (_, members) in enumerate(groups)]
    heapq.heapify(heap)
    while heap and total < most:
        (loss, feature), n = heapq.heappop(heap)
        if loss >= 0.0:
            break
        options, members = groups[n]
        low, high = _halves(features[members, feature], members)
        total += len(options)
        groups[n] = (options, low)
        groups.append((options, high))
        heapq.heappush(heap, (_spread(features, low), n))
        heapq.heappush(heap, (_spread(features, high), len(groups) - 1))
    ordered = sorted(
        ((options, _in_order(instance, numbers, members.tolist())) for options, members in groups),
        key=lambda group: int(group[1][0]),
    )
    start = np.concatenate(([0], np.cumsum([len(options) for options, _ in ordered]))).astype(np.int64)
    throughput = [_throughput(instance, options, members) for options, members in ordered]
    queue = [instance.classes[int(instance.class_of_job[members[0]])].queue for _, members in ordered]
    return Crowd(
        members=tuple(members for _, members in ordered),
        queue=np.array(queue, dtype=np.int64),
        start=start,
        option=np.concatenate([np.zeros(0, dtype=np.int64), *(options for options, _ in ordered)]),
        throughput=np.concatenate([np.zeros(0), *throughput]),
    )


def singly(instance: Instance, jobs: Sequence[int]) -> Crowd:
    """Every one of ``jobs`` a class of its own: nothing is averaged."""
    rows = [_own(instance, j) for j in jobs]
    lengths = [stop - start for start, stop in rows]
    return Crowd(
        members=tuple(np.array([j], dtype=np.int64) for j in jobs),
        queue=np.array([instance.classes[int(instance.class_of_job[j])].queue for j in jobs], dtype=np.int64),
        start=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        option=np.concatenate([np.zeros(0, dtype=np.int64), *(instance.option[a:b] for a, b in rows)]),
        throughput=np.concatenate([np.zeros(0), *(instance.throughput[a:b] for a, b in rows)]),
    )


def _own(instance: Instance, job: int) -> tuple[int, int]:
    """Where the job's options stand."""
    mine = instance.classes[int(instance.class_of_job[job])]
    return mine.start, mine.stop


def _alike(instance: Instance, jobs: Sequence[int], most: int) -> list[tuple[IntArray, IntArray]]:
    """Options and job indices of jobs with the same options, or else with the same counts of devices."""
    apart = instance.limits.limited
    by_set: dict[tuple[bytes, int], list[int]] = {}
    for j in jobs:
        start, stop = _own(instance, j)
        queue = instance.classes[int(instance.class_of_job[j])].queue if apart else -1
        by_set.setdefault((instance.option[start:stop].tobytes(), queue), []).append(j)
    sets = [(np.frombuffer(key, dtype=np.int64), queue, members) for (key, queue), members in by_set.items()]
    for keep_queues in (True, False):
        if sum(len(options) for options, _, _ in sets) <= most:
            break
        merged: dict[tuple[tuple[int, ...], int], list[tuple[IntArray, list[int]]]] = {}
        devices = np.array([option.devices for option in instance.distinct], dtype=np.int64)
        for options, queue, members in sets:
            counts = tuple(np.unique(devices[options]).tolist())
            merged.setdefault((counts, queue if keep_queues else -1), []).append((options, members))
        sets = [
            (_usual(parts), queue, [j for _, members in parts for j in members])
            for (_, queue), parts in merged.items()
        ]
    return [(options, np.array(sorted(members), dtype=np.int64)) for options, _, members in sets]


def _usual(parts: Sequence[tuple[IntArray, list[int]]]) -> IntArray:
    """Options that at least half of the jobs have; all of them where there are none such."""
    options = np.concatenate([mine for mine, _ in parts])
    jobs = np.concatenate([np.full(len(mine), len(members)) for mine, members in parts])
    distinct, place = np.unique(options, return_inverse=True)
    have = np.bincount(place, weights=jobs)
    usual = distinct[2 * have >= sum(len(members) for _, members in parts)]
    return usual if len(usual) else distinct


def _features(instance: Instance, numbers: JobNumbers) -> FloatArray:
    """What matters to the plan, in powers of two, shape (jobs, features)."""
    length = instance.round.round_seconds
    tiny = 1e-12
    soon = np.where(np.isfinite(numbers.deadline), np.maximum(numbers.deadline, length), 1e10)
    columns = (
        numbers.alone,
        numbers.fair_finish,
        numbers.age + length,
        np.maximum(numbers.base, tiny),
        np.where(numbers.running, 8.0 * (numbers.lost + length), length),
        soon,
        np.maximum(numbers.best, tiny) / np.maximum(numbers.reference, tiny),
    )
    found: FloatArray = np.log2(np.maximum(np.stack(columns, axis=1), tiny))
    return found


def _spread(features: FloatArray, members: IntArray) -> tuple[float, int]:
    """How much averaging a class loses, below 0 where it loses anything, and its widest feature."""
    mine = features[members]
    deviation = np.abs(mine - mine.mean(axis=0)).sum(axis=0)
    widest = int(deviation.argmax())
    return (-float(deviation[widest]) if float(np.ptp(mine[:, widest])) > 1e-6 else 0.0), widest


def _halves(values: FloatArray, members: IntArray) -> tuple[IntArray, IntArray]:
    """Members below and above the mean; equal ones stay together."""
    low = values <= values.mean()
    if low.all():
        low = values < values.max()
    return members[low], members[~low]


def _throughput(instance: Instance, options: IntArray, members: IntArray) -> FloatArray:
    """Mean throughput under each option over the members that have it."""
    total, have = np.zeros(len(options)), np.zeros(len(options))
    order = np.argsort(options)
    for c in instance.class_of_job[members].tolist():
        mine = instance.classes[c]
        own = instance.option[mine.start : mine.stop]
        place = np.minimum(np.searchsorted(options[order], own), len(options) - 1)
        hit = options[order][place] == own
        where = order[place[hit]]
        total[where] += instance.throughput[mine.start : mine.stop][hit]
        have[where] += 1
    return total / np.maximum(have, 1.0)


def _in_order(instance: Instance, numbers: JobNumbers, members: Sequence[int]) -> IntArray:
    jobs = instance.jobs
    ordered = sorted(
        members,
        key=lambda j: (
            not numbers.running[j],
            math.inf if jobs[j].submit_time is None else jobs[j].submit_time,
            jobs[j].name,
        ),
    )
    return np.array(ordered, dtype=np.int64)


def _work_left(job: Job, known: float | None, least: float) -> float:
    return max(job.work_done, least) if known is None else known


def _fair_finish(job: Job, left: float | None, age: float, seconds: float, rate: float) -> float:
    """Age at which the fair self is done (decision 11); as if it began now where progress is unknown."""
    if job.fair_finish_age is not None:
        return job.fair_finish_age
    if left is None:
        return age + seconds
    return age + max(0.0, job.work_done + left - job.fair_progress) / rate
