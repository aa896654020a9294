"""The price greedy: decide by prices, then place on exact node state.

A running job stays when it is worth the price of what it holds. Every other class starts with its best
option at the prices, large gangs first, since they need whole nodes; who was to leave, found nothing better
and whose place is still free stays after all; and whatever is left is filled by profit per device.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import fill, place_gangs, shares, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.settle import settle
from gangplan.model.prices.prices import Prices
from gangplan.model.program import FloatArray, IntArray


def price_greedy(instance: Instance, prices: Prices) -> Assignment:
    """A plan from prices; no bound is claimed for it."""
    kept = [c for c, job_class in enumerate(instance.classes) if job_class.kept]
    leaving = [c for c in kept if not prices.stays[c] and not instance.classes[c].must_run]
    leaving.sort(key=lambda c: (prices.keep_margin[c], c))
    leaving = leaving[: instance.round.policy.disruption_limit]
    staying = set(kept) - set(leaving)
    occupancy = Occupancy(instance, staying)
    profit = _profit(instance, prices)
    placed: dict[int, Placed] = {}
    for k in _best_options(instance, profit, staying):
        members = list(instance.classes[int(instance.option_class[k])].jobs)
        for spots in place_gangs(occupancy, k, len(members), Fit.BEST):
            placed[members.pop(0)] = Placed(k, spots)
    staying |= stay_where_free(occupancy, staying, placed)
    stays = frozenset(instance.classes[c].jobs[0] for c in staying)
    filled = fill(occupancy, Assignment(kept=stays, placed=placed), Fit.BEST, by_profit(instance, prices))
    return settle(occupancy, filled)


def by_profit(instance: Instance, prices: Prices) -> IntArray:
    """Positions of options that are worth more than waiting, by profit per device, best first."""
    profit = _profit(instance, prices)
    order = np.lexsort((np.arange(len(profit)), -profit / shares(instance)))
    return order[(instance.gain[order] > 0.0) & np.isfinite(profit[order])]


def _profit(instance: Instance, prices: Prices) -> FloatArray:
    """What every option is worth at the prices, shape (options,).

    ``-inf`` where a running job may not move: it is resized in place or not at all (decision 18).
    """
    rooted = np.array(
        [c.kept and not instance.jobs[c.jobs[0]].capabilities.movable for c in instance.classes],
        dtype=np.bool_,
    )
    return np.where(rooted[instance.option_class], -np.inf, instance.gain - prices.option_cost)


def _best_options(instance: Instance, profit: FloatArray, staying: set[int]) -> list[int]:
    """The best option of every class that does not stay, if it has a profit; largest first."""
    order = np.lexsort((-profit, instance.option_class))
    classes, first = np.unique(instance.option_class[order], return_index=True)
    best = order[first]
    open_ = np.ones(len(instance.classes), dtype=np.bool_)
    open_[list(staying)] = False
    best = best[(profit[best] > 0.0) & open_[classes]]
    density = profit[best] / shares(instance)[best]
    ranked: list[int] = best[np.lexsort((best, -density, -instance.devices[best]))].tolist()
    return ranked
