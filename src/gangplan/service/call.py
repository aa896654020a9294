"""What a call brings besides its message: how long it may take, and whether anybody still waits."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Call:
    """One call in progress.

    Attributes:
        started: ``time.monotonic()`` when the call came in.
        deadline: ``time.monotonic()`` after which the caller no longer listens; None: never.
        abandoned: set when the caller gave up.
    """

    started: float = field(default_factory=time.monotonic)
    deadline: float | None = None
    abandoned: threading.Event = field(default_factory=threading.Event)

    def seconds_left(
        self, time_budget: float | None, *, default: float, margin: float, reserve: float = 0.0
    ) -> float:
        """Seconds that planning may still take, never negative.

        The least of the time budget, counted from when the call came in, and the deadline less ``margin``
        (decision 37); ``default`` when the call brings neither. ``reserve`` is kept back for encoding.

        Args:
            time_budget: of the request, seconds; None when it has none.
            default: budget of a call without time budget and deadline, seconds.
            margin: kept back from the deadline, seconds.
            reserve: kept back in any case, seconds.
        """
        ends = []
        if time_budget is not None:
            ends.append(self.started + time_budget)
        if self.deadline is not None:
            ends.append(self.deadline - margin)
        end = min(ends) if ends else self.started + default
        return max(0.0, end - reserve - time.monotonic())
