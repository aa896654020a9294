"""The built calls on the event loop: admission, threads, cancellation and statuses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

import structlog
from google.rpc import status_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status

from gangplan.errors import (
    GangplanError,
    InvalidInputError,
    OverloadedError,
    UnknownProposerError,
    UnknownSolverError,
)
from gangplan.observe.logs import get_logger
from gangplan.observe.metrics import Metrics
from gangplan.service.admission import Admission
from gangplan.service.call import Call
from gangplan.service.methods import Behaviour
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.status import status_of, too_large

if TYPE_CHECKING:
    import grpc.aio
    from google.protobuf.message import Message

    Context = grpc.aio.ServicerContext[bytes, bytes]

_SERVICE = "gangplan.v1.PlacementService"
_PATIENCE = 0.8
"""Share of its time that a call may spend in the queue; the rest is enough for a first plan."""
_SPARE_THREADS = 4

_M = TypeVar("_M", bound="Message")
_log = get_logger(__name__)


class PlacementServicer:
    """Answers the built methods of PlacementService.

    Args:
        placement: what the calls do.
        options: of the server.
        metrics: of the server.
    """

    def __init__(self, placement: Placement, options: ServerOptions, metrics: Metrics) -> None:
        self._placement = placement
        self._options = options
        self._metrics = metrics
        self._admission = Admission(options.slots, options.queue)
        self._threads = ThreadPoolExecutor(options.slots + _SPARE_THREADS, thread_name_prefix="gangplan")
        metrics.queued.set_function(lambda: self._admission.waiting)
        metrics.rounds_running.set_function(lambda: self._admission.running)

    @property
    def methods(self) -> Mapping[str, Behaviour]:
        """By full method name, what answers it."""
        return {
            f"{_SERVICE}.PlanRound": self.plan_round,
            f"{_SERVICE}.ValidatePlan": self.validate_plan,
            f"{_SERVICE}.CheckAdmission": self.check_admission,
            f"{_SERVICE}.ListSolvers": self.list_solvers,
            f"{_SERVICE}.GetCapabilities": self.get_capabilities,
        }

    async def plan_round(self, request: bytes, context: Context) -> bytes:
        """PlanRound: the best verified plan in time."""
        placement = self._placement
        return await self._admitted(request, context, placement.parse_round, placement.plan_round)

    async def validate_plan(self, request: bytes, context: Context) -> bytes:
        """ValidatePlan: what a plan breaks."""
        placement = self._placement
        return await self._admitted(request, context, placement.parse_validation, placement.validate_plan)

    async def check_admission(self, request: bytes, context: Context) -> bytes:
        """CheckAdmission: whether a job can be let in."""
        placement = self._placement
        return await self._admitted(request, context, placement.parse_admission, placement.check_admission)

    async def list_solvers(self, request: bytes, context: Context) -> bytes:
        """ListSolvers: the backends."""
        return await self._answered(context, lambda: self._placement.list_solvers(request))

    async def get_capabilities(self, request: bytes, context: Context) -> bytes:
        """GetCapabilities: what the service can do."""
        return await self._answered(context, lambda: self._placement.get_capabilities(request))

    def close(self) -> None:
        """Let the threads go; none takes up new work."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _admitted(
        self,
        request: bytes,
        context: Context,
        parse: Callable[[bytes], _M],
        work: Callable[[_M, Call], Message],
    ) -> bytes:
        """Parse, wait for a slot, work in a thread; a caller that gives up stops the work."""
        call = _call(context)
        loop = asyncio.get_running_loop()
        try:
            self._admission.refuse_when_full()
            message = await loop.run_in_executor(self._threads, parse, request)
            del request
            slot = await self._admission.enter(_PATIENCE * self._placement.seconds_left(message, call))
        except GangplanError as error:
            await self._refuse(context, error)
        job = loop.run_in_executor(self._threads, lambda: self._encode(work(message, call)))

        def finished(done: asyncio.Future[bytes]) -> None:
            slot.release()
            if not done.cancelled():
                done.exception()  # seen, also when nobody waits for it any more

        job.add_done_callback(finished)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            call.cancellation.cancel()
            raise
        except _AnswerTooLargeError as error:
            await _abort(context, error.status)
        except GangplanError as error:
            await self._refuse(context, error)

    async def _answered(self, context: Context, work: Callable[[], Message]) -> bytes:
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, lambda: self._encode(work()))
        except GangplanError as error:
            await self._refuse(context, error)

    def _encode(self, answer: Message) -> bytes:
        encoded = answer.SerializeToString()
        if len(encoded) > self._options.max_message_bytes:
            raise _AnswerTooLargeError(len(encoded), self._options.max_message_bytes)
        return encoded

    async def _refuse(self, context: Context, error: GangplanError) -> NoReturn:
        incident = str(structlog.contextvars.get_contextvars().get("incident", ""))
        if isinstance(error, OverloadedError):
            self._metrics.refused.inc()
        if not isinstance(
            error, (InvalidInputError, OverloadedError, UnknownProposerError, UnknownSolverError)
        ):
            _log.error("call failed", exc_info=error)
        await _abort(context, status_of(error, incident=incident))


class _AnswerTooLargeError(Exception):
    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.status = too_large(size, limit)


async def _abort(context: Context, status: status_pb2.Status) -> NoReturn:
    rich = rpc_status.to_status(status)
    await context.abort(rich.code, rich.details, rich.trailing_metadata)


def _call(context: Context) -> Call:
    now = time.monotonic()
    remaining = cast("float | None", context.time_remaining())  # None without a deadline
    return Call(started=now, deadline=None if remaining is None else now + remaining)
