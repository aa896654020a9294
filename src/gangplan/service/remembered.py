"""Answers to requests with an id: the same id with the same content gives the same answer, once computed.

The memory is per caller and bounded (decision 33): who has most of it makes room. What sessions answer is
kept with them as well.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from dataclasses import dataclass

from gangplan.engine.runner import Cancellation
from gangplan.errors import InvalidInputError
from gangplan.service.session_calls import same_id_other_content

MOST_ANSWERS = 256
MOST_BYTES = 64 * 2**20

Key = tuple[str, str, str]
"""Caller, method, request id."""


@dataclass(slots=True, eq=False)
class Remembered:
    """A request with an id and its answer, there or on the way.

    Attributes:
        request: digest of the request.
        answer: done when there is an answer; failed when there is none to be remembered.
        cancellation: of the call that answers it.
        waiting: how many calls wait for it.
    """

    request: bytes
    answer: asyncio.Future[bytes]
    cancellation: Cancellation
    waiting: int = 0


class Memory:
    """The answers of one server. Lives on one event loop.

    Args:
        most_answers: finished answers kept.
        most_bytes: of all of them together.
    """

    def __init__(self, most_answers: int = MOST_ANSWERS, most_bytes: int = MOST_BYTES) -> None:
        self._most_answers = most_answers
        self._most_bytes = most_bytes
        self._bytes = 0
        self._entries: OrderedDict[Key, Remembered] = OrderedDict()

    def find(self, key: Key, request: bytes) -> Remembered | None:
        """The request as it came before; None: it did not, or long ago.

        Raises:
            InvalidInputError: it came with another content.
        """
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.request != request:
            raise InvalidInputError([same_id_other_content("request_id", key[2])])
        self._entries.move_to_end(key)
        return entry

    def begin(self, key: Key, request: bytes, cancellation: Cancellation) -> Remembered:
        """Remember that a request is being answered."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda done: None if done.cancelled() else done.exception())  # seen
        entry = self._entries[key] = Remembered(request, answer, cancellation)
        return entry

    def finish(self, key: Key, entry: Remembered, answer: bytes) -> None:
        """Remember the answer, and make room where there is too much."""
        if not entry.answer.done():
            entry.answer.set_result(answer)
        if self._entries.get(key) is not entry:
            return
        self._bytes += len(answer)
        self._forget()

    def drop(self, key: Key, entry: Remembered, error: BaseException) -> None:
        """Forget a request that was not answered; who waits for it gets the error."""
        if self._entries.get(key) is entry:
            del self._entries[key]
        if isinstance(error, asyncio.CancelledError):
            entry.answer.cancel()
        elif not entry.answer.done():
            entry.answer.set_exception(error)

    def _forget(self) -> None:
        """While there is too much, forget the oldest answer of the caller who has most of it."""
        done = {key: entry.answer.result() for key, entry in self._entries.items() if entry.answer.done()}
        while (many := len(done) > self._most_answers) or self._bytes > self._most_bytes:
            held: Counter[str] = Counter()
            for (caller, _, _), answer in done.items():
                held[caller] += 1 if many else len(answer)
            [(greediest, _)] = held.most_common(1)
            oldest = next(key for key in done if key[0] == greediest)
            self._bytes -= len(done.pop(oldest))
            del self._entries[oldest]

    def __len__(self) -> int:
        return len(self._entries)
