"""What a call brings besides its message: how long it may take, and whether anybody still waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gangplan.domain.plan import RoundResult, Stage
from gangplan.engine.runner import Cancellation

LEAST_RESERVE_SECONDS = 0.005
"""Of a call's time, kept for its answer at least."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call in progress.

    Attributes:
        started: ``time.monotonic()`` when the call came in.
        deadline: ``time.monotonic()`` after which the caller no longer listens; None: never.
        cancellation: given when the caller gives up.
        caller: who calls; empty: this process.
        on_better: called with every better plan as a whole result; None: nobody wants to know.
        on_stage: called with every candidate plan's stage; None: nobody wants to know.
        when_answered: called with ``time.monotonic()`` once the answer is on its way.
    """

    started: float = field(default_factory=time.monotonic)
    deadline: float | None = None
    cancellation: Cancellation = field(default_factory=Cancellation)
    on_stage: Callable[[Stage], None] | None = None
    on_better: Callable[[RoundResult], None] | None = None
    caller: str = ""
    when_answered: list[Callable[[float], None]] = field(default_factory=list)

    def answered(self) -> None:
        """Tell who wants to know that the answer is on its way."""
        now = time.monotonic()
        for tell in self.when_answered:
            tell(now)

    def end(self, time_budget: float, *, margin: float) -> float:
        """``time.monotonic()`` at which the answer must be there.

        The earlier of the end of the time budget, counted from when the call came in, and the deadline less
        ``margin`` (decision 37).

        Args:
            time_budget: of the request, seconds.
            margin: kept back from the deadline for the way back, seconds.
        """
        end = self.started + time_budget
        return end if self.deadline is None else min(end, self.deadline - margin)
