"""Minimum satisfactory shares: the fewest devices with which jobs meet their deadlines, step by step.

Gu et al., *ElasticFlow* (ASPLOS 2023, section 4), and its public code. Devices that are free are a step
function of time. In the order of deadlines, each job gets the lowest level (number of devices) at which what
is free before its deadline, filled from the end, does all its work; before the step at which that is reached,
the level below serves, so that it starts as early as that allows. Devices are held for whole slots; work of
the slot in which the deadline lies counts up to the deadline. A job for which no level will do is late.

Times are seconds, levels are devices, rates are work units per second.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

_EDGE = 1e-9
"""An end within so many slots of a border is at it."""


@dataclass(frozen=True, slots=True)
class Scalable:
    """A job that may have several numbers of devices.

    Attributes:
        levels: devices, ascending, at least one.
        rates: at each level, ascending and positive.
        left: work, positive.
        deadline: when it must be done; infinite: never.
    """

    levels: tuple[int, ...]
    rates: tuple[float, ...]
    left: float
    deadline: float

    def floor(self, devices: int) -> int:
        """Position of the highest level of at most so many devices; -1: none is."""
        return sum(level <= devices for level in self.levels) - 1


@dataclass(frozen=True, slots=True)
class Allotment:
    """What one job is to have.

    Attributes:
        begins: starts of its steps, ascending, the first one is now.
        devices: in each step.
        ends: when the job is done.
        until: when its devices are free again: the end of that slot.
        late: it is not done by its deadline.
    """

    begins: tuple[float, ...]
    devices: tuple[int, ...]
    ends: float
    until: float
    late: bool

    @property
    def now(self) -> int:
        """Devices now."""
        return self.devices[0]

    @property
    def changes(self) -> float:
        """When it is first to have another number of devices, its end left out; infinite: never."""
        steps = zip(self.begins, self.devices, strict=True)
        return next((begin for begin, devices in steps if devices != self.devices[0]), math.inf)

    @property
    def starts(self) -> float:
        """When it first has any."""
        return next(b for b, devices in zip(self.begins, self.devices, strict=True) if devices)

    @property
    def device_seconds(self) -> float:
        """What it holds in all."""
        borders = (*self.begins[1:], self.until)
        steps = zip(self.begins, borders, self.devices, strict=True)
        return sum(devices * (end - begin) for begin, end, devices in steps)


@dataclass(slots=True)
class Room:
    """Free devices over time.

    Attributes:
        now: when the first step begins.
        slot: length of a slot.
        capacity: devices in all.
        begins: starts of the steps, ascending.
        free: devices in each; the last one never ends.
    """

    now: float
    slot: float
    capacity: int
    begins: list[float] = field(default_factory=list)
    free: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """All free where nothing is said."""
        if not self.begins:
            self.begins, self.free = [self.now], [self.capacity]

    def take(self, allotment: Allotment, sign: int = 1) -> None:
        """Let a job have its allotment; with a ``sign`` of -1, give it back."""
        borders = (*allotment.begins[1:], allotment.until)
        for begin, end, devices in zip(allotment.begins, borders, allotment.devices, strict=True):
            if devices and end > begin:
                for at in range(self._border(begin), self._border(end)):
                    self.free[at] -= sign * devices

    def _border(self, time: float) -> int:
        """Position of the step that begins at ``time``, which is made where there is none."""
        at = bisect_left(self.begins, time)
        if at == len(self.begins) or self.begins[at] != time:
            self.begins.insert(at, time)
            self.free.insert(at, self.free[at - 1])
        return at

    def aligned(self, time: float) -> float:
        """The end of the slot in which ``time`` lies."""
        return self.now + self.slot * math.ceil((time - self.now) / self.slot - _EDGE)

    def least(self, job: Scalable, first: int | None = None) -> Allotment:
        """The least share that meets the job's deadline on what is free; of a late one all that it can use.

        Args:
            job: the job.
            first: level, by position, that it has in the first step, whatever that is good for.
        """
        borders = [*self.begins, math.inf]
        begins, devices, left = [], [], job.left
        start = 0
        if first is not None:
            rate, level = job.rates[first], job.levels[first]
            ends = self.now + left / rate
            if self.aligned(ends) <= borders[1]:
                return self._done([self.now], [level], ends, job)
            begins, devices, left, start = [self.now], [level], left - rate * (borders[1] - self.now), 1
        found = self._within(job, left, start) if math.isfinite(job.deadline) else None
        steps = found or [(b, job.floor(f)) for b, f in zip(self.begins, self.free, strict=True)][start:]
        for n, (begin, level) in enumerate(steps):
            begins.append(begin)
            devices.append(job.levels[level] if level >= 0 else 0)
            if level < 0:
                continue
            end = steps[n + 1][0] if n + 1 < len(steps) else math.inf
            rate = job.rates[level]
            if left <= rate * (end - begin) * (1 + _EDGE):
                return self._done(begins, devices, begin + left / rate, job)
            left -= rate * (end - begin)
        raise AssertionError("the last step has all devices and no end")

    def _done(self, begins: list[float], devices: list[int], ends: float, job: Scalable) -> Allotment:
        late = ends > job.deadline + _EDGE * self.slot
        return Allotment(tuple(begins), tuple(devices), ends, max(self.aligned(ends), begins[-1]), late)

    def _within(self, job: Scalable, left: float, start: int) -> list[tuple[float, int]] | None:
        """Steps from ``start`` on with the least levels that do all before the deadline; None: none do."""
        last = bisect_left(self.begins, job.deadline)
        steps = range(start, last)
        room = [job.floor(free) for free in self.free[start:last]]
        borders = [*self.begins[start + 1 : last], job.deadline]
        spans = [end - self.begins[at] for at, end in zip(steps, borders, strict=True)]
        for level in range(len(job.levels)):
            done = 0.0
            for n in reversed(range(len(spans))):
                if room[n] >= 0:
                    done += spans[n] * job.rates[min(level, room[n])]
                if done >= left * (1 - _EDGE):
                    below = [(self.begins[start + m], min(level - 1, room[m])) for m in range(n)]
                    above = [(self.begins[start + m], min(level, room[m])) for m in range(n, len(spans))]
                    return [*below, *above]
        return None


def shares(room: Room, jobs: Sequence[Scalable]) -> list[Allotment]:
    """The least share of every job on the room, which they take, in the order of their deadlines.

    Returns:
        In the order of ``jobs``.
    """
    found: dict[int, Allotment] = {}
    for n in sorted(range(len(jobs)), key=lambda n: jobs[n].deadline):
        found[n] = room.least(jobs[n])
        room.take(found[n])
    return [found[n] for n in range(len(jobs))]
