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

from gangplan.model.instance import Instance
from gangplan.model.program import FloatArray

STEPS = 80
_OUTWARD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """Prices and what they prove.

    Attributes:
        by_type: shape (types,), GPU-equivalents per device, not negative.
        bound: no plan is worth more.
        option_cost: shape (options,), price of what each option holds.
        keep_cost: shape (classes,), price of what a kept job holds.
    """

    by_type: FloatArray
    bound: float
    option_cost: FloatArray
    keep_cost: FloatArray


def price_devices(instance: Instance, steps: int = STEPS) -> Prices:
    """Good prices by a fixed number of subgradient steps of falling length; the best evaluation counts."""
    use = _Use(instance)
    capacity = use.capacity
    price = np.zeros(len(capacity))
    best_price, best = price, np.inf
    devices = np.maximum([option.devices for option in instance.options], 1)
    stride = float((instance.gain / devices).max(initial=0.0))
    for step in range(steps):
        bound, demand = use.evaluate(price)
        if bound < best:
            best, best_price = bound, price
        excess = (demand - capacity) / np.maximum(capacity, 1.0)
        price = np.maximum(0.0, price + stride / (2.0 + step / 4.0) * excess.clip(-1.0, 1.0))
    return Prices(
        by_type=best_price,
        bound=best + _OUTWARD * max(1.0, abs(best)),
        option_cost=use.option_cost(best_price),
        keep_cost=use.keep @ best_price,
    )


class _Use:
    """Devices of each type that options and kept jobs hold."""

    def __init__(self, instance: Instance) -> None:
        types = len(instance.speeds.type_names)
        self.instance = instance
        self.capacity = np.zeros(types)
        for n, type_ in enumerate(instance.nodes.type_of.tolist()):
            if type_ >= 0:
                self.capacity[type_] += instance.nodes.capacity[n, 0]
        self.option = np.zeros((len(instance.options), types))
        self.merged = []
        for k, option in enumerate(instance.options):
            for type_, devices in option.devices_by_type:
                self.option[k, type_] = devices
            if option.devices and not option.devices_by_type:
                self.merged.append((k, list(option.demands[0].block.types)))
        self.keep = np.zeros((len(instance.classes), types))
        for c, held in enumerate(instance.keep_use):
            for n, amounts in held.items():
                if amounts[0]:
                    self.keep[c, instance.nodes.type_of[n]] += amounts[0]
        self.members = np.array([len(c.jobs) for c in instance.classes], dtype=np.float64)
        self.floor = np.array([-np.inf if c.must_run else 0.0 for c in instance.classes], dtype=np.float64)

    def option_cost(self, price: FloatArray) -> FloatArray:
        """Price of each option; options of merged types go to the cheapest."""
        cost: FloatArray = self.option @ price
        for k, types in self.merged:
            cost[k] = float(price[types].min()) * self.instance.options[k].devices
        return cost

    def evaluate(self, price: FloatArray) -> tuple[float, FloatArray]:
        """The bound at ``price``, and the devices that the best choices hold, shape (types,)."""
        instance = self.instance
        if not len(self.members):
            return instance.offset + float(price @ self.capacity), np.zeros_like(price)
        profit = instance.gain - self.option_cost(price)
        best = self.floor.copy()
        np.maximum.at(best, instance.option_class, profit)
        kept = np.array([c.kept for c in instance.classes])
        keep_profit = np.where(kept, instance.keep_gain - self.keep @ price, -np.inf)
        stays = keep_profit >= best
        best = np.maximum(best, keep_profit)
        demand = self.keep[stays].sum(axis=0)
        chosen = np.flatnonzero((profit >= best[instance.option_class]) & ~stays[instance.option_class])
        _, first = np.unique(instance.option_class[chosen], return_index=True)
        chosen = chosen[first]
        chosen = chosen[profit[chosen] > self.floor[instance.option_class[chosen]]]
        demand = demand + (self.option[chosen] * self.members[instance.option_class[chosen], None]).sum(
            axis=0
        )
        for k, types in self.merged:
            if k in set(chosen.tolist()) and types:
                cheapest = types[int(np.argmin(price[types]))]
                demand[cheapest] += instance.options[k].devices * self.members[instance.option_class[k]]
        bound = instance.offset + float((best * self.members).sum()) + float(price @ self.capacity)
        return bound, demand
