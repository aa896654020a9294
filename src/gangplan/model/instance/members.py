"""Who is decided together: running jobs alone, alike waiting jobs as one class (decision 43)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gangplan.columns import Columns
from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.model.instance.limits import Limits
from gangplan.model.instance.start_share import start_share
from gangplan.model.instance.tiers import tier_of
from gangplan.model.program import BoolArray, IntArray


class Members(NamedTuple):
    """The jobs of every class, class by class: classes by their least job, jobs of one by submit time, name.

    Attributes:
        jobs: shape (jobs,), job indices.
        size: shape (classes,), jobs of each class.
    """

    jobs: IntArray
    size: IntArray

    @property
    def first(self) -> IntArray:
        """The first job of each class to start, shape (classes,)."""
        found: IntArray = self.jobs[np.cumsum(self.size) - self.size]
        return found

    @property
    def class_of_job(self) -> IntArray:
        """Shape (jobs,)."""
        found = np.zeros(len(self.jobs), dtype=np.int64)
        found[self.jobs] = np.repeat(np.arange(len(self.size)), self.size)
        return found

    def tuples(self) -> list[tuple[int, ...]]:
        """The jobs of each class."""
        every, stop = tuple(self.jobs.tolist()), np.cumsum(self.size)
        ends = zip((stop - self.size).tolist(), stop.tolist(), strict=True)
        return [every[begin:end] for begin, end in ends]


def members(jobs: Columns[Job], alone: BoolArray, alike: Sequence[NDArray[Any]]) -> Members:
    """Put jobs together that are alike.

    Args:
        jobs: sorted by name.
        alone: shape (jobs,), who is a class of its own.
        alike: what the others have in common with those of their class, shape (others,) each.
    """
    single, others = np.flatnonzero(alone), np.flatnonzero(~alone)
    if not len(others):
        return Members(single, np.ones(len(single), dtype=np.int64))
    submitted = jobs.numbers("submit_time")[others]
    order = np.lexsort((np.where(np.isnan(submitted), np.inf, submitted), *alike))
    other = np.zeros(len(others), dtype=np.bool_)
    other[0] = True
    for column in alike:
        ordered = column[order]
        other[1:] |= ordered[1:] != ordered[:-1]
    begin = np.flatnonzero(other)
    grouped = others[order]
    least = np.concatenate([single, np.minimum.reduceat(grouped, begin)])
    start = np.concatenate([np.arange(len(single)), len(single) + begin])
    size = np.concatenate([np.ones(len(single), dtype=np.int64), np.diff(begin, append=len(others))])
    turn = np.argsort(least)
    start, size = start[turn], size[turn]
    at = np.repeat(start - (np.cumsum(size) - size), size) + np.arange(len(jobs))
    return Members(np.concatenate([single, grouped])[at], size)


def alike_in_policy(
    round_: Round, jobs: Columns[Job], waiting: IntArray, closed: Collection[str], limits: Limits
) -> list[IntArray]:
    """What jobs of one class must have in common beside their shape and weights, as numbers.

    Alike numbers stand for alike things; 0 for a job of which there is nothing to say.

    Args:
        round_: the round.
        jobs: all.
        waiting: indices of those who may be together with others.
        closed: names of those that may not start.
        limits: who counts under which device limit.
    """
    outlook, tiers, now = round_.outlook, tier_of(round_.policy), round_.now
    found = [limits.queue_of(jobs)[waiting]]

    def note(which: IntArray, things: Iterable[object]) -> None:
        column, numbers = np.zeros(len(waiting), dtype=np.int64), dict[object, int]()
        column[which] = [numbers.setdefault(thing, 1 + len(numbers)) for thing in things]
        found.append(column)

    def those(which: IntArray) -> list[Job]:
        return [jobs.things[j] for j in waiting[which].tolist()]

    due = np.flatnonzero(jobs.has("deadline")[waiting])
    if len(due):
        note(due, map(_DEADLINE, those(due)))
    every = np.arange(len(waiting))
    if closed:
        shut = np.array([job.name in closed for job in those(every)], dtype=np.bool_).nonzero()[0]
        note(shut, map(attrgetter("gate"), those(shut)))
    if limits.keeps_room:
        found.append(limits.of_all(jobs)[waiting])
    if outlook is not None:
        note(every, [(outlook.need(job.name), outlook.worth(job.name)) for job in those(every)])
    if tiers:
        note(every, [(tiers.get(job.priority), job.weight) for job in those(every)])
    by_hand = np.flatnonzero(jobs.has("interactive")[waiting])
    if len(by_hand):
        who = those(by_hand)
        note(by_hand, [(one.interactive, start_share(one, now), one.name in closed) for one in who])
    return found


_DEADLINE = attrgetter("deadline", "deadline_kind", "deadline_decay_seconds", "work_left", "left_quantiles")
