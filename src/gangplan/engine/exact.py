"""The exact step: the integer programme, reduced and whole, solved in the worker and bound to nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gangplan.domain.plan import TerminationLimit
from gangplan.engine.ask import Asking
from gangplan.engine.ceilings import Ceilings
from gangplan.engine.formulated import Formulated
from gangplan.engine.hold import Holding
from gangplan.engine.judge import Judge
from gangplan.engine.sift import sift
from gangplan.engine.steps import Integrality, Ladder, Step
from gangplan.model.formulation.ease import ease
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.inflate import FULL, HALF, inflate
from gangplan.model.formulation.layout import Layout, build_layout, large_columns
from gangplan.model.instance.instance import count_alike_nodes
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.bind import bind
from gangplan.model.packing.price_greedy import by_profit
from gangplan.model.prices.prices import Prices
from gangplan.model.program import FEASIBLE, BoolArray, FloatArray, IntArray, Program, Solution, spread

_OPTIMAL = 1e-6
_INFLATED_GAP = 5e-4
_INFLATED_SHARE = 0.3
_CROWDED_COLUMNS = 300
"""Size from which a programme with split pools is first solved inflated: a smaller one is solved at once."""
_RESIZE_PASSES = 3
_EASE_GAP = 0.01
_UNHELD_SHARE = 0.5
"""Of its share of time, where plans with somebody held are needed too."""
_HELD_PASSES = 3
_WORTH_HOLDING = 1e-6
"""A smaller loss, as a share of the value, is left alone."""


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
        loose: ways to resize jobs in place that the programme has with nodes that are not told apart.
    """

    solution: Solution | None
    limit: TerminationLimit
    detail: str
    program: Program | None
    unbound: int = 0
    steps: int = 0
    loose: int = 0


def solve_exactly(
    judge: Judge, asking: Asking, formulated: Formulated, prices: Prices, how: Ladder, holding: Holding
) -> Exact:
    """Solve the programme within what the budget leaves for it, and bind every solution."""
    if asking.parameters.pipeline == "greedy" or judge.gap <= how.enough:
        return Exact(None, TerminationLimit.NONE, "", None)
    if judge.cancelled:
        return Exact(None, TerminationLimit.CANCELLED, _said(asking, "the round was cancelled"), None)
    if judge.hurried or judge.budget.remaining <= judge.reserve_seconds:
        return Exact(None, TerminationLimit.TIME, _said(asking, "the budget left no time for a solver"), None)
    layout, program = formulated.get()
    return _Search(judge, asking, layout, program, prices, holding).run(how)


def _said(asking: Asking, why: str) -> str:
    """What went wrong with a solver that was asked before; else why none is asked."""
    return "; ".join(asking.failures) or why


