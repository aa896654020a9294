"""Who is to be held before a plan is judged: running jobs that are done before it could have paid.

One job that is done soon spoils a bundle of hundreds (:mod:`gangplan.engine.hold`). To find that out, to plan
around the job and to verify what comes of it takes two verifications and a look at all bundles, for which a
large round has no time. So it is guessed from the arrays, as if all that changes were one bundle: how many
rounds it takes until what is earned pays for what is stopped, and who among the stopped is done by then. It
leaves out what starts cost; hence the margin. Whether the plan pays is still seen by looking at it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gangplan.engine.bundles import doubt, lost_by_a_stop
from gangplan.model.packing.assignment import worth
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.terms import switching

if TYPE_CHECKING:
    from gangplan.engine.judge import Judge
    from gangplan.model.instance.instance import Instance
    from gangplan.model.packing.assignment import Assignment
    from gangplan.model.prices.prices import Prices
    from gangplan.model.program import FloatArray

_MARGIN = 1.5
"""On ``XL/steady/85/seed2`` two jobs are done after 2.6 rounds, when all would have paid after 2.1 without
what starts cost; with both held the plan is worth .003 % less, and all of it pays."""

_MOST = 0.9
"""Share of the gain that a plan around those who are soon done must have; its prices do not know of them."""


def greedy_plan(judge: Judge, floor: Assignment, prices: Prices, *, once: bool = False) -> Assignment:
    """The greedy's plan around who is done before it could pay, unless much of the gain would be lost.

    Args:
        judge: of the round.
        floor: the plan that keeps everybody who may stay.
        prices: at which it plans.
        once: as :func:`price_greedy` has it.
    """
    instance = judge.instance
    assignment = price_greedy(instance, prices, once=once)
    held = soon_done(judge, floor, assignment)
    if not held:
        return assignment
    around = price_greedy(instance, prices.held(held), once=once)
    least = worth(instance, floor)
    lasts = worth(instance, around) - least > _MOST * (worth(instance, assignment) - least)
    return around if lasts else assignment


def soon_done(judge: Judge, floor: Assignment, assignment: Assignment) -> list[int]:
    """Classes of the running jobs that ``assignment`` stops and that are done too soon, ascending.

    Args:
        judge: of the round.
        floor: the plan that keeps everybody who may stay.
        assignment: another.
    """
    instance, facts = judge.instance, judge.facts
    length, a_stop = instance.round.round_seconds, switching.weight(instance.round)
    stopped = sorted(floor.kept - assignment.kept)
    mine = [facts.jobs[instance.jobs[j].name] for j in stopped]
    rounds = np.array([max(job.horizon, length) / length for job in mine])
    lost = [lost_by_a_stop(job, instance.jobs[j]) for job, j in zip(mine, stopped, strict=True)]
    once = a_stop * np.array(lost) / length
    before, after = _gains(instance, floor), _gains(instance, assignment)
    doubted = doubt(instance.round) * float((before + after)[before != after].sum())
    earned = float((after - before).sum() + (once / rounds).sum()) - doubted
    if earned <= 0.0:
        return []
    soon = rounds <= _MARGIN * float(once.sum()) / earned
    return sorted({int(c) for c in instance.class_of_job[np.array(stopped, dtype=np.int64)[soon]]})


def _gains(instance: Instance, assignment: Assignment) -> FloatArray:
    """What each job is worth more than waiting, spread costs taken off, shape (jobs,)."""
    found = np.zeros(len(instance.jobs))
    kept = list(assignment.kept)
    found[kept] = instance.keep_gain[instance.class_of_job[kept]]
    found[list(assignment.placed)] = instance.gain[[placed.option for placed in assignment.placed.values()]]
    return found
