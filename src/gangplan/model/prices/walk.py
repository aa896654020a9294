"""How prices move: a compiled walk along deflated subgradients, from the best prices known.

Polyak's step (B. T. Polyak, *Minimization of unsmooth functionals*, 1969; formulation, section 2, step 1),
scaled so that every good's price moves alike per device and per share of what the empty cluster offers. No
lock of the interpreter is held on the way, so that plans can be written and verified meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gangplan.model.compiled import compiled
from gangplan.model.prices.kernel import Choice, Wishes, evaluate
from gangplan.model.prices.market import Market
from gangplan.model.program import FloatArray, IntArray

_OUTWARD = 1e-9
_ROUNDING = 1e-12
_MEMORY = 0.7
"""Share of the last direction in the next (deflection)."""
_TARGET = 0.3
"""A step aims this share of the bound below the best one, times a stretch that shrinks when it stalls: small
enough and the first hundred evaluations bring prices within 0.2 % of what linear programming finds."""
_FORGET = 0.015
"""Weight of the present choice in the running average."""
_SHRINK = 0.75
_PATIENCE = 8
_LEAST_STRETCH = 2e-4
_PROGRESS = 1e-4
"""An improvement by a smaller share of the bound counts as none."""

BOUND, STRETCH, WEIGHT = 0, 1, 2
"""Positions in :attr:`Walk.number`: the best bound, how bold steps are, the weight of the next choice."""
STALLED, EVALUATIONS = 0, 1
"""Positions in :attr:`Walk.tally`: evaluations without progress, and all of them."""


class Walk(NamedTuple):
    """Where a walk is; changed by :func:`take_steps`.

    Attributes:
        price, rent: shape (goods,) and (limits,), evaluated next.
        best_price, best_rent: the best so far.
        direction, rent_direction: the deflated subgradient.
        number: bound, stretch and weight.
        tally: stalled and evaluations.
    """

    price: FloatArray
    rent: FloatArray
    best_price: FloatArray
    best_rent: FloatArray
    direction: FloatArray
    rent_direction: FloatArray
    number: FloatArray
    tally: IntArray

    @classmethod
    def from_best(cls, price: FloatArray, rent: FloatArray, bound: float, stretch: float) -> Walk:
        """A walk that begins at prices and rents that prove ``bound``."""
        return cls(
            price.copy(),
            rent.copy(),
            price.copy(),
            rent.copy(),
            np.zeros_like(price),
            np.zeros_like(rent),
            np.array([bound, stretch, 1.0]),
            np.zeros(2, dtype=np.int64),
        )


@compiled
def outward(total: float, less: float) -> float:
    """A bound, rounded so that no error of its sum makes it too small; ``less`` was taken off it."""
    return total + _OUTWARD * max(1.0, abs(total)) + _ROUNDING * less


@compiled
def take_steps(
    market: Market,
    wishes: Wishes,
    choice: Choice,
    walk: Walk,
    averages: tuple[FloatArray, FloatArray],
    scales: tuple[FloatArray, FloatArray],
    offset: float,
    less: float,
    steps: int,
) -> bool:
    """Go on with a walk.

    Args:
        market: goods and owners.
        wishes: what classes want.
        choice: what everybody chooses; changed.
        walk: where it is; changed.
        averages: shape (options,) and (classes,), how often each was chosen and stayed lately; changed.
        scales: shape (goods,) and (limits,), how far each price and rent moves.
        offset: what nobody's choice changes.
        less: what was taken off every value.
        steps: most evaluations, but for those that begin anew from the best prices.

    Returns:
        Whether more steps may bring more.
    """
    number, tally = walk.number, walk.tally
    for _ in range(steps):
        value = outward(offset + evaluate(market, wishes, walk.price, walk.rent, choice), less)
        tally[EVALUATIONS] += 1
        _remember(choice, averages, number)
        if value < number[BOUND]:
            better = value < number[BOUND] - _PROGRESS * abs(number[BOUND])
            tally[STALLED] = 0 if better else tally[STALLED] + 1
            number[BOUND] = value
            walk.best_price[:] = walk.price
            walk.best_rent[:] = walk.rent
        else:
            tally[STALLED] += 1
        if tally[STALLED] >= _PATIENCE:
            number[STRETCH] *= _SHRINK
            tally[STALLED] = 0
            walk.price[:] = walk.best_price
            walk.rent[:] = walk.best_rent
            walk.direction[:] = 0.0
            walk.rent_direction[:] = 0.0
            value = outward(offset + evaluate(market, wishes, walk.price, walk.rent, choice), less)
            tally[EVALUATIONS] += 1
            if number[STRETCH] < _LEAST_STRETCH:
                return False
        if not _move(market, choice, walk, scales, value):
            return False
    return True


@compiled
def _move(
    market: Market, choice: Choice, walk: Walk, scales: tuple[FloatArray, FloatArray], value: float
) -> bool:
    """One step from prices whose choice is at hand and whose bound is ``value``; false when there is none."""
    length = 0.0
    for g in range(len(walk.price)):
        walk.direction[g] = _MEMORY * walk.direction[g] + (choice.supply[g] - choice.demand[g])
        length += walk.direction[g] ** 2 * scales[0][g]
    for i in range(len(walk.rent)):
        walk.rent_direction[i] = _MEMORY * walk.rent_direction[i] + (market.limited[i] - choice.held[i])
        length += walk.rent_direction[i] ** 2 * scales[1][i]
    bound = walk.number[BOUND]
    ahead = max(0.0, value - bound) + walk.number[STRETCH] * _TARGET * abs(bound)
    if length <= 0.0 or ahead <= 0.0:
        return False
    step = ahead / length
    for g in range(len(walk.price)):
        walk.price[g] = max(0.0, walk.price[g] - step * walk.direction[g] * scales[0][g])
    for i in range(len(walk.rent)):
        walk.rent[i] = max(0.0, walk.rent[i] - step * walk.rent_direction[i] * scales[1][i])
    return True


@compiled
def _remember(choice: Choice, averages: tuple[FloatArray, FloatArray], number: FloatArray) -> None:
    """Move the running averages of what classes choose towards the present choice, the first in full."""
    chosen, kept_share = averages
    weight = max(_FORGET, number[WEIGHT])
    number[WEIGHT] = weight / (1.0 + weight)
    for k in range(len(chosen)):
        chosen[k] *= 1.0 - weight
    for c in range(len(choice.best)):
        k = choice.best[c]
        if k >= 0 and not choice.stays[c]:
            chosen[k] += weight
        kept_share[c] += weight * (choice.kept[c] - kept_share[c])
