"""What every option could still be part of: a bound on all plans that take it.

Prices prove a bound, and how much each option costs at least against it (its regret). So no plan with
option k is worth more than ``bound - regret_k``, its ceiling; of several sources the lowest ceiling counts.
Whoever leaves out only options whose ceilings are below a plan at hand loses nothing (decisions 23, 24).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.formulation.layout import Layout
from gangplan.model.prices.prices import Prices
from gangplan.model.program import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Ceilings:
    """Bounds on plans, in all and by option.

    Attributes:
        bound: no plan is worth more.
        of_column: shape (columns,), no plan that takes the column is worth more; ``bound`` for columns that
            are no options, which are never left out.
        size: shape (columns,), devices of one unit; at least 1.
    """

    bound: float
    of_column: FloatArray
    size: FloatArray

    @classmethod
    def of_prices(cls, layout: Layout, prices: Prices) -> Ceilings:
        """From the prices of goods."""
        instance = layout.instance
        chosen = np.flatnonzero(layout.option_column >= 0)
        profit = (instance.gain - prices.option_cost)[chosen]
        regret = np.zeros(layout.columns)
        regret[: len(chosen)] = np.maximum(0.0, prices.best_profit[instance.option_class[chosen]] - profit)
        size = np.ones(layout.columns)
        size[: len(chosen)] = np.maximum(1, instance.devices[chosen])
        return cls(prices.bound, prices.bound - regret, size)

    def lowered(self, bound: float, regret: FloatArray) -> Ceilings:
        """With a second source: its bound, and its regrets, shape (columns,)."""
        return Ceilings(
            min(self.bound, bound), np.minimum(self.of_column, bound - np.maximum(0.0, regret)), self.size
        )

    def nearest(self, most: float, start: FloatArray, worth: float) -> tuple[BoolArray, float]:
        """Which columns to keep, and what leaving out the others proves.

        Args:
            most: keep about so many options beside those of ``start``: those that cost least per device.
                Options that cost nothing are kept whatever their number.
            start: shape (columns,), a plan whose options stay.
            worth: a plan at hand; options that cannot be part of a better one go.

        Returns:
            The columns that are kept, shape (columns,), and the most that a plan with any other is worth
            (``-inf`` when there is none).
        """
        cost = np.where(start > 0.0, 0.0, (self.bound - self.of_column) / self.size)
        kept = (cost <= 0.0) | (self.of_column > worth)
        others = np.sort(cost[kept & (cost > 0.0)])
        if len(others) > most:
            kept &= cost <= (others[int(most) - 1] if most >= 1 else 0.0)
        left_out = float(self.of_column[~kept].max()) if not kept.all() else -np.inf
        return kept, left_out
