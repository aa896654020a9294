"""Bounded concurrency: a few calls run, a few wait, the rest are told when to come back."""

from __future__ import annotations

import asyncio
import time
from collections import deque

from gangplan.errors import OverloadedError

_LEAST_RETRY_SECONDS = 0.1
_MEMORY = 0.8  # share of the past in the running mean of how long a slot is held


class Admission:
    """Hands out slots, first come first served. Lives on one event loop.

    Args:
        slots: calls that may run at a time.
        queue: calls that may wait.
    """

    def __init__(self, slots: int, queue: int) -> None:
        self._slots = slots
        self._queue = queue
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._held_seconds = 1.0

    @property
    def running(self) -> int:
        """Slots in use."""
        return self._running

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return len(self._waiting)

    def refuse_when_full(self) -> None:
        """Refuse a call for which there is neither a slot nor a place in the queue.

        Raises:
            OverloadedError: both are full.
        """
        if self._running >= self._slots and len(self._waiting) >= self._queue:
            message = f"{self._running} calls are running and {len(self._waiting)} wait, the most allowed"
            raise OverloadedError(message, self.retry_after_seconds)

    async def enter(self, patience: float | None = None) -> Slot:
        """Wait for a slot.

        Args:
            patience: longest wait in seconds; None: as long as it takes.

        Raises:
            OverloadedError: the queue is full, or patience ran out.
        """
        if self._running < self._slots and not self._waiting:
            self._running += 1
            return Slot(self)
        self.refuse_when_full()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await asyncio.wait_for(turn, patience)
        except TimeoutError as error:
            self._leave_queue(turn)
            message = f"no slot became free within {patience:.3g} s; {self._running} calls are running"
            raise OverloadedError(message, self.retry_after_seconds) from error
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._release()  # the slot came at the very moment the caller left
            self._leave_queue(turn)
            raise
        return Slot(self)

    @property
    def retry_after_seconds(self) -> float:
        """An estimate of when a slot is free for a call that comes now."""
        rounds = (len(self._waiting) + 1) / self._slots
        return max(_LEAST_RETRY_SECONDS, rounds * self._held_seconds)

    def _leave_queue(self, turn: asyncio.Future[None]) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)

    def _release(self, held_seconds: float | None = None) -> None:
        if held_seconds is not None:
            self._held_seconds = _MEMORY * self._held_seconds + (1 - _MEMORY) * held_seconds
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)  # the slot passes on; the number running stays
                return
        self._running -= 1


class Slot:
    """The right to run; :meth:`release` gives it back, once."""

    def __init__(self, admission: Admission) -> None:
        self._admission: Admission | None = admission
        self._since = time.monotonic()

    def release(self) -> None:
        """Give the slot to the next in the queue."""
        admission, self._admission = self._admission, None
        if admission is not None:
            admission._release(time.monotonic() - self._since)
