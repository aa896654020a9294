"""The sifted relaxation: row prices from few columns, a bound from all of them.

A linear programme over the options that look good at today's prices gives new prices; these price out all
options at once, which proves a bound on the whole programme, and the options that would gain enter. Two or
three rounds are enough, since nearly all options never come near their price (Bixby et al., *Very
large-scale linear programming: a case study in combining interior point and simplex methods*, Operations
Research 40, 1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.engine.ask import Asking
from gangplan.model.formulation.duality import price_out
from gangplan.model.formulation.layout import Layout
from gangplan.model.prices.by_type import Prices
from gangplan.model.program import BoolArray, FloatArray, IntArray, Program

_PER_CLASS = 3
_ROUNDS = 8
_CLOSE = 2e-4
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Sifted:
    """What the relaxation knows.

    Attributes:
        bound: no plan is worth more.
        multipliers: shape (rows,), row prices.
        regret: shape (columns,), what one unit of a column costs at least against the bound; 0 for columns
            that are no options, which are never left out.
    """

    bound: float
    multipliers: FloatArray
    regret: FloatArray


def sift(
    asking: Asking, layout: Layout, program: Program, prices: Prices, start: FloatArray
) -> Sifted | None:
    """Solve the relaxation of ``program`` by sifting; None when no backend could."""
    chosen = np.flatnonzero(layout.option_column >= 0)
    options = len(chosen)
    active = np.ones(program.columns, dtype=np.bool_)
    profit = (layout.instance.gain - prices.option_cost)[chosen]
    active[:options] = _best_of_each(layout.instance.option_class[chosen], profit) | (start[:options] > 0.0)
    best: Sifted | None = None
    for _ in range(_ROUNDS):
        solution = asking.solve(program.restricted(active), None, relax=True)
        if solution is None or solution.row_duals is None or solution.objective is None:
            return best
        dual = price_out(program, solution.row_duals)
        if best is None or dual.bound < best.bound:
            best = Sifted(dual.bound, solution.row_duals, _regret(dual.reduced, options))
        entering = ~active & (dual.reduced > _TOLERANCE)
        if not entering.any() or dual.bound - solution.objective < _CLOSE * abs(dual.bound):
            return best
        active |= entering
    return best


def nearest(sifted: Sifted, most: int, start: FloatArray) -> tuple[BoolArray, float]:
    """The ``most`` options of least regret and those of ``start``; and the least regret of all others."""
    regret = np.where(start > 0.0, 0.0, sifted.regret)
    ranked = np.sort(regret)
    others = int((regret > 0.0).sum())
    if others <= most:
        return np.ones(len(regret), dtype=np.bool_), float("inf")
    limit = float(ranked[len(regret) - others + most])
    kept = regret < limit
    return kept, float(regret[~kept].min())


def _best_of_each(classes: IntArray, profit: FloatArray) -> BoolArray:
    """Whether an option is among the best few of its class, shape (options,)."""
    order = np.lexsort((-profit, classes))
    ordered = classes[order]
    begins = np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(order) else np.zeros(0, np.bool_)
    position = np.arange(len(order))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = position - np.maximum.accumulate(np.where(begins, position, 0))
    return rank < _PER_CLASS


def _regret(reduced: FloatArray, options: int) -> FloatArray:
    regret = np.zeros(len(reduced), dtype=np.float64)
    regret[:options] = np.maximum(0.0, -reduced[:options])
    return regret
