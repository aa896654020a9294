"""The greedy's plans at prices: one at early prices, and one at the best.

Three quarters of the evaluations lower the bound by less than .1 % (of a large round by less than .01 %), and
to make and to verify the plan that keeps and fills takes longer than those before. So the greedy plans as
soon as prices are near, and its plan is verified first: whoever has little time gets a plan about half a
percent from the bound instead of one that keeps and fills. The search goes on beside it, and what its best
prices lead to is verified when it is worth more. The plan that keeps and fills, of which everything else
measures its gain, comes second, and is there in time because the first is only tried where enough is left for
both; of a large round it is not even made before. Who follows a round by stream is told first what keeps and
fills, and then of this plan: the order is other, what is answered in the end is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gangplan.engine.soon_done import greedy_plan
from gangplan.model.instance.guarantees import guaranteed
from gangplan.model.packing.assignment import worth
from gangplan.model.packing.price_greedy import price_greedy

if TYPE_CHECKING:
    from collections.abc import Callable

    from gangplan.engine.hold import Holding
    from gangplan.engine.judge import Candidate, Judge
    from gangplan.engine.price_thread import Searching
    from gangplan.model.packing.assignment import Assignment
    from gangplan.model.prices.prices import Prices

NAME = "greedy"
"""Of the candidates."""

_NEEDED = 1.25
"""What must be left for a first plan and for verifying the one that keeps and fills, in times that building
the arrays and the verifier's constants took. It was 1 to 1.2 of that at XL, and .8 at XXL, which gave up its
prices at 85 % with 1.5 (2026-11-30-first-plans.md, 2026-11-30-targets-whole.md)."""

_PREPARED = 1.0
"""The same when what verifications share is there: .9 to 1 at XL, .65 at XXL."""

_SMALL = 800
"""Options up to which both of the greedy's plans are made: the second takes a millisecond at S, where the
better of the two is ahead in some rounds after 60 evaluations (2026-11-30-first-plans.md)."""

_LARGE = 20_000
"""Options from which on the first plan does not ask who is done soon, and so does not wait for the plan that
keeps and fills: a twentieth of the way to it at XL and XXL. Who spoils a bundle is left out when it is looked
at (:mod:`gangplan.engine.leave_out`)."""

_ANOTHER = 1.5
"""Slowest verifications, which is the first, that must be left before a second plan is made: what it, its
verification and a look at it took at XL (2026-11-30-first-plans.md)."""


def plan_first(
    judge: Judge, searching: Searching, evaluations: int, fill: Callable[[], Assignment]
) -> Candidate | None:
    """The greedy's plan at early prices, verified before any other.

    Args:
        judge: of the round; it has judged nothing but what keeps and fills.
        searching: which tells such prices.
        evaluations: after which it does; 0: never.
        fill: gives what keeps everybody and fills.

    Returns:
        None where nothing is told, where stages come before the objective, where time is short, or when the
        plan breaks a rule.
    """
    if not evaluations or judge.instance.round.policy.tiers or guaranteed(judge.instance):
        return None
    if not _has_time(judge, _NEEDED):
        return None
    large = len(judge.instance.option) > _LARGE
    if not large:
        fill()  # while prices are not there yet
    judge.prepare()
    with judge.budget.phase("prices"):
        prices = searching.early(lambda: not _has_time(judge, _PREPARED))
    if prices is None or judge.cancelled or judge.budget.exhausted:
        return None
    judge.lower(prices.bound)
    with judge.budget.phase("greedy"):
        once = len(judge.instance.option) > _SMALL
        if large:
            assignment = price_greedy(judge.instance, prices, once=once)
        else:
            assignment = greedy_plan(judge, fill(), prices, once=once)
    return judge.consider(NAME, assignment)


def plan_at_prices(holding: Holding, prices: Prices, first: Candidate | None) -> Candidate | None:
    """The greedy's plan at the best prices, or ``first`` where that is as good or time is short.

    It is looked at for what does not pay. None: there is no time for any, or it breaks a rule.

    Args:
        holding: judges, and looks at the plan's bundles.
        prices: the best.
        first: the plan at early prices.
    """
    judge = holding.judge
    if first is not None:
        holding.look(first)  # before anything else, so that there is a plan of which all pays
        if not judge.has_time_for(_ANOTHER):
            return first
        if holding.brief and holding.classes:  # what is planned around them at other prices is better
            return first
    elif judge.hurried:
        return None
    with judge.budget.phase("greedy"):
        asked = holding.prices(prices)
        if first is None:
            assignment = price_greedy(judge.instance, asked)
        else:
            assignment = greedy_plan(judge, holding.floor.assignment, asked)
    if first is not None and worth(judge.instance, assignment) <= holding.best.value:
        return first
    return holding.consider(NAME, assignment)


def _has_time(judge: Judge, times: float) -> bool:
    """Whether so many times is left what arrays and constants took."""
    spent = judge.budget.seconds_by_phase
    return judge.has_seconds(times * (spent.get("instance", 0.0) + spent.get("facts", 0.0)))
