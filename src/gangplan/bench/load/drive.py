"""Sends a load to a service, each request at its moment, whatever has become of those before it.

A request's time runs from the moment at which it was to be sent, so that a sender that is held up counts
against the service and not for it (coordinated omission: Tene, "How NOT to measure latency", 2013).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gangplan.bench.load.mix import Ask
from gangplan.bench.machine import resident_bytes
from gangplan.errors import ServiceError

if TYPE_CHECKING:
    from gangplan.client import AsyncClient
    from gangplan.v1 import round_pb2

    Requests = Mapping[tuple[str, int, float], round_pb2.PlanRoundRequest]

AFTER_BUDGET_SECONDS = 1.0
"""How long after its time budget an answer is still waited for (decision 37)."""
_LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one request.

    Attributes:
        ask: the request.
        seconds: from when it was to be sent until it was answered or refused.
        code: ``OK`` or the status of the refusal.
        retry_after: what a refusal says; None: nothing.
        gap_of_gain: of the plan; None without one.
        verified: what the answer says of its plan.
        detail: of a refusal.
    """

    ask: Ask
    seconds: float
    code: str
    retry_after: float | None = None
    gap_of_gain: float | None = None
    verified: bool = False
    detail: str = ""


@dataclass(slots=True)
class Memory:
    """Resident bytes of the service and its solver processes, once a second."""

    looks: list[int] = field(default_factory=list)


def drive(address: str, asks: Sequence[Ask], requests: Requests, callers: int) -> list[Outcome]:
    """Send every request at its moment; what became of each, in order.

    Args:
        address: of the service.
        asks: in order of time.
        requests: by size, instance and budget.
        callers: how many there are, each with a channel and a name of its own.
    """
    return asyncio.run(_drive(address, asks, requests, callers))


async def _drive(address: str, asks: Sequence[Ask], requests: Requests, callers: int) -> list[Outcome]:
    from gangplan.client import AsyncClient

    async with contextlib.AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(AsyncClient(address, name=f"caller-{number}"))
            for number in range(callers)
        ]
        for client in clients:
            await client.get_capabilities()  # the channel is open
        began = asyncio.get_running_loop().time()
        sent = []
        for ask in asks:
            await asyncio.sleep(began + ask.at - asyncio.get_running_loop().time())
            request = requests[ask.size, ask.instance, ask.budget]
            sent.append(asyncio.ensure_future(_send(clients[ask.caller], ask, request, began + ask.at)))
        return list(await asyncio.gather(*sent))


async def _send(client: AsyncClient, ask: Ask, request: round_pb2.PlanRoundRequest, due: float) -> Outcome:
    clock = asyncio.get_running_loop().time
    try:
        answer = await client.send_round(request, timeout=ask.budget + AFTER_BUDGET_SECONDS)
    except ServiceError as error:
        return Outcome(
            ask, clock() - due, error.code, retry_after=error.retry_after_seconds, detail=str(error)
        )
    return Outcome(ask, clock() - due, "OK", gap_of_gain=answer.quality.gap_of_gain, verified=answer.verified)


@contextlib.contextmanager
def watched(process: int) -> Iterator[Memory]:
    """Look at the memory of a process and of all below it while inside."""
    memory, over = Memory(), threading.Event()

    def look_on() -> None:
        while not over.wait(_LOOK_SECONDS):
            memory.looks.append(resident_bytes(process))

    thread = threading.Thread(target=look_on, daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        over.set()
        thread.join()
        memory.looks.append(resident_bytes(process))