class _Search:
    """The programme of one round, and what is known of it so far."""

    def __init__(
        self,
        judge: Judge,
        asking: Asking,
        layout: Layout,
        program: Program,
        prices: Prices,
        holding: Holding,
    ) -> None:
        self.judge = judge
        self.holding = holding
        self.asking = asking
        self.layout = layout
        self.program = program
        self.ceilings = Ceilings.of_prices(layout, prices)
        self.order: IntArray = by_profit(layout.instance, prices)
        self.solution: Solution | None = None
        self.unbound = 0

    def run(self, how: Ladder) -> Exact:
        """Take the steps of the ladder until the optimum is proved or time is up."""
        if not self._within(how.sift):
            self._sift()
        if self.program.columns >= _CROWDED_COLUMNS and not self._within(_OPTIMAL):
            self._crowded()
        done = 0
        for step in how.steps:
            if not self._take(self._hurry(step), f"programme_{done + 1}"):
                break
            done += 1
            self._held(step)
            if self._within(_OPTIMAL):
                break
        proved = self.solution is not None and self._within(_OPTIMAL)
        return Exact(
            solution=self.solution,
            limit=TerminationLimit.NONE if proved else self.asking.limit,
            detail="; ".join(self.asking.failures),
            program=self.program,
            unbound=self.unbound,
            steps=done,
            loose=len(self.layout.loose),
        )

    @property
    def _value(self) -> float:
        assert self.judge.best is not None
        return self.judge.best.value

    def _within(self, gap: float) -> bool:
        return self.judge.gap <= gap

    def _sift(self) -> None:
        """The relaxation's bound, and what it says of every option."""
        start = self._start()
        sifted = sift(
            self.asking,
            self.layout,
            self.program,
            self.ceilings,
            np.zeros(self.program.columns) if start is None else start,
        )
        if sifted is None:
            return
        self.judge.lower(sifted.bound)
        self.ceilings = self.ceilings.lowered(sifted.bound, sifted.regret)

    def _take(self, step: Step, name: str) -> bool:
        """Solve one programme and bind its solution; False when there was no answer.

        Its work is counted under ``name``.
        """
        start = self._start()
        given = np.zeros(self.program.columns) if start is None else start
        kept, left_out = self.ceilings.nearest(step.options, given, self._value)
        reduced = self.program.restricted(kept)
        if step.integrality is Integrality.LARGE:
            reduced = replace(reduced, integer=large_columns(self.layout)[kept])
        gap = None  # the last step's is the caller's
        if step.options < math.inf:
            gap = self.asking.precise_gap
        solution = self.asking.solve(
            reduced,
            None if start is None else start[kept],
            step=name,
            share=step.share,
            relative_gap=gap,
        )
        if solution is None:
            return False
        self.solution = solution
        self.judge.lower(max(solution.bound, left_out))
        self.unbound = 0
        if solution.values is None:
            return True
        whole = spread(solution.values, kept)
        if step.integrality is Integrality.LARGE:
            whole = np.floor(whole + FEASIBLE)
        bound = self._bind("exact", whole)
        self.unbound = bound.unbound
        if self._in_the_way(bound):
            self.unbound += len(bound.unresized)
            self._without_resizes(kept, bound)
        elif bound.unbound and not self._within(_OPTIMAL):
            if step.integrality is Integrality.ALL:
                self.unbound = self._eased(reduced, kept, solution.values, step.share)
            if self.unbound:
                self.unbound = self._inflated(self.layout, self.program, step.options)
        return True

    def _hurry(self, step: Step) -> Step:
        """``step`` with less of the time, where some of it is needed for plans that hold who is done soon."""
        return replace(step, share=_UNHELD_SHARE * step.share) if self.holding.needed else step

    def _held(self, step: Step) -> None:
        """Solve again with those held who must be for its bundles to pay; the bound stays the first one."""
        held: set[int] = set()
        for _ in range(_HELD_PASSES):
            best, more = self.holding.best, self.holding.classes - held
            assert self.judge.best is not None
            loss = self.judge.best.value - best.value
            if not more or loss <= _WORTH_HOLDING * abs(best.value):
                return
            held |= more
            lower = self.program.lower.copy()
            columns = self.layout.keep_column[sorted(held)]
            lower[columns[columns >= 0]] = 1.0
            whole = replace(self.program, lower=lower)
            start = self._start(program=whole, assignment=best.assignment)
            given = np.zeros(self.program.columns) if start is None else start
            kept, _ = self.ceilings.nearest(step.options, given, best.value)
            kept[columns[columns >= 0]] = True
            solution = self.asking.solve(
                whole.restricted(kept),
                None if start is None else start[kept],
                step="held",
                share=step.share,
                relative_gap=self.asking.precise_gap,
            )
            if solution is None or solution.values is None:
                return
            self._bind("held", spread(solution.values, kept))

    def _eased(self, reduced: Program, kept: BoolArray, values: FloatArray, share: float) -> int:
        """Look among the optima for one that packs; how many gangs found no room in it."""
        easier = ease(self.layout, self.program, reduced.evaluate(values)).restricted(kept)
        solution = self.asking.solve(easier, values, step="eased", share=share, relative_gap=_EASE_GAP)
        if solution is None or solution.values is None:
            return self.unbound
        return self._bind("eased", spread(solution.values, kept)).unbound

    def _crowded(self) -> None:
        """Where pools were split since their CPU or memory binds: a plan from the pools as they were.

        Alike nodes as pools of their own make an exact programme, but one in which solvers are slow to find
        good plans.
        """
        coarse = count_alike_nodes(self.layout.instance)
        if coarse is self.layout.instance:
            return
        with self.judge.budget.phase("formulate"):
            layout = build_layout(coarse)
            program = formulate(layout)
        self._inflated(layout, program, np.inf)

    @property
    def _shared(self) -> int:
        """Option and keep columns, which come first and mean the same however nodes are pooled."""
        return self.layout.families[1][2]

    def _inflated(self, layout: Layout, program: Program, options: float) -> int:
        """Solve once more with heavy blocks counted as more devices; the better plan stays, no bound does.

        Returns:
            How many gangs found no room in the last of the plans.
        """
        unbound = 0
        for weight in (HALF, FULL):
            stricter = inflate(layout, program, weight)
            if stricter.rows == program.rows:
                break
            start = self._start(layout, stricter)
            given = np.zeros(self.program.columns)
            given[: self._shared] = 0.0 if start is None else start[: self._shared]
            kept = np.ones(program.columns, dtype=np.bool_)
            kept[: self._shared] = self.ceilings.nearest(options, given, self._value)[0][: self._shared]
            solution = self.asking.solve(
                stricter.restricted(kept),
                None if start is None else start[kept],
                step="inflated",
                share=_INFLATED_SHARE,
                relative_gap=_INFLATED_GAP,
            )
            if solution is None or solution.values is None:
                break
            unbound = self._bind("inflated", spread(solution.values, kept), layout).unbound
            if not unbound:
                break
        return unbound

    def _in_the_way(self, bound: Assignment) -> set[int]:
        """Resizes of jobs that may not move: those that failed, or all loose ones when a gang found no room.

        The programme resizes loose ones wherever there is room near them, so that what they leave may be less
        than it counts on.
        """
        if not bound.unbound:
            return set(bound.unresized)
        return {each.option for each in bound.placed.values()} & self.layout.loose | bound.unresized

    def _without_resizes(self, kept: BoolArray, bound: Assignment) -> None:
        """Solve again without the resizes that failed or are in the way; the bound stays the first one."""
        barred: set[int] = set()
        for _ in range(_RESIZE_PASSES):
            more = self._in_the_way(bound)
            if not more:
                break
            barred |= more
            upper = self.program.upper.copy()
            upper[self.layout.option_column[sorted(barred)]] = 0.0
            whole = replace(self.program, upper=upper)
            solution = self.asking.solve(whole.restricted(kept), None, step="not_resized")
            if solution is None or solution.values is None:
                break
            bound = self._bind("not_resized", spread(solution.values, kept))

    def _bind(self, name: str, values: FloatArray, layout: Layout | None = None) -> Assignment:
        """Bind and judge a solution."""
        with self.judge.budget.phase("bind"):
            assignment = bind(layout or self.layout, values, self.order)
        self.holding.consider(name, assignment)
        return assignment

    def _start(
        self,
        layout: Layout | None = None,
        program: Program | None = None,
        assignment: Assignment | None = None,
    ) -> FloatArray | None:
        """A verified plan, by default the best, as a complete start; None where the programme has none."""
        assert self.judge.best is not None
        with self.judge.budget.phase("encode"):
            values = encode(layout or self.layout, assignment or self.judge.best.assignment)
            return values if (program or self.program).admits(values) else None
