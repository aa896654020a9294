"""StreamRound's answers: made by the thread that plans, read by whoever is there, and never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gangplan.engine.runner import Cancellation

if TYPE_CHECKING:
    from google.protobuf.message import Message

RETURN_SECONDS = 2.0
"""How long the work of a stream with a request id goes on while nobody reads."""


@dataclass(frozen=True, slots=True)
class Better:
    """One plan of a stream.

    Attributes:
        number: from 1, growing.
        write: makes the message; called when somebody reads it, off the event loop.
        last: nothing follows.
    """

    number: int
    write: Callable[[], Message]
    last: bool = False


class Stream:
    """The newest plan of one round, for any number of readers. Lives on one event loop.

    Only the newest is kept: a reader that is slow misses those between, and neither the work nor anybody else
    waits for it.

    Args:
        request: digest of the request.
        cancellation: of the work.
    """

    def __init__(self, request: bytes, cancellation: Cancellation) -> None:
        self.request = request
        self._loop = asyncio.get_running_loop()
        self._cancellation = cancellation
        self._newest: Better | None = None
        self._number = 0
        self._error: BaseException | None = None
        self._news = asyncio.Event()
        self._readers = 0
        self._leaving: asyncio.TimerHandle | None = None
        self.working: asyncio.Future[None] | None = None
        self.size = 0
        """Bytes of the last plan; 0 while there is none."""

    @property
    def ended(self) -> bool:
        """Whether nothing new will come."""
        return self._error is not None or (self._newest is not None and self._newest.last)

    @property
    def failed(self) -> bool:
        """Whether there is no last plan."""
        return self._error is not None or self._cancellation.cancelled

    def tell(self, write: Callable[[], Message]) -> None:
        """A better plan; from any thread."""
        self._loop.call_soon_threadsafe(self._tell, write, False)

    def finish(self, write: Callable[[], Message], size: int) -> None:
        """The last plan, of ``size`` bytes; on the loop."""
        self.size = size
        self._tell(write, last=True)

    def fail(self, error: BaseException) -> None:
        """There will be no last plan; on the loop."""
        self._error = error
        self._wake()

    async def read(self, after: int, seconds_to_return: float) -> AsyncIterator[Better]:
        """Plans with a number above ``after``, the newest each time, and the last one whatever its number.

        Args:
            after: number of the last plan that the reader has.
            seconds_to_return: how long the work goes on when the last reader has left.
        """
        self._readers += 1
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        try:
            while True:
                newest, news = self._newest, self._news
                if newest is not None and (newest.number > after or newest.last):
                    after = newest.number
                    yield newest
                    if newest.last:
                        return
                elif self._error is not None:
                    raise self._error
                else:
                    await news.wait()
        finally:
            self._readers -= 1
            if not self._readers and not self.ended:
                self._leaving = self._loop.call_later(seconds_to_return, self._cancellation.cancel)

    def _tell(self, write: Callable[[], Message], last: bool) -> None:  # noqa: FBT001
        if self.ended:
            return
        self._number += 1
        self._newest = Better(self._number, write, last)
        self._wake()

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()
