"""Device prices, and the bound that they prove.

Relax the capacity of every accelerator type with a price (Lagrangian relaxation, Held and Karp 1970): each
class then takes its best option on its own, and for any prices

    value(any plan) <= offset + sum over classes of members * max(0, best profit) + price @ C,
    profit = gain - price @ devices.

Every evaluation is a valid bound on the whole programme (decision 24), rounded outward. Prices by block
size, and node and rack capacities, refine this later; capacity of CPU and memory is relaxed for free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.formulation.duality import price_out
from gangplan.model.formulation.layout import Layout
from gangplan.model.instance.instance import Instance
from gangplan.model.program import FloatArray, Program

STEPS = 80
_OUTWARD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """Prices and what they prove.

    Attributes:
        bound: no plan is worth more.
        option_cost: shape (options,), price of what each option holds; infinite where it cannot be taken.
        keep_cost: shape (classes,), price of what a kept job holds.
    """

    bound: float
    option_cost: FloatArray
    keep_cost: FloatArray


def price_devices(instance: Instance, steps: int = STEPS) -> Prices:
    """Good prices by a fixed number of subgradient steps of falling length; the best evaluation counts."""
    use = _Use(instance)
    capacity = use.capacity
    price = np.zeros(len(capacity))
    best_price, best = price, np.inf
    devices = np.maximum(instance.devices, 1)
    stride = float((instance.gain / devices).max(initial=0.0))
    for step in range(steps):
        bound, demand = use.evaluate(price)
        if bound < best:
            best, best_price = bound, price
        excess = (demand - capacity) / np.maximum(capacity, 1.0)
        price = np.maximum(0.0, price + stride / (2.0 + step / 4.0) * excess.clip(-1.0, 1.0))
    return Prices(
        bound=best + _OUTWARD * max(1.0, abs(best)),
        option_cost=use.option_cost(best_price),
        keep_cost=use.keep @ best_price,
    )


def prices_of_rows(layout: Layout, program: Program, multipliers: FloatArray, bound: float) -> Prices:
    """Prices of what options and kept jobs hold: multipliers of all rows but "one option per component"."""
    instance = layout.instance
    own = next(family for family in program.row_families if family.name == "structure")
    others = multipliers.copy()
    others[own.start : own.stop] = 0.0
    cost = program.objective - price_out(program, others).reduced
    option_cost = np.full(len(instance.option), np.inf)
    chosen = layout.option_column >= 0
    option_cost[chosen] = cost[layout.option_column[chosen]]
    keep_cost = np.zeros(len(instance.classes))
    keep_cost[instance.kept] = cost[layout.keep_column[instance.kept]]
    return Prices(bound, option_cost, keep_cost)


class _Use:
    """Devices of each type that options and kept jobs hold."""

    def __init__(self, instance: Instance) -> None:
        types = len(instance.speeds.type_names)
        self.instance = instance
        self.capacity = np.zeros(types)
        has = instance.nodes.type_of >= 0
        np.add.at(self.capacity, instance.nodes.type_of[has], instance.nodes.capacity[has, 0])
        distinct = np.zeros((len(instance.distinct), types))
        serves = np.zeros((len(instance.distinct), types), dtype=np.bool_)
        for o, option in enumerate(instance.distinct):
            for type_, devices in option.devices_by_type:
                distinct[o, type_] = devices
            if option.devices and not option.devices_by_type:
                serves[o, list(option.demands[0].block.types)] = True
        self._distinct, self._serves = distinct, serves
        self._devices = np.array([o.devices for o in instance.distinct], dtype=np.float64)
        self.keep = np.zeros((len(instance.classes), types))
        for c, held in enumerate(instance.keep_use):
            for n, amounts in held.items():
                if amounts[0]:
                    self.keep[c, instance.nodes.type_of[n]] += amounts[0]
        self._floor = np.array([-np.inf if c.must_run else 0.0 for c in instance.classes], dtype=np.float64)
        self._some = np.array([c.start for c in instance.classes if c.stop > c.start], dtype=np.int64)
        self._with = np.array([c for c, k in enumerate(instance.classes) if k.stop > k.start], dtype=np.int64)

    def _demand(self, price: FloatArray) -> FloatArray:
        """What each distinct option holds, shape (distinct, types); merged types go to the cheapest."""
        demand = self._distinct.copy()
        merged = np.flatnonzero(self._serves.any(axis=1))
        if len(merged):
            cheapest = np.where(self._serves[merged], price, np.inf).argmin(axis=1)
            demand[merged, cheapest] += self._devices[merged]
        return demand

    def option_cost(self, price: FloatArray) -> FloatArray:
        """Price of each option, shape (options,)."""
        cost: FloatArray = (self._demand(price) @ price)[self.instance.option]
        return cost

    def evaluate(self, price: FloatArray) -> tuple[float, FloatArray]:
        """The bound at ``price``, and the devices that the best choices hold, shape (types,)."""
        instance = self.instance
        demand = self._demand(price)
        profit = instance.gain - (demand @ price)[instance.option]
        best = self._floor.copy()
        if len(self._some):
            best[self._with] = np.maximum(best[self._with], np.maximum.reduceat(profit, self._some))
        keep_profit = np.where(instance.kept, instance.keep_gain - self.keep @ price, -np.inf)
        stays = keep_profit >= best
        best = np.maximum(best, keep_profit)
        mine = best[instance.option_class]
        chosen = np.flatnonzero((profit >= mine) & ~stays[instance.option_class])
        chosen = chosen[profit[chosen] > self._floor[instance.option_class[chosen]]]
        _, first = np.unique(instance.option_class[chosen], return_index=True)
        chosen = chosen[first]
        members = instance.members[instance.option_class[chosen], None]
        used = self.keep[stays].sum(axis=0) + (demand[instance.option[chosen]] * members).sum(axis=0)
        bound = instance.offset + float((best * instance.members).sum()) + float(price @ self.capacity)
        return bound, used
