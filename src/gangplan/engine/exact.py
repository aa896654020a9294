"""The exact step: the integer programme, whole or reduced, solved in the worker and bound to nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gangplan.domain.plan import TerminationLimit
from gangplan.engine.ask import Asking
from gangplan.engine.judge import Judge
from gangplan.engine.sift import Sifted, nearest, sift
from gangplan.model.formulation.ease import ease
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import Layout, build_layout
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.bind import bind
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.by_type import Prices, prices_of_rows
from gangplan.model.program import BoolArray, FloatArray, Program, Solution

STEPS: tuple[tuple[float, tuple[tuple[float, float], ...]], ...] = (
    (1_200, ((float("inf"), 1.0),)),
    (float("inf"), ((1_000, 0.4), (4_000, 0.6), (float("inf"), 1.0))),
)
"""Which programmes are solved, by the number of columns: up to so many, these steps one after the other, each
with so many options (those of least regret) and so much of the time that is left. A step that proves the
optimum is the last. Programmes that are not solved whole at once are sifted first.
"""

_OPTIMAL = 1e-6
_FEASIBLE = 1e-6
_EASE_GAP = 0.01
_RESIZE_PASSES = 3


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """What the exact step did.

    Attributes:
        solution: the last checked answer of a solver; None when there is none.
        limit: why the search stopped.
        detail: what went wrong; empty when all went well.
        program: the whole programme; None when the step was not taken.
        unbound: chosen gangs that no node could take or that could not be resized in place, in the last step.
        steps: programmes solved, relaxations aside.
    """

    solution: Solution | None
    limit: TerminationLimit
    detail: str
    program: Program | None
    unbound: int = 0
    steps: int = 0


def solve_exactly(judge: Judge, asking: Asking, prices: Prices) -> Exact:
    """Solve the programme within what the budget leaves for it, and bind every solution."""
    if asking.parameters.pipeline == "greedy":
        return Exact(None, TerminationLimit.NONE, "", None)
    if judge.hurried:
        return Exact(None, TerminationLimit.TIME, "the budget left no time for a solver", None)
    with judge.budget.phase("formulate"):
        layout = build_layout(judge.instance)
        program = formulate(layout)
    steps = next(steps for most, steps in STEPS if program.columns <= most)
    sifted = None
    if len(steps) > 1:
        sifted = _sift(judge, asking, layout, program, prices)
    solution: Solution | None = None
    unbound = done = 0
    for most, share in steps if sifted is not None else steps[-1:]:
        answer = _step(judge, asking, layout, program, sifted, most, share)
        if answer is None:
            break
        solution, unbound = answer
        done += 1
        if _proved(judge):
            break
    limit = TerminationLimit.NONE if solution is not None and _proved(judge) else asking.limit
    return Exact(solution, limit, "; ".join(asking.failures), program, unbound, done)


def _proved(judge: Judge) -> bool:
    assert judge.best is not None
    return judge.bound - judge.best.value <= _OPTIMAL * max(1.0, abs(judge.bound))


def _sift(judge: Judge, asking: Asking, layout: Layout, program: Program, prices: Prices) -> Sifted | None:
    """The relaxation's bound, and the price greedy at its prices."""
    start = _start(judge, layout, program)
    sifted = sift(asking, layout, program, prices, np.zeros(program.columns) if start is None else start)
    if sifted is None:
        return None
    judge.bound = min(judge.bound, sifted.bound)
    with judge.budget.phase("greedy"):
        priced = price_greedy(
            judge.instance, prices_of_rows(layout, program, sifted.multipliers, sifted.bound)
        )
    judge.consider("price_greedy", priced)
    return sifted


def _step(
    judge: Judge,
    asking: Asking,
    layout: Layout,
    program: Program,
    sifted: Sifted | None,
    most: float,
    share: float,
) -> tuple[Solution, int] | None:
    """Solve with at most ``most`` options, bind, and say how many gangs no node could take."""
    start = _start(judge, layout, program)
    kept, left_out = np.ones(program.columns, dtype=np.bool_), float("inf")
    if sifted is not None and most < program.columns:
        kept, left_out = nearest(sifted, int(most), np.zeros(program.columns) if start is None else start)
    reduced = program if kept.all() else program.restricted(kept)
    solution = asking.solve(reduced, None if start is None else start[kept], share=share)
    if solution is None:
        return None
    if sifted is None or left_out == float("inf"):
        judge.bound = min(judge.bound, solution.bound)
    else:
        judge.bound = min(judge.bound, max(solution.bound, sifted.bound - left_out))
    if solution.values is None:
        return solution, 0
    bound = _bind(judge, "exact", layout, _spread(solution.values, kept))
    if _in_the_way(layout, bound):
        failed = bound.unbound + len(bound.unresized)
        _without_resizes(judge, asking, layout, program, kept, bound)
        return solution, failed
    if bound.unbound:
        easier = ease(layout, program, reduced.evaluate(solution.values))
        easier = easier if kept.all() else easier.restricted(kept)
        eased = asking.solve(easier, solution.values, relative_gap=_EASE_GAP)
        if eased is not None and eased.values is not None:
            bound = _bind(judge, "eased", layout, _spread(eased.values, kept))
    return solution, bound.unbound


def _in_the_way(layout: Layout, bound: Assignment) -> set[int]:
    """Resizes of jobs that may not move: those that failed, or all when some gang found no room.

    The programme resizes them wherever there is room, so that what they leave may be less than it counts on.
    """
    if not bound.unbound:
        return set(bound.unresized)
    rooted = {
        placed.option
        for j, placed in bound.placed.items()
        if j in layout.instance.placements and not layout.instance.jobs[j].capabilities.movable
    }
    return rooted | bound.unresized


def _without_resizes(
    judge: Judge, asking: Asking, layout: Layout, program: Program, kept: BoolArray, bound: Assignment
) -> None:
    """Solve again without the resizes that failed or are in the way; the bound stays the first one."""
    barred: set[int] = set()
    for _ in range(_RESIZE_PASSES):
        more = _in_the_way(layout, bound)
        if not more:
            break
        barred |= more
        upper = program.upper.copy()
        upper[layout.option_column[sorted(barred)]] = 0.0
        whole = replace(program, upper=upper)
        solution = asking.solve(whole if kept.all() else whole.restricted(kept), None)
        if solution is None or solution.values is None:
            break
        bound = _bind(judge, "not_resized", layout, _spread(solution.values, kept))


def _spread(values: FloatArray, kept: BoolArray) -> FloatArray:
    """Values of all columns, those left out being 0."""
    whole = np.zeros(len(kept), dtype=np.float64)
    whole[kept] = values
    return whole


def _bind(judge: Judge, name: str, layout: Layout, values: FloatArray) -> Assignment:
    """Bind and judge a solution."""
    with judge.budget.phase("bind"):
        assignment = bind(layout, values)
    judge.consider(name, assignment)
    return assignment


def _start(judge: Judge, layout: Layout, program: Program) -> FloatArray | None:
    """The best verified plan as a complete warm start; None where the programme has no column for it."""
    assert judge.best is not None
    values = encode(layout, judge.best.assignment)
    return values if program.worst_violation(values) <= _FEASIBLE else None
