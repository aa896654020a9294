"""From the best plan to the one that is answered: without what does not pay, and planned again around it.

The programme spreads the cost of a disruption over its own horizon; a bundle may still not pay (decision 14).
Who was not stopped after all then keeps a place on which others counted. With jobs held where they are (first
those that are done soon and drag a whole bundle down, then all that were taken back) prices are found again
in a few evaluations, and the plan at these prices, without what does not pay, is answered when it is better.
"""

from __future__ import annotations

from dataclasses import replace

from gangplan.engine.bundles import is_chosen
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.take_back import TAKING_BACK, TakenBack, take_back
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.branching import staying
from gangplan.model.prices.lagrangian import PriceSearch

_PASSES = 3
_STEPS = 80
_STRETCH = 0.05
_SOON = 0.5
"""Share of the round's horizon below which a job's own counts as short."""
_WORTH_IT = 1e-4
"""A smaller loss, as a share of the value, is left alone."""


def settle(
    judge: Judge,
    search: PriceSearch,
    best: Candidate,
    floor: Candidate,
    lasting: Candidate | None = None,
    taken_back: TakenBack | None = None,
) -> TakenBack:
    """Take back what does not pay, and plan again around it while that gives a better plan.

    Args:
        judge: of the round.
        search: its prices.
        best: the plan of the most value.
        floor: the plan that keeps everything.
        lasting: the best plan known in which every bundle pays; answered unless ``best`` leads to a better.
        taken_back: ``best`` without what does not pay, where that is known.
    """
    if lasting is best:
        return TakenBack(best, 0, 0)
    if lasting is not None and lasting is not floor and not judge.has_time_for(TAKING_BACK):
        return _instead(best, lasting, 1)
    settled = _settled(judge, search, best, floor, taken_back)
    if lasting is not None and lasting.value > settled.candidate.value:
        return _instead(best, lasting, settled.bundles)
    return settled


def _instead(best: Candidate, lasting: Candidate, bundles: int) -> TakenBack:
    """``lasting`` instead of ``best``, of which it does not have some disruptions."""
    there = {action.id: action for action in lasting.plan.actions}
    less = sum(1 for action in best.plan.actions if is_chosen(action) and there.get(action.id) != action)
    return TakenBack(lasting, max(1, bundles), max(1, less))


def _settled(
    judge: Judge, search: PriceSearch, best: Candidate, floor: Candidate, taken_back: TakenBack | None
) -> TakenBack:
    settled = taken_back or take_back(judge, best, floor)
    latest, before = settled.candidate, best
    for number in range(_PASSES):
        held = _soon_done(judge, best) if number == 0 else []
        held = held or _held(judge, before, latest)
        if not held or judge.hurried or before.value - latest.value <= _WORTH_IT * abs(before.value):
            break
        with judge.budget.phase("settle"):
            search = staying(search, held)
            search.improve(_STEPS, lambda: judge.hurried, _STRETCH)
            assignment = price_greedy(judge.instance, search.prices())
        judge.count("settle_evaluations", search.evaluations)
        again = judge.consider("settle", assignment)
        if again is None:
            break
        taken = take_back(judge, again, floor)
        before, latest = again, taken.candidate
        if latest.value > settled.candidate.value:
            settled = replace(
                taken,
                bundles=settled.bundles + taken.bundles,
                actions=settled.actions + taken.actions,
            )
    return settled


def _soon_done(judge: Judge, candidate: Candidate) -> list[int]:
    """Classes of running jobs that are disrupted although little of their work is left.

    A bundle is judged over the shortest horizon of its members: one of these, and nothing in it pays.
    """
    instance = judge.instance
    return sorted(
        int(instance.class_of_job[j])
        for j in instance.placements
        if j not in candidate.assignment.kept
        and judge.facts.jobs[instance.jobs[j].name].horizon < _SOON * instance.round.horizon_seconds
    )


def _held(judge: Judge, before: Candidate, after: Candidate) -> list[int]:
    """Classes of running jobs that stay in ``after`` and did not in ``before``."""
    kept = after.assignment.kept - before.assignment.kept
    return sorted({int(judge.instance.class_of_job[j]) for j in kept})
