"""A refused call is gone once it is told: Python looks for cycles only while nothing is planned.

Under overload something is planned all the time, and most calls are refused, each with a request of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from tests.service.conftest import until

from gangplan.engine.parameters import PlanParameters
from gangplan.service.wire import write_round
from gangplan.v1 import placement_service_pb2, placement_service_pb2_grpc

CALLS = 20


def stub_of(channel: grpc.aio.Channel) -> Any:
    return placement_service_pb2_grpc.PlacementServiceStub(channel)


async def refused(call: Any, code: grpc.StatusCode = grpc.StatusCode.RESOURCE_EXHAUSTED) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    assert error.value.code() is code


@contextlib.asynccontextmanager
async def full(serving: Any, slow: Any, make_round: Any, queue: int) -> AsyncIterator[Any]:
    """The stub of a service whose only slot is taken."""
    lasting = write_round(make_round(), PlanParameters(time_budget_seconds=100.0))
    async with serving(slow, slots=1, queue=queue) as server, grpc.aio.insecure_channel(server.address) as to:
        server._answering.admission._early = 0
        running = asyncio.ensure_future(stub_of(to).PlanRound(lasting))
        await asyncio.to_thread(slow.begun.acquire)
        yield stub_of(to)
        slow.let_go.set()
        await running


def unary(stub: Any, brief: Any) -> Any:
    return stub.PlanRound(brief)


def stream(stub: Any, brief: Any) -> Any:
    return stub.StreamRound(placement_service_pb2.StreamRoundRequest(round=brief)).read()


@pytest.mark.parametrize("queue", [0, 4])  # full, and patience at its end
@pytest.mark.parametrize(("call", "request_id"), [(unary, ""), (unary, "the same"), (stream, "")])
async def test_a_refused_call_is_gone(
    serving: Any,
    slow: Any,
    make_round: Any,
    calls: weakref.WeakSet[Any],
    queue: int,
    call: Any,
    request_id: str,
) -> None:
    brief = write_round(make_round(), PlanParameters(time_budget_seconds=0.05, request_id=request_id))
    async with full(serving, slow, make_round, queue) as stub:
        for _ in range(CALLS):
            await refused(call(stub, brief))
        await asyncio.gather(*(refused(call(stub, brief)) for _ in range(CALLS)))
        await until(lambda: len(calls) == 1)  # the one that is planned


async def test_so_is_one_whose_caller_has_left(
    serving: Any, slow: Any, make_round: Any, calls: weakref.WeakSet[Any]
) -> None:
    patient = write_round(make_round(), PlanParameters(time_budget_seconds=50.0))
    async with full(serving, slow, make_round, 4) as stub:
        for _ in range(CALLS):
            call = stub.PlanRound(patient)
            await until(lambda: len(calls) > 1)
            call.cancel()
            await until(lambda: len(calls) == 1)


async def test_so_is_one_that_was_answered_or_wrong(
    serving: Any, instant: Any, make_round: Any, calls: weakref.WeakSet[Any]
) -> None:
    right = write_round(make_round(), PlanParameters())
    wrong = write_round(make_round(), PlanParameters())
    wrong.ClearField("now")
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as to:
        for _ in range(CALLS):
            await stub_of(to).PlanRound(right)
            await refused(stub_of(to).PlanRound(wrong), grpc.StatusCode.INVALID_ARGUMENT)
        await until(lambda: not calls)
