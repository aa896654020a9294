"""Prices of blocks, groups of nodes, CPU and memory, and of room under device limits; and their bound.

Relax every good's balance with a price (Lagrangian relaxation; Held and Karp, *The traveling-salesman problem
and minimum spanning trees: part II*, 1971). At any prices

    value(any plan) <= offset + sum over classes of the best profit + sum over nodes and cells of their worth
                       + sum over limits of rent * limit,

so that every evaluation is a valid bound on the whole programme (decision 24), rounded outward. ``walk`` says
how prices move from one evaluation to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.prices.kernel import Choice, Wishes, evaluate
from gangplan.model.prices.market import Market, build_market
from gangplan.model.prices.prices import Prices
from gangplan.model.prices.walk import BOUND, EVALUATIONS, Walk, outward, take_steps
from gangplan.model.program import FloatArray

STEPS = 250
"""Evaluations from a cold start."""

_TOGETHER = 400_000
"""Options and nodes that are looked at between two questions whether to stop."""
_AT_LEAST = 4
"""Evaluations between them however large the round: for each, a walk in a thread of its own waits up to 5 ms
until it may ask."""
_ON_THE_WAY = 4
"""Times as many while somebody waits for the prices of ``look`` evaluations."""


@dataclass(slots=True, eq=False)
class PriceSearch:
    """The dual of one round, from which prices can be improved again and again.

    Attributes:
        instance: the round as arrays.
        market: its goods and owners.
        wishes: what classes want.
        choice: what everybody chooses at the prices evaluated last; shared with every child.
        price: shape (goods,), the best prices so far.
        rent: shape (limits,), the best rents so far.
        bound: what they prove.
        chosen: shape (options,), how often lately each option was its class's choice, 0 to 1: where that is
            neither, the relaxation is torn (Barahona and Anbil, *The volume algorithm*, 2000).
        kept_share: shape (classes,), the same for staying.
        less: taken off every value.
        evaluations: how many there were.
    """

    instance: Instance
    market: Market
    wishes: Wishes
    choice: Choice
    price: FloatArray
    rent: FloatArray
    chosen: FloatArray
    kept_share: FloatArray
    less: float = 0.0
    bound: float = np.inf
    evaluations: int = 0

    @classmethod
    def of(cls, instance: Instance) -> PriceSearch:
        """Start from nothing."""
        market = build_market(instance)
        return cls(
            instance=instance,
            market=market,
            wishes=_wishes(instance),
            choice=_empty_choice(instance, market),
            price=np.zeros(market.goods),
            rent=np.zeros(len(market.limited)),
            chosen=np.zeros(len(instance.option)),
            kept_share=np.zeros(len(instance.classes)),
        )

    def child(self, wishes: Wishes, less: float) -> PriceSearch:
        """A search with other wishes, ``less`` off its value, that starts at these prices."""
        return replace(
            self,
            wishes=wishes,
            less=self.less + less,
            chosen=np.zeros_like(self.chosen),
            kept_share=np.zeros_like(self.kept_share),
            bound=np.inf,
            evaluations=0,
        )

    def value(self, price: FloatArray, rent: FloatArray) -> float:
        """The bound at ``price`` and ``rent``; fills :attr:`choice`."""
        self.evaluations += 1
        total = self.instance.offset - self.less
        total += evaluate(self.market, self.wishes, price, rent, self.choice)
        return outward(total, self.less)

    def offer(self, price: FloatArray, rent: FloatArray) -> float:
        """Try prices from elsewhere; they become the best when their bound is."""
        value = self.value(price, rent)
        if value < self.bound:
            self.bound, self.price, self.rent = value, price.copy(), rent.copy()
        return value

    def improve(
        self,
        steps: int = STEPS,
        stop: Callable[[], bool] = lambda: False,
        stretch: float = 1.0,
        look: int = 0,
    ) -> None:
        """Walk from the best prices, by default from a first guess.

        Args:
            steps: most evaluations.
            stop: asked every 20 to 40 ms, when the best prices so far are here; true ends the walk.
            stretch: how bold the first steps are; 1 from a cold start, a few hundredths from good prices.
            look: evaluations of this search after which ``stop`` is asked as well; 0: never.
        """
        if self.bound == np.inf:
            self.offer(self.price if self.price.any() else self.first_guess(), self.rent)
        walk = Walk.from_best(self.price, self.rent, self.bound, stretch)
        scales = self.market.unit / self.market.offered, 1.0 / np.maximum(self.market.limited, 1.0)
        averages = self.chosen, self.kept_share
        averages[0][:] = averages[1][:] = 0.0
        offset, together = float(self.instance.offset - self.less), self._evaluations_together()
        while steps > 0 and not stop():
            number = min(steps, together)
            if self.evaluations < look:
                number = min(steps, _ON_THE_WAY * together, look - self.evaluations)
            before = walk.tally[EVALUATIONS]
            going = take_steps(
                self.market, self.wishes, self.choice, walk, averages, scales, offset, self.less, number
            )
            self.evaluations += int(walk.tally[EVALUATIONS] - before)
            self.bound, self.price, self.rent = float(walk.number[BOUND]), walk.best_price, walk.best_rent
            if not going:
                break
            steps -= number

    def _evaluations_together(self) -> int:
        """How many are made before anybody is asked again whether to stop: about 20 ms' worth."""
        return max(_AT_LEAST, _TOGETHER // (len(self.instance.option) + len(self.market.node_type) + 1))

    def prices(self) -> Prices:
        """What the best prices say of every option and kept job; what is refused costs what it brings."""
        self.value(self.price, self.rent)
        instance, market, choice = self.instance, self.market, self.choice
        toll = np.zeros((len(instance.classes), market.option_devices.shape[1]))
        of_class = np.repeat(np.arange(len(instance.classes)), np.diff(market.class_limit_start))
        np.add.at(toll, (of_class, market.limit_type[market.class_limit]), self.rent[market.class_limit])
        cost = choice.cost[instance.option]
        if len(self.rent):
            cost = cost + (toll[instance.option_class] * market.option_devices[instance.option]).sum(axis=1)
        cost = cost + (instance.gain - self.wishes.gain)
        worth = np.where(choice.stays, np.abs(choice.margin), -np.abs(choice.margin))
        return Prices(
            bound=self.bound,
            option_cost=cost,
            stays=choice.stays & instance.kept,
            keep_margin=np.where(instance.kept, worth, 0.0),
            best_profit=choice.best_profit.copy(),
            chosen=self.chosen.copy(),
            kept_share=self.kept_share.copy(),
        )

    def first_guess(self) -> FloatArray:
        """A device costs what it brings in the middling option of its type; nothing else costs anything."""
        instance, market = self.instance, self.market
        price = np.zeros(market.goods)
        devices = np.maximum(instance.devices, 1)
        density = instance.gain / devices
        for t in range(len(market.size_start) - 1):
            mine = market.option_devices[instance.option, t] > 0
            if mine.any():
                price[market.size_good[market.size_start[t]]] = max(0.0, float(np.median(density[mine])))
        return price


def _wishes(instance: Instance) -> Wishes:
    classes = instance.classes
    start = np.zeros(len(classes) + 1, dtype=np.int64)
    start[1:] = [c.stop for c in classes]
    return Wishes(
        gain=np.ascontiguousarray(instance.gain, dtype=np.float64),
        option=np.ascontiguousarray(instance.option, dtype=np.int64),
        start=start,
        members=instance.members,
        must_run=np.array([c.must_run for c in classes], dtype=np.bool_),
        keep_gain=np.ascontiguousarray(instance.keep_gain, dtype=np.float64),
        kept=instance.kept,
    )


def _empty_choice(instance: Instance, market: Market) -> Choice:
    classes, nodes = len(instance.classes), len(market.node_type)
    return Choice(
        cost=np.zeros(len(instance.distinct)),
        way=np.zeros(len(market.way_start) - 1, dtype=np.int64),
        best=np.full(classes, -1, dtype=np.int64),
        best_profit=np.zeros(classes),
        margin=np.zeros(classes),
        kept=np.zeros(classes),
        stays=np.zeros(classes, dtype=np.bool_),
        stays_item=np.zeros(len(market.item_class), dtype=np.bool_),
        stays_gang=np.zeros(len(market.gang_class), dtype=np.bool_),
        node_value=np.zeros(nodes),
        node_used=np.zeros(nodes, dtype=np.int64),
        supply=np.zeros(market.goods),
        demand=np.zeros(market.goods),
        held=np.zeros(len(market.limited)),
    )
