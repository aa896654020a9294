"""Taking the best plan apart and putting it together anew, on the second core, while branching decides gangs.

Where a round has a fraction of a second, no programme comes to an end in it, and branching makes some ten
plans. Meanwhile a compiled loop tries thousands of changes of a few nodes each
(:mod:`gangplan.model.packing.ruin`). What it finds is judged like any plan; where it does not pay, those who
are done soon are held, and it begins anew from the best plan that does.
Measured: ``benchmarks/results/2026-11-30-torn.md``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gangplan.model.packing.assignment import worth
from gangplan.model.packing.price_greedy import by_profit
from gangplan.model.packing.recreate import Recreation

if TYPE_CHECKING:
    from concurrent.futures import Future

    from gangplan.engine.hold import Holding
    from gangplan.engine.judge import Candidate
    from gangplan.model.packing.assignment import Assignment
    from gangplan.model.prices.prices import Prices
    from gangplan.model.program import IntArray

NAME = "recreate"
"""Of the candidates."""
_AT_ONCE = 100
"""Steps between two looks whether to stop: 2 to 3 ms."""
_REGRET = 0.07
"""Share of the gap that is open which a way may lack of its job's best to be tried."""
_HEIGHT = 0.002
"""The highest temperature, as a share of the same gap. On eight rounds of M .25 of gain is left after 6,000
steps with it and with .0001, .33 with .05 (2026-11-30-torn.md)."""
_LEAST_GAIN = 1e-9


@dataclass(slots=True)
class Recreating:
    """A plan that is taken apart and put together in a thread of its own.

    Attributes:
        holding: the best plan that pays, who is held, and what new plans are looked at by.
        prices: which say what is near.
        steps: after which the plan so far is judged.
    """

    holding: Holding
    prices: Prices
    steps: int
    _begun: Candidate
    _threads: ThreadPoolExecutor
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)
    _order: IntArray | None = field(default=None, repr=False)
    _asked: Future[tuple[Recreation, Assignment | None] | None] | None = field(default=None, repr=False)
    _times: int = field(default=0, repr=False)

    def begin(self, recreation: Recreation | None = None) -> None:
        """Go on with what was begun, by default from its plan with those held who are now."""
        held = sorted(self.holding.classes)
        self._asked = self._threads.submit(self._work, recreation, self._begun, held)

    def look(self, *, last: bool = False) -> None:
        """Have what was found judged, if it is there, and go on.

        Args:
            last: take what is there at once, and end.
        """
        if self._asked is None or not (last or self._asked.done()):
            return
        if last:
            self._stop.set()
        with self.holding.judge.budget.phase("recreate"):
            found = self._asked.result()
        self._asked = None
        if found is None:
            return
        judge, best, held = self.holding.judge, self.holding.best, set(self.holding.classes)
        recreation, assignment = found
        if assignment is not None and not judge.hurried and not self.holding.knows(assignment):
            gain = worth(judge.instance, assignment) - best.value
            if gain > _LEAST_GAIN * abs(best.value):
                self.holding.consider(NAME, assignment)
        if last or judge.hurried:
            return
        unchanged = best is self._begun and self.holding.best is best and held == self.holding.classes
        self._begun = self.holding.best
        self.begin(recreation if unchanged and assignment is None else None)

    def end(self) -> None:
        """Stop, whatever is there."""
        self._stop.set()

    def _work(
        self, recreation: Recreation | None, begun: Candidate, held: list[int]
    ) -> tuple[Recreation, Assignment | None] | None:
        judge = self.holding.judge
        if recreation is None:
            gap = max(0.0, self.prices.bound - begun.value)
            self._times += 1
            recreation = Recreation.of(
                judge.instance,
                self.prices,
                begun.assignment,
                held=held,
                regret=_REGRET * gap,
                height=_HEIGHT * gap,
                seed=self._times,
            )
        if recreation is None:
            return None
        steps = 0
        while steps < self.steps and not self._stop.is_set():
            recreation.improve(_AT_ONCE)
            steps += _AT_ONCE
        judge.count("recreate_steps", steps)
        if recreation.value <= 0.0:
            return recreation, None
        if self._order is None:
            self._order = by_profit(judge.instance, self.prices)
        return recreation, recreation.assignment(self._order)


@contextmanager
def recreating(holding: Holding, prices: Prices, plan: Candidate, steps: int) -> Iterator[Recreating | None]:
    """Have the best plan that pays taken apart and put together while within.

    Args:
        holding: the best plan, who is held, and what new plans are looked at by.
        prices: good ones.
        plan: with which to begin, whether or not all of it pays.
        steps: after which each plan is judged; 0: the step is not taken.
    """
    if not steps or holding.judge.hurried:
        yield None
        return
    with ThreadPoolExecutor(1, "gangplan-recreate") as threads:
        found = Recreating(holding, prices, steps, plan, threads)
        found.begin()
        try:
            yield found
            found.look(last=True)
        finally:
            found.end()
