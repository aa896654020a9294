"""The price greedy: decide by prices, then place on exact node state.

A running job stays when it is worth the price of what it holds. Every other class starts with its best
option at the prices, large gangs first, since they need whole nodes; who was to leave, found nothing better
and whose place is still free stays after all; and whatever is left is filled by profit per device.

What is worth exactly its price is torn, and prices rise until the largest gangs are: at the last of them such
a gang seems to lose a thousandth, although the way to them chose it almost always, and without it all that
was to leave for it leaves in vain. So there is a second plan, in which whoever is torn does what was chosen
most often lately (the primal average of Barahona and Anbil, *The volume algorithm*, 2000), and the one that
is worth more counts. Measured on 40 rounds of S to XL: the gap of gain falls from 59 to 2.4 %, 123 to 14 %
and 23 to 1.9 % where a gang of 256 devices was torn, and nowhere rises.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed, worth
from gangplan.model.packing.choose import Crowd
from gangplan.model.packing.exchange import start_by_exchange
from gangplan.model.packing.fill import fill, jobs_left, place_crowd, shares, stay_where_free
from gangplan.model.packing.in_place import prefer_in_place
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.prices.prices import Prices
from gangplan.model.program import BoolArray, FloatArray, IntArray

_DIGITS = 9
"""Profits per device that differ less are alike: many options are worth exactly their price."""


_LEAN = 1e-3
"""Share of its gain by which an option that was always chosen lately is worth more than at its price."""


def price_greedy(instance: Instance, prices: Prices, *, once: bool = False) -> Assignment:
    """A plan from prices; no bound is claimed for it.

    Args:
        instance: the round as arrays.
        prices: of its goods.
        once: make the first of the two plans only. On the way to the best prices the second is of no use:
            after 80 evaluations it was worth less in ten of ten rounds of size XL.
    """
    found = _greedy(instance, prices)
    leaning = None if once else _leaning(instance, prices)
    if leaning is None:
        return found
    other = _greedy(instance, leaning)
    return other if worth(instance, other) > worth(instance, found) else found


def _leaning(instance: Instance, prices: Prices) -> Prices | None:
    """The prices with what is torn as it was most often lately; None where nobody does anything else then."""
    if not (prices.chosen.any() or prices.kept_share.any()):  # no way has led to these prices
        return None
    stays = instance.kept & (prices.kept_share >= 0.5)
    size = np.abs(prices.keep_margin)
    lean = _LEAN * np.abs(instance.gain) * (prices.chosen - 0.5)
    found = replace(
        prices,
        option_cost=prices.option_cost - lean,
        stays=stays,
        keep_margin=np.where(stays == prices.stays, prices.keep_margin, np.where(stays, size, -size)),
    )
    if not np.array_equal(stays, prices.stays):
        return found
    staying = set(np.flatnonzero(stays).tolist())
    before, after = (_best_options(instance, _profit(instance, each), staying) for each in (prices, found))
    return None if np.array_equal(np.sort(before), np.sort(after)) else found


def _greedy(instance: Instance, prices: Prices) -> Assignment:
    kept = np.flatnonzero(instance.kept).tolist()
    leaving = [c for c in kept if not prices.stays[c] and not instance.classes[c].must_run]
    leaving.sort(key=lambda c: (prices.keep_margin[c], c))
    leaving = leaving[: instance.round.policy.disruption_limit]
    staying = set(kept) - set(leaving)
    occupancy = Occupancy(instance, staying)
    profit = _profit(instance, prices)
    placed: dict[int, Placed] = {}
    crowd = Crowd.of(instance.members.copy(), len(instance.distinct))
    best = _best_options(instance, profit, staying)
    place_crowd(occupancy, best, crowd, placed, Fit.BEST, gangs_again=True)
    staying |= stay_where_free(occupancy, staying, placed)
    stays = frozenset(instance.classes[c].jobs[0] for c in staying)
    wanting = jobs_left(instance, placed) > 0
    wanting[list(staying)] = False
    order = _ranked(instance, profit, wanting[instance.option_class])
    filled = fill(occupancy, Assignment(kept=stays, placed=placed), Fit.BEST, order)
    return prefer_in_place(occupancy, start_by_exchange(occupancy, filled, order))


def by_profit(instance: Instance, prices: Prices) -> IntArray:
    """Positions of options that are worth more than waiting, by profit per device, best first."""
    return _ranked(instance, _profit(instance, prices), np.ones(len(instance.option), dtype=np.bool_))


def _ranked(instance: Instance, profit: FloatArray, asked: BoolArray) -> IntArray:
    """Positions of the options ``asked`` for that have a gain, by profit per device, best first.

    Of options that are worth the same, the one with more gain per device, then the larger one comes first.
    """
    some = np.flatnonzero(asked & (instance.gain > 0.0) & np.isfinite(profit))
    share = shares(instance)[some]
    density, gain = np.round(profit[some] / share, _DIGITS), np.round(instance.gain[some] / share, _DIGITS)
    return some[np.lexsort((-instance.devices[some], -gain, -density))]


def _profit(instance: Instance, prices: Prices) -> FloatArray:
    """What every option is worth at the prices, shape (options,).

    ``-inf`` where a running job may not move: it is resized in place or not at all (decision 18).
    """
    rooted = np.zeros(len(instance.classes), dtype=np.bool_)
    for c in np.flatnonzero(instance.kept).tolist():
        rooted[c] = not instance.jobs[instance.classes[c].jobs[0]].capabilities.movable
    return np.where(rooted[instance.option_class], -np.inf, instance.gain - prices.option_cost)


def _best_options(instance: Instance, profit: FloatArray, staying: set[int]) -> IntArray:
    """The best option of every class that does not stay, if it has a profit; largest first."""
    top = np.full(len(instance.classes), -np.inf)
    np.maximum.at(top, instance.option_class, profit)
    top[list(staying)] = np.inf
    tops = np.flatnonzero((profit == top[instance.option_class]) & (profit > 0.0))
    best = tops[np.flatnonzero(np.diff(instance.option_class[tops], prepend=-1))]
    density = profit[best] / shares(instance)[best]
    return best[np.lexsort((best, -density, -instance.devices[best]))]
