"""A call on the event loop: admission, threads, memory, cancellation and statuses, whatever the method."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

import structlog

from gangplan.errors import (
    GangplanError,
    InvalidInputError,
    OverloadedError,
    SessionError,
    UnknownProposerError,
    UnknownSolverError,
)
from gangplan.observe.logs import get_logger
from gangplan.observe.metrics import Metrics
from gangplan.service.aborting import abort
from gangplan.service.admission import Admission, Slot
from gangplan.service.call import Call
from gangplan.service.caller import caller_of
from gangplan.service.options import ServerOptions
from gangplan.service.remembered import Key, Memory, Remembered
from gangplan.service.sessions.content import request_digest
from gangplan.service.status import status_of, too_large

if TYPE_CHECKING:
    import grpc.aio
    from google.protobuf.message import Message

    Context = grpc.aio.ServicerContext[bytes, bytes]

_PATIENCE = 0.8
"""Share of its time that a call may spend in the queue; the rest is enough for a first plan."""
_SPARE_THREADS = 4
_AT_ONCE_BYTES = 256 * 1024
"""Messages no larger are decoded on the event loop, in well under a millisecond. A thread for that would have
to wait for the interpreter, and then the loop again, behind the threads that plan: tens of milliseconds."""
_QUICK_QUEUE = 64
_QUICK_PATIENCE_SECONDS = 5.0
_EXPECTED = (InvalidInputError, OverloadedError, SessionError, UnknownProposerError, UnknownSolverError)
"""What callers do, and no reason to write an error into the log."""

_A = TypeVar("_A")
_M = TypeVar("_M", bound="Message")
_log = get_logger(__name__)


class Answering:
    """Answers calls in threads, within bounds. One for each server.

    Args:
        options: of the server.
        metrics: of the server.
    """

    def __init__(self, options: ServerOptions, metrics: Metrics) -> None:
        self._options = options
        self._metrics = metrics
        self.admission = Admission(options.slots, options.queue, early=options.slots)
        self._quick = Admission(_SPARE_THREADS, _QUICK_QUEUE)
        self.memory = Memory()
        self._threads = ThreadPoolExecutor(options.slots + 2 * _SPARE_THREADS, thread_name_prefix="gangplan")
        metrics.queued.set_function(lambda: self.admission.waiting + self._quick.waiting)
        metrics.rounds_running.set_function(lambda: self.admission.running)

    async def in_thread(self, work: Callable[[], _A]) -> _A:
        """Run ``work`` off the event loop; what it logs and traces belongs to this call."""
        here = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: here.run(work))

    async def parsed(self, request: bytes, parse: Callable[[bytes], _M]) -> _M:
        """A request, decoded: at once, or off the event loop where it is large."""
        if len(request) <= _AT_ONCE_BYTES:
            return parse(request)
        return await self.in_thread(lambda: parse(request))

    async def planned(
        self,
        request: bytes,
        context: Context,
        parse: Callable[[bytes], _M],
        seconds_left: Callable[[_M, Call], float],
        work: Callable[[_M, Call], Message],
    ) -> bytes:
        """Parse, wait for a slot, work in a thread; a caller that gives up stops the work."""
        call = call_of(context)
        try:
            self.admission.refuse_when_full(call.caller)
            message = await self.parsed(request, parse)
            key = await self.key_of(message, call, context)
            if key is None:
                return await self._worked(message, len(request), call, seconds_left, work)
            return await self._once(key, message, len(request), call, seconds_left, work)
        except AnswerTooLargeError as error:
            await abort(context, error.status)
        except GangplanError as error:
            await self.refuse(context, error)

    async def quick(self, context: Context, work: Callable[[], Message]) -> bytes:
        """Answer a call that needs no solver; bounded, too."""
        try:
            slot = await self._quick.enter(_QUICK_PATIENCE_SECONDS, caller=caller_of(context))
            return await self._in_slot(slot, work)
        except AnswerTooLargeError as error:
            await abort(context, error.status)
        except GangplanError as error:
            await self.refuse(context, error)

    async def key_of(self, message: Message, call: Call, context: Context) -> tuple[Key, bytes] | None:
        """Under what a request is remembered, and its digest; None: it is not."""
        request_id = str(getattr(message, "request_id", ""))
        if not request_id or getattr(message, "validate_only", False):
            return None
        digest = await self.in_thread(lambda: request_digest([message.SerializeToString(deterministic=True)]))
        return (call.caller, message.DESCRIPTOR.name, request_id), digest

    async def _once(
        self,
        key: tuple[Key, bytes],
        message: _M,
        size: int,
        call: Call,
        seconds_left: Callable[[_M, Call], float],
        work: Callable[[_M, Call], Message],
    ) -> bytes:
        """Answer a request with an id: from memory, with the call that answers it already, or anew."""
        found = self.memory.find(*key)
        if found is None:
            found = self.memory.begin(*key, call.cancellation)
            answering = asyncio.ensure_future(self._worked(message, size, call, seconds_left, work))
            answering.add_done_callback(lambda done: self._remember(key[0], found, done))
        found.waiting += 1
        try:
            return await asyncio.shield(found.answer)
        finally:
            found.waiting -= 1
            if not found.waiting and not found.answer.done():
                found.cancellation.cancel()
                self.memory.drop(key[0], found, asyncio.CancelledError())

    def _remember(self, key: Key, entry: Remembered, done: asyncio.Future[bytes]) -> None:
        if done.cancelled():
            self.memory.drop(key, entry, asyncio.CancelledError())
        elif (error := done.exception()) is not None:
            self.memory.drop(key, entry, error)
        else:
            self.memory.finish(key, entry, done.result())

    async def _worked(
        self,
        message: _M,
        size: int,
        call: Call,
        seconds_left: Callable[[_M, Call], float],
        work: Callable[[_M, Call], Message],
    ) -> bytes:
        slot = await self.enter(message, size, call, seconds_left)
        if call.cancellation.cancelled:  # nobody waits any more
            slot.release()
            raise asyncio.CancelledError
        try:
            answer = await self._in_slot(slot, lambda: work(message, call))
        except asyncio.CancelledError:
            call.cancellation.cancel()
            raise
        call.answered()
        return answer

    async def _in_slot(self, slot: Slot, work: Callable[[], Message]) -> bytes:
        """Work in a thread; the slot is free once the thread is, also when the caller has left before."""
        job = asyncio.ensure_future(self.in_thread(lambda: self.encode(work())))

        def finished(done: asyncio.Future[bytes]) -> None:
            slot.release()
            if not done.cancelled():
                done.exception()  # seen, also when nobody waits for it any more

        job.add_done_callback(finished)
        return await asyncio.shield(job)

    async def enter(
        self, message: _M, size: int, call: Call, seconds_left: Callable[[_M, Call], float]
    ) -> Slot:
        """Wait for a slot, no longer than the call's time allows.

        Args:
            message: the request.
            size: its bytes; to count them anew takes 12 ms of the event loop at 8,000 jobs.
            call: for whom.
            seconds_left: how long it may still take.

        Raises:
            OverloadedError: there is none in time.
        """
        left, session = seconds_left(message, call), session_of(message)
        much = session or size.bit_length()  # a session's requests tell nothing of its rounds
        return await self.admission.enter(
            _PATIENCE * left,
            caller=call.caller,
            key=session,
            kind=(message.DESCRIPTOR.name, much),
            left=left,
            gone=lambda: call.cancellation.cancelled,
        )

    def encode(self, answer: Message) -> bytes:
        """An answer in bytes.

        Raises:
            AnswerTooLargeError: no client would take it.
        """
        encoded = answer.SerializeToString()
        if len(encoded) > self._options.max_message_bytes:
            raise AnswerTooLargeError(len(encoded), self._options.max_message_bytes)
        return encoded

    async def refuse(self, context: Context, error: GangplanError) -> NoReturn:
        """Abort a call with the status of an error, which then leads to nothing that the call had."""
        incident = str(structlog.contextvars.get_contextvars().get("incident", ""))
        if isinstance(error, OverloadedError):
            self._metrics.refused.inc()
        if not isinstance(error, _EXPECTED):
            _log.error("call failed", exc_info=error)
        error.__traceback__ = None  # its frames lead to futures that hold it: a cycle
        await abort(context, status_of(error, incident=incident))

    def close(self) -> None:
        """Let the threads go; none takes up new work."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class AnswerTooLargeError(Exception):
    """An answer that no client would take."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.status = too_large(size, limit)


def call_of(context: Context) -> Call:
    """What a call brings besides its message."""
    now = time.monotonic()
    remaining = cast("float | None", context.time_remaining())  # None without a deadline
    return Call(
        started=now,
        deadline=None if remaining is None else now + remaining,
        caller=caller_of(context),
    )


def session_of(message: Message) -> str:
    """The session that a request is about; empty: none."""
    session = getattr(message, "session", None)
    return "" if session is None else str(session.session_id)
