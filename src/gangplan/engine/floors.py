"""Floors of stages that are decided (decision 8): prices and programmes that keep them, and their bounds.

At any multipliers from 0 up

    objective(any plan within the floors) <= max over plans of (objective + multiplier * count)
                                              - multiplier * floor,

and the plan that the raised prices lead to meets more and more of the floors as they grow. No multiplier ends
up in an answer's value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gangplan.engine.ask import Asking
from gangplan.engine.judge import Judge
from gangplan.model.constraints import guarantee
from gangplan.model.formulation.layout import Layout
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.bind import bind
from gangplan.model.packing.price_greedy import by_profit, price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.prices.prices import Prices
from gangplan.model.program import BoolArray, FloatArray, Program

STEPS = 80
ROUNDING = 1e-9
_SHARE = 0.3
"""Of the time that is left, what one stage's solver may take."""
_RAISES = 6
_FIRST = 0.05
"""The first multiplier: the share of the largest gain that the heaviest job of a tier earns for running."""
_RAISE = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Floors:
    """What counts towards each floor.

    Attributes:
        option: shape (floors, options), what a job with an option counts.
        keep: shape (floors, classes), what a job that stays counts.
        least: shape (floors,).
    """

    option: FloatArray
    keep: FloatArray
    least: FloatArray

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.least)


def floors_of(instance: Instance) -> Floors:
    """Those of the guarantees, then those of the tiers, as far as they are decided."""
    weights = instance.tiers[: len(instance.floors)]
    option, keep = weights[:, instance.option_class], np.where(instance.kept, weights, 0.0)
    least = np.array(instance.floors, dtype=np.float64)
    if not instance.guarantee_floors:
        return Floors(option, keep, least)
    owed = instance.guarantees
    held = np.array([instance.guarantee_floors.get(name, 0.0) for name in owed.names], dtype=np.float64)
    return Floors(
        np.concatenate([owed.option, option]),
        np.concatenate([owed.keep, keep]),
        np.concatenate([np.maximum(0.0, held - guarantee.TOLERANCE), least]),
    )


def by_prices(
    judge: Judge, goal: Instance, counted: BoolArray, consider: Callable[[str, Assignment], bool]
) -> tuple[float, Prices | None]:
    """Bound ``goal`` within the floors, and look for plans, with multipliers that are raised while need be.

    Args:
        judge: of plans within the floors.
        goal: what is maximised.
        counted: shape (classes,), who does not give way to others whatever prices say.
        consider: takes a plan; true when it keeps all rules, the floors among them.

    Returns:
        The least bound, and the last prices; None when there was no time for any.
    """
    floors = floors_of(goal)
    multiplier = np.zeros(floors.count)
    heaviest = np.maximum(floors.option.max(axis=1, initial=0.0), floors.keep.max(axis=1, initial=0.0))
    worth = float(np.abs(goal.gain).max(initial=0.0))
    bound, prices = np.inf, None
    for number in range(_RAISES if floors.count else 1):
        if judge.hurried:
            break
        raised = _raised(goal, floors, multiplier)
        search = PriceSearch.of(raised)
        search.improve(STEPS, lambda: judge.hurried)
        prices = search.prices()
        spent = float((multiplier * floors.least).sum())
        bound = min(bound, prices.bound - spent + ROUNDING * (abs(prices.bound) + spent))
        kept = consider("greedy", price_greedy(raised, prices))
        yielding = prices.staying(prices.stays & counted)
        if (yielding.stays != prices.stays).any():
            kept |= consider("yielding", price_greedy(raised, yielding))
        if kept:
            break
        first = _FIRST * _RAISE**number * worth
        np.divide(first, heaviest, out=multiplier, where=heaviest > 0.0)
    return float(bound), prices


def by_programme(
    asking: Asking,
    layout: Layout,
    program: Program,
    start: FloatArray,
    prices: Prices,
    consider: Callable[[str, Assignment], object],
    *,
    step: str,
) -> float:
    """Bound a stage by its programme, and look for a plan with it.

    Args:
        asking: solvers.
        layout: of the stage's goal; its columns come first in the programme.
        program: of the stage.
        start: a plan in it; left out where it breaks a row.
        prices: of the goal, which order the binding.
        consider: takes the plan.
        step: under which name the work is counted.

    Returns:
        The bound; infinite without an answer.
    """
    solution = asking.solve(program, start if program.admits(start) else None, step=step, share=_SHARE)
    if solution is None:
        return np.inf
    if solution.values is not None:
        order = by_profit(layout.instance, prices)
        consider("exact", bind(layout, solution.values[: layout.columns], order))
    return solution.bound


def _raised(goal: Instance, floors: Floors, multiplier: FloatArray) -> Instance:
    """The same goal, in which a job that runs earns ``multiplier`` times what it counts on top."""
    if not multiplier.any():
        return goal
    keep_gain = np.where(goal.kept, goal.keep_gain + multiplier @ floors.keep, 0.0)
    return replace(goal, gain=goal.gain + multiplier @ floors.option, keep_gain=keep_gain)
