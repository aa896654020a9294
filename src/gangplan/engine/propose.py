"""What others propose, as candidates: their plans completed, their prices tried."""

from __future__ import annotations

from collections.abc import Mapping

from gangplan.domain.plan import Plan
from gangplan.engine.judge import Judge
from gangplan.engine.proposers import Asked
from gangplan.model.packing.adopt import adopt
from gangplan.model.packing.price_greedy import by_profit, price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.prices.names import goods_by_name
from gangplan.model.prices.prices import Prices

PREVIOUS = "previous_plan"
"""Name of the candidate that is made of the plan before."""


def consider_proposals(
    judge: Judge, search: PriceSearch, prices: Prices, asked: Asked, previous: Plan | None
) -> Prices:
    """Have everything that was proposed judged; nothing of it can cost the round more than the time for it.

    Args:
        judge: of the round.
        search: whose prices are tried against those that are proposed.
        prices: what the search found.
        asked: proposers at work; they are waited for.
        previous: an earlier plan.

    Returns:
        ``prices``, or better ones that were proposed.
    """
    if previous is not None:
        _consider_plan(judge, PREVIOUS, previous, prices)
    with judge.budget.phase("propose"):
        proposals = asked.collect()
    judge.remarks += asked.failures
    for name, proposal in proposals:
        if proposal.device_prices is not None:
            _consider_prices(judge, search, f"proposer:{name}:prices", proposal.device_prices)
        if proposal.plan is not None:
            _consider_plan(judge, f"proposer:{name}", proposal.plan, prices)
    return search.prices() if search.bound < prices.bound else prices


def _consider_plan(judge: Judge, name: str, plan: Plan, prices: Prices) -> None:
    if judge.hurried:
        judge.remarks.append(f"{name}: no time was left for its plan")
        return
    try:
        with judge.budget.phase("adopt"):
            adopted = adopt(judge.instance, plan, by_profit(judge.instance, prices))
    except Exception as error:  # noqa: BLE001 - a plan from outside may hold anything
        judge.remarks.append(f"{name}: its plan cannot be read: {type(error).__name__}: {error}")
        return
    if adopted.dropped:
        judge.remarks.append(f"{name}: {adopted.dropped} of {len(plan.actions)} actions were dropped")
    judge.consider(name, adopted.assignment)


def _consider_prices(judge: Judge, search: PriceSearch, name: str, per_device: Mapping[str, float]) -> None:
    """A bound from somebody's device prices, and the greedy plan at them.

    Types that it does not name keep the prices that the search found.
    """
    if judge.hurried:
        judge.remarks.append(f"{name}: no time was left for its prices")
        return
    known = set(judge.instance.speeds.type_names)
    if strangers := sorted(per_device.keys() - known):
        judge.remarks.append(f"{name}: no accelerator type is named {', '.join(map(repr, strangers[:5]))}")
    with judge.budget.phase("greedy"):
        price = search.price.copy()
        for good, at in goods_by_name(search.instance, search.market).items():
            if good[0] in ("block", "group") and good[1] in per_device:
                price[at] = per_device[str(good[1])] if good[0] == "block" and good[2] == 1 else 0.0
        theirs = search.child(search.wishes, 0.0)
        theirs.offer(price, search.rent)
        search.offer(price, search.rent)
        assignment = price_greedy(judge.instance, theirs.prices())
    judge.lower(search.bound)
    judge.consider(name, assignment)
