"""Lines of Python that are executed, by phase of a round: work that is the same on every machine.

Seconds hang on the machine and on what else it does. Lines do not, and they grow as the loops do whose lines
they are: a loop over all pairs of jobs is seen at once. What they do not see is the work within one call of
a library (numpy, a solver): seconds and the solver's own counters stand beside them for that. Nor do they see
waiting for the search of prices in its thread: how often somebody looks for its end hangs on the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from gangplan.engine.budget import Budget
from gangplan.engine.price_thread import Searching

ELSEWHERE = "elsewhere"
"""Where the lines count that belong to no phase."""
_WAITING = frozenset({Searching.result.__code__, Searching.early.__code__})


class Lines:
    """Counts the lines of this thread by phase; those of a phase within another count for the inner one.

    Attributes:
        by_phase: lines so far.
    """

    def __init__(self) -> None:
        self.by_phase: dict[str, int] = {}
        self._phases = [ELSEWHERE]
        self._since = 0
        self._waiting: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        """A tracing function: every line and every call counts, but for those of who waits."""
        del argument
        if self._waiting is not None:
            if event == "return" and frame is self._waiting:
                self._waiting = None
        elif event == "call" and frame.f_code in _WAITING:
            self._waiting = frame
        elif event in {"line", "call"}:
            self._since += 1
        return self

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Lines within count under ``name``."""
        self._settle()
        self._phases.append(name)
        try:
            yield
        finally:
            self._settle()
            self._phases.pop()

    @contextmanager
    def counting(self, name: str = ELSEWHERE) -> Iterator[None]:
        """Count in this thread while within, under ``name`` where nothing says more."""
        before = sys.gettrace()
        with self.phase(name):
            sys.settrace(self)
            try:
                yield
            finally:
                sys.settrace(before)

    def _settle(self) -> None:
        phase = self._phases[-1]
        self.by_phase[phase] = self.by_phase.get(phase, 0) + self._since
        self._since = 0


class CountedBudget(Budget):
    """A budget without a limit that tells ``lines`` which phase it is in."""

    __slots__ = ("_lines",)

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self._lines = lines

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count time and lines within under ``name``."""
        with self._lines.phase(name), super().phase(name):
            yield
