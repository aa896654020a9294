"""The calls of PlanningService on the event loop: so many at a time, each in a process of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from gangplan.errors import GangplanError
from gangplan.planning.playing import Simulation
from gangplan.service import planning
from gangplan.service.aborting import abort
from gangplan.service.admission import Admission
from gangplan.service.answering import Answering, AnswerTooLargeError, call_of
from gangplan.service.methods import Behaviour
from gangplan.v1 import planning_service_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from gangplan.service.answering import Context

_PATIENCE_SECONDS = 60.0
"""How long a call waits for others to end."""
_END = object()


class PlanningServicer:
    """Answers the methods of PlanningService.

    Args:
        answering: how calls are answered.
        slots: simulations and sweeps at a time.
        queue: calls that may wait for one.
    """

    def __init__(self, answering: Answering, slots: int, queue: int) -> None:
        self._answering = answering
        self._admission = Admission(slots, queue)
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="gangplan-simulations")

    @property
    def methods(self) -> Mapping[str, Behaviour]:
        """By full method name, what answers it."""
        return {
            f"{planning.PLANNING_SERVICE}.Simulate": self.simulate,
            f"{planning.PLANNING_SERVICE}.Sweep": self.sweep,
        }

    async def simulate(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        """Simulate: progress, then metrics."""

        def read() -> tuple[Sequence[Simulation], Sequence[bool]]:
            found = planning.parse_simulate(request)
            listed = planning_service_pb2.SimulateRequest.FromString(request).with_jobs
            return (found,), (listed,)

        async for answer in self._answered(context, read, lambda _, result: result):
            yield answer

    async def sweep(self, request: bytes, context: Context) -> AsyncIterator[bytes]:
        """Sweep: the same for each variant."""

        def read() -> tuple[Sequence[Simulation], Sequence[bool]]:
            return planning.parse_sweep(request), planning.with_jobs(request)

        def write(number: int, result: planning_service_pb2.SimulateResponse) -> Message:
            return planning_service_pb2.SweepResponse(variant=number, result=result)

        async for answer in self._answered(context, read, write):
            yield answer

    async def _answered(
        self,
        context: Context,
        read: Callable[[], tuple[Sequence[Simulation], Sequence[bool]]],
        write: Callable[[int, planning_service_pb2.SimulateResponse], Message],
    ) -> AsyncIterator[bytes]:
        answering, call = self._answering, call_of(context)
        try:
            self._admission.refuse_when_full(call.caller)
            simulations, listed = await answering.in_thread(read)
            slot = await self._admission.enter(_PATIENCE_SECONDS, caller=call.caller)
            news: asyncio.Queue[Any] = asyncio.Queue()
            work = self._work(planning.played(simulations, listed, call), news)
            working = asyncio.get_running_loop().run_in_executor(self._threads, work)
            working.add_done_callback(lambda _: slot.release())
            try:
                while (told := await news.get()) is not _END:
                    if isinstance(told, Exception):
                        raise told
                    number, result = told
                    yield answering.encode(write(number, result))
            finally:
                call.cancellation.cancel()
        except AnswerTooLargeError as error:
            await abort(context, error.status)
        except GangplanError as error:
            await answering.refuse(context, error)

    def _work(self, playing: Iterator[Any], news: asyncio.Queue[Any]) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def tell(what: Any) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(news.put_nowait, what)

        def work() -> None:
            try:
                for told in playing:
                    tell(told)
            except Exception as error:  # noqa: BLE001 (raised where the answers are read)
                tell(error)
            else:
                tell(_END)

        return work

    def close(self) -> None:
        """Let the threads go; calls in flight have been cancelled by then."""
        self._threads.shutdown(wait=False, cancel_futures=True)
