"""What prices say of a round, however they were found."""

from __future__ import annotations

from dataclasses import dataclass

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
    """

    bound: float
    option_cost: FloatArray
    stays: BoolArray
    keep_margin: FloatArray
    best_profit: FloatArray
