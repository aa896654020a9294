"""The time budget of one round: the one place in engine and model that reads a clock (decision 10)."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class Budget:
    """Time spent and left, on the monotonic clock of the machine (the same in all its processes).

    Args:
        seconds: time from now on; None: no limit, which a run that must repeat exactly needs.
        deadline: instead of ``seconds``, a reading of the monotonic clock that another process handed over.

    Raises:
        ValueError: ``seconds`` is negative or NaN, or both are given.
    """

    __slots__ = ("_began", "_deadline", "_phases")

    def __init__(self, seconds: float | None = None, *, deadline: float = math.inf) -> None:
        if seconds is not None and not seconds >= 0:
            raise ValueError(f"a budget of {seconds} seconds; it must be 0 or more")
        if seconds is not None and deadline != math.inf:
            raise ValueError("a budget takes seconds or a deadline, not both")
        self._began = time.monotonic()
        self._deadline = deadline if seconds is None else self._began + seconds
        self._phases: dict[str, float] = {}

    @property
    def deadline(self) -> float:
        """Reading of the monotonic clock at which the budget ends; ``inf`` without a limit."""
        return self._deadline

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._deadline < math.inf

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    @property
    def remaining(self) -> float:
        """Seconds until the deadline, never negative; ``inf`` without a limit."""
        return max(0.0, self._deadline - time.monotonic())

    @property
    def exhausted(self) -> bool:
        """Whether the deadline is past."""
        return time.monotonic() >= self._deadline

    def less(self, reserve: float) -> Budget:
        """A budget that ends ``reserve`` seconds earlier, e.g. to bind and verify in what is left."""
        return Budget(deadline=self._deadline - reserve)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time within under ``name``; a name used again adds up."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._phases[name] = self._phases.get(name, 0.0) + time.monotonic() - began

    @property
    def seconds_by_phase(self) -> Mapping[str, float]:
        """Wall time of each phase so far, in the order in which they first ended."""
        return dict(self._phases)
