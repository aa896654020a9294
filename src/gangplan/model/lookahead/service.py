"""Who of a class gets the class's service, and when: who runs, then who came first, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.lookahead.fluid import Fluid
from gangplan.model.program import FloatArray, IntArray

_DONE = 1e-6
"""Share of a job's work that may be left of it when it counts as done."""
_STARTED = 1e-3
"""Share of a bucket's full service from which a job counts as served in it."""


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """Service of single jobs, shape (jobs,) each; seconds count from now.

    Attributes:
        first: work units in the first bucket.
        start: when it is first served, at the bucket's begin or where within it its turn comes; ``inf``:
            never.
        end: when it is done; ``inf``: not within what was looked at.
    """

    first: FloatArray
    start: FloatArray
    end: FloatArray


def hand_out(fluid: Fluid, values: FloatArray) -> Service:
    """Hand the service of a solution, shape (columns,), out to the members of every class."""
    jobs = len(fluid.instance.jobs)
    found = Service(np.zeros(jobs), np.full(jobs, np.inf), np.full(jobs, np.inf))
    running = fluid.running(values)
    seconds, begin = fluid.buckets.seconds, fluid.buckets.edges[:-1]
    classes, count = len(fluid.crowd.members), fluid.buckets.count
    at_work, work = np.zeros((classes, count)), np.zeros((classes, count))
    np.add.at(at_work, fluid.class_of, running)
    np.add.at(work, fluid.class_of, running * fluid.throughput[:, None] * seconds)
    for c, members in enumerate(fluid.crowd.members):
        left = fluid.numbers.left[members].copy()
        for b in np.flatnonzero(at_work[c] > _STARTED * 1e-3).tolist():
            served = _turns(left, float(work[c, b]), float(work[c, b] / at_work[c, b]))
            left -= served
            if b == 0:
                found.first[members] = served
            _note(
                found, members, served, left, fluid, begin[b], seconds[b], float(work[c, b] / at_work[c, b])
            )
    return found


def _turns(left: FloatArray, work: float, each: float) -> FloatArray:
    """``work`` in order, at most ``each`` and what is left to every one; the rest to who has more."""
    take = np.minimum(left, each)
    before = np.cumsum(take) - take
    served: FloatArray = np.clip(work - before, 0.0, take)
    rest = work - float(served.sum())
    if rest > _DONE * work:
        more = left - served
        before = np.cumsum(more) - more
        served = served + np.clip(rest - before, 0.0, more)
    return served


def _note(
    found: Service,
    members: IntArray,
    served: FloatArray,
    left: FloatArray,
    fluid: Fluid,
    begin: float,
    seconds: float,
    each: float,
) -> None:
    """Starts and ends that fall into a bucket; turns within it follow one another."""
    some = served > _STARTED * each
    new = some & np.isinf(found.start[members])
    places = max(1.0, float(served.sum()) / max(each, 1e-300))
    before = np.cumsum(served) - served
    wait = np.maximum(0.0, (before / max(each, 1e-300) - (places - 1.0)) / places) * seconds
    found.start[members[new]] = begin + np.minimum(wait, seconds)[new]
    over = (served > 0.0) & (left <= _DONE * fluid.numbers.left[members]) & np.isinf(found.end[members])
    spent = np.minimum(1.0, served / max(each, 1e-300)) * seconds
    found.end[members[over]] = np.minimum(begin + seconds, begin + np.minimum(wait, seconds) + spent)[over]
