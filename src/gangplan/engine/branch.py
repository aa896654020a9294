"""Deciding large gangs before anything else: a better plan and a tighter bound without a solver.

See ``model/prices/branching.py``. Measured once on one seed each of L and XL: the price greedy's gap of 2.2 %
fell to 0.5 % in four searches (L, half occupied), and 0.20 % to 0.02 % in six (XL, 85 %).
"""

from __future__ import annotations

from gangplan.engine.judge import Judge
from gangplan.engine.steps import Ladder
from gangplan.model.packing.assignment import worth
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.branching import Branching
from gangplan.model.prices.lagrangian import PriceSearch

_PROGRESS = 2e-5


def branch(judge: Judge, search: PriceSearch, how: Ladder) -> int:
    """Branch while that brings a better plan or a clearly lower bound; the searches made."""
    assert judge.best is not None
    branching = Branching(search)
    end = judge.budget
    if end.limited:
        end = end.less(max((1.0 - how.branching_share) * end.remaining, judge.reserve_seconds))

    def stop() -> bool:
        return judge.hurried or end.exhausted

    fruitless = 0
    while fruitless < how.fruitless and not stop() and judge.gap > how.enough:
        value, bound = judge.best.value, judge.bound
        with judge.budget.phase("branch"):
            found = branching.expand(judge.best.value, stop)
        if not found:
            break
        for child in found:
            if child.bound <= judge.best.value or stop():
                continue
            with judge.budget.phase("branch"):
                assignment = price_greedy(judge.instance, child.prices())
            if worth(judge.instance, assignment) > judge.best.value:
                judge.consider("branch", assignment)
        judge.lower(max(branching.bound, judge.best.value))
        progress = max(judge.best.value - value, bound - judge.bound)
        fruitless = 0 if progress > _PROGRESS * abs(bound) else fruitless + 1
    return branching.nodes
