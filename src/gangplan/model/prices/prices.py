"""What prices say of a round, however they were found."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from gangplan.model.program import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """Prices and what they prove.

    Attributes:
        bound: no plan is worth more.
        option_cost: shape (options,), price of what each option takes; infinite where it cannot be taken.
        stays: shape (classes,), running jobs that are worth the price of what they hold.
        keep_margin: shape (classes,), how clearly so: from below 0 (the first to go) to above (the last).
        best_profit: shape (classes,), of the best option; an option costs at least this less its own profit
            against the bound (its regret).
        chosen: shape (options,), how often each option was its class's choice on the way to these prices,
            lately most; 0 to 1.
        kept_share: shape (classes,), the same for staying.
    """

    bound: float
    option_cost: FloatArray
    stays: BoolArray
    keep_margin: FloatArray
    best_profit: FloatArray
    chosen: FloatArray
    kept_share: FloatArray

    def staying(self, stays: BoolArray) -> Prices:
        """The same prices, where it is settled who stays: shape (classes,)."""
        settled = np.where(stays == self.stays, self.kept_share, stays)
        return replace(self, stays=stays, kept_share=settled)

    def held(self, classes: Collection[int]) -> Prices:
        """The same prices, where the running jobs of ``classes`` stay, too."""
        stays = self.stays.copy()
        stays[list(classes)] = True
        return self.staying(stays)
