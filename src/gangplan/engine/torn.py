"""Deciding all at once what is torn, on the second core, while branching decides it gang by gang.

The plan at the prices and the way to them agree on most of a round; the rest is a small programme
(:mod:`gangplan.model.formulation.neighbourhood`), which exchanges many gangs at once, as no order of a greedy
does. Branching proves, and finds other plans; neither is ahead on all rounds. So a solver has the programme
while branching runs, and its plan is judged when branching has ended: what it is does not depend on which of
them is done first. Measured: ``benchmarks/results/2026-11-30-torn.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.neighbourhood import neighbourhood
from gangplan.model.packing.assignment import worth
from gangplan.model.packing.bind import bind
from gangplan.model.packing.price_greedy import by_profit
from gangplan.model.program import spread

if TYPE_CHECKING:
    from concurrent.futures import Future

    from gangplan.engine.ask import Asking
    from gangplan.engine.formulated import Formulated
    from gangplan.engine.hold import Holding
    from gangplan.engine.steps import Torn
    from gangplan.model.prices.prices import Prices
    from gangplan.model.program import BoolArray, Solution

_NEEDED = 2.0
"""Times that building the arrays took, for which there must be time: to formulate takes half of it, and a
solver as much again at least (2026-11-30-torn.md)."""


@dataclass(slots=True)
class Deciding:
    """The programme of what is torn, on its way.

    Attributes:
        formulated: the whole programme.
        prices: at which it is torn.
        holding: looks at the plan that comes of it.
    """

    formulated: Formulated
    prices: Prices
    holding: Holding
    _kept: BoolArray | None = field(default=None, repr=False)
    _asked: Future[Solution | None] | None = field(default=None, repr=False)

    @property
    def begun(self) -> bool:
        """Whether a solver was asked, and its plan is still to be judged."""
        return self._asked is not None

    def begin(self, asking: Asking, how: Torn, threads: ThreadPoolExecutor) -> None:
        """Ask a solver, unless time is short; nobody else may ask one until :meth:`take`."""
        judge = self.holding.judge
        needed = judge.reserve_seconds + _NEEDED * judge.budget.seconds_by_phase.get("instance", 0.0)
        if judge.hurried or judge.budget.remaining < needed:
            return
        layout, program = self.formulated.get()
        with judge.budget.phase("encode"):
            start = encode(layout, self.holding.best.assignment)
            small, kept = neighbourhood(
                layout,
                program,
                start,
                self.prices.chosen,
                self.prices.kept_share,
                torn=how.torn,
                held=self.holding.classes,
            )
            given = start[kept] if small.admits(start[kept]) else None
        self._kept = kept
        self._asked = threads.submit(
            asking.solve, small, given, step="torn", share=how.share, relative_gap=asking.precise_gap
        )

    def take(self) -> None:
        """Wait for the solver, and judge the plan it found where that could be the best that pays."""
        if self._asked is None or self._kept is None:
            return
        judge = self.holding.judge
        with judge.budget.phase("solve_torn"):
            solution = self._asked.result()
        self._asked = None
        if solution is None or solution.values is None or judge.hurried:
            return
        layout, _ = self.formulated.get()
        with judge.budget.phase("bind"):
            values = spread(solution.values, self._kept)
            assignment = bind(layout, values, by_profit(judge.instance, self.prices))
        if worth(judge.instance, assignment) > self.holding.best.value and not self.holding.knows(assignment):
            self.holding.consider("torn", assignment)


@contextmanager
def deciding_torn(
    asking: Asking, formulated: Formulated, prices: Prices, how: Torn | None, holding: Holding
) -> Iterator[Deciding]:
    """Have what is torn between the prices and the best plan that pays decided while within.

    Args:
        asking: the round's solvers.
        formulated: its whole programme.
        prices: the best; where no way led to them, nothing is known to be torn.
        how: what counts as torn; None: the step is not taken.
        holding: the best plan, who is held, and what new plans are looked at by.
    """
    deciding = Deciding(formulated, prices, holding)
    if how is None or not (prices.chosen.any() or prices.kept_share.any()):
        yield deciding
        return
    with ThreadPoolExecutor(1, "gangplan-torn") as threads:
        deciding.begin(asking, how, threads)
        yield deciding
        deciding.take()
