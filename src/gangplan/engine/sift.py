"""The sifted relaxation: row prices from few columns, a bound from all of them.

A linear programme over the options that are near their price gives row prices; these price out all options
at once, which proves a bound on the whole programme, and the options that would gain enter. One or two rounds
are enough, since nearly all options never come near their price (Bixby et al., *Very large-scale linear
programming: a case study in combining interior point and simplex methods*, Operations Research 40, 1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.engine.ask import Asking
from gangplan.engine.ceilings import Ceilings
from gangplan.model.formulation.duality import price_out
from gangplan.model.formulation.layout import Layout
from gangplan.model.program import FloatArray, Program

_OPTIONS = 3_000
_ROUNDS = 6
_CLOSE = 1e-4
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Sifted:
    """What the relaxation knows.

    Attributes:
        bound: no plan is worth more.
        regret: shape (columns,), what one unit of a column costs at least against the bound; 0 for columns
            that are no options.
    """

    bound: float
    regret: FloatArray


def sift(
    asking: Asking, layout: Layout, program: Program, ceilings: Ceilings, start: FloatArray
) -> Sifted | None:
    """Solve the relaxation of ``program`` by sifting; None when no backend could."""
    options = int((layout.option_column >= 0).sum())
    active, _ = ceilings.nearest(_OPTIONS, start, -np.inf)
    best: Sifted | None = None
    for _ in range(_ROUNDS):
        solution = asking.solve(program.restricted(active), None, step="relax", relax=True)
        if solution is None or solution.row_duals is None or solution.objective is None:
            return best
        dual = price_out(program, solution.row_duals)
        if best is None or dual.bound < best.bound:
            best = Sifted(dual.bound, _regret(dual.reduced, options))
        entering = ~active & (dual.reduced > _TOLERANCE)
        if not entering.any() or dual.bound - solution.objective < _CLOSE * abs(dual.bound):
            return best
        active |= entering
    return best


def _regret(reduced: FloatArray, options: int) -> FloatArray:
    regret = np.zeros(len(reduced), dtype=np.float64)
    regret[:options] = np.maximum(0.0, -reduced[:options])
    return regret
