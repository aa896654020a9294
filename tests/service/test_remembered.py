"""A request with an id is answered once: from memory, or with the call that is answered already."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import grpc
import grpc.aio
import pytest
from tests.service.conftest import until

from gangplan.engine.parameters import PlanParameters
from gangplan.engine.runner import Cancellation
from gangplan.errors import InvalidInputError
from gangplan.observe.metrics import Metrics
from gangplan.service.answering import Answering
from gangplan.service.options import ServerOptions
from gangplan.service.remembered import Memory
from gangplan.service.wire import write_round
from gangplan.v1 import placement_service_pb2_grpc, round_pb2


def plan(channel: grpc.aio.Channel, request: Any, caller: str = "") -> Any:
    stub: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
    metadata = (("x-gangplan-caller", caller),) if caller else ()
    return stub.PlanRound(request, metadata=metadata, timeout=30)


async def failed(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


async def test_the_same_id_gives_the_same_answer_and_no_second_round(
    serving: Any, instant: Any, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters(request_id="r1"))
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        first, again = await plan(channel, request), await plan(channel, request)
        assert again == first
        assert len(instant.asked) == 1
        await plan(channel, request, caller="somebody else")
        assert len(instant.asked) == 2
        request.jobs[0].weight = 2.0
        error = await failed(plan(channel, request))
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "'r1' came with another content" in (error.details() or "")


async def test_a_request_without_an_id_is_planned_each_time(
    serving: Any, instant: Any, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters())
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        await plan(channel, request)
        await plan(channel, request)
    assert len(instant.asked) == 2


async def test_a_request_that_comes_again_while_it_is_answered_is_answered_with_it(
    serving: Any, slow: Any, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters(request_id="r1", time_budget_seconds=60.0))
    async with serving(slow, slots=2) as server, grpc.aio.insecure_channel(server.address) as channel:
        first_call = plan(channel, request)
        first = asyncio.ensure_future(first_call)
        await asyncio.to_thread(slow.begun.acquire, timeout=60)
        second = asyncio.ensure_future(plan(channel, request))
        await until(lambda: [one.waiting for one in server._answering.memory._entries.values()] == [2])
        first_call.cancel()  # the other one still waits for the work
        await asyncio.wait({first})
        assert not await asyncio.to_thread(slow.seen_cancelled.wait, 0.3)
        slow.let_go.set()
        assert (await second).verified
        assert len(slow.left) == 1


async def test_who_is_the_last_to_leave_stops_the_work_and_nothing_is_remembered(
    serving: Any, slow: Any, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters(request_id="r1", time_budget_seconds=60.0))
    async with serving(slow, slots=2) as server, grpc.aio.insecure_channel(server.address) as channel:
        call = plan(channel, request)
        waiting = asyncio.ensure_future(call)
        await asyncio.to_thread(slow.begun.acquire, timeout=60)
        call.cancel()
        await asyncio.wait({waiting})
        assert await asyncio.to_thread(slow.seen_cancelled.wait, 60)
        slow.let_go.set()
        assert (await plan(channel, request)).verified
        assert len(slow.left) == 2


async def test_a_failure_is_not_remembered(serving: Any, failing: Any, make_round: Any) -> None:
    planner = failing(RuntimeError("first"))
    request = write_round(make_round(), PlanParameters(request_id="r1"))
    async with serving(planner) as server, grpc.aio.insecure_channel(server.address) as channel:
        assert (await failed(plan(channel, request))).code() is grpc.StatusCode.INTERNAL
        planner.error = ValueError("second")
        assert (await failed(plan(channel, request))).code() is grpc.StatusCode.INTERNAL


async def test_the_memory_is_bounded_and_forgets_the_oldest() -> None:
    memory = Memory(most_answers=3, most_bytes=100)

    def answer(number: int, size: int) -> None:
        key = ("me", "PlanRound", f"r{number}")
        memory.finish(key, memory.begin(key, b"", Cancellation()), b"x" * size)

    for number in range(5):
        answer(number, 10)
    assert [memory.find(("me", "PlanRound", f"r{n}"), b"") is not None for n in range(5)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    answer(5, 85)
    assert len(memory) == 2
    with pytest.raises(InvalidInputError):
        memory.find(("me", "PlanRound", "r5"), b"other")


async def test_who_has_most_of_the_memory_makes_room() -> None:
    memory = Memory(most_answers=3, most_bytes=100)

    def answer(caller: str, number: int, size: int) -> None:
        key = (caller, "PlanRound", f"r{number}")
        memory.finish(key, memory.begin(key, b"", Cancellation()), b"x" * size)

    def known() -> list[tuple[str, int]]:
        return [
            (caller, n)
            for caller in ("me", "you")
            for n in range(9)
            if memory.find((caller, "PlanRound", f"r{n}"), b"")
        ]

    answer("you", 0, 60)
    for number in range(5):
        answer("me", number, 10)
    assert known() == [("me", 3), ("me", 4), ("you", 0)]
    answer("me", 5, 30)
    assert known() == [("me", 4), ("me", 5), ("you", 0)]
    answer("you", 1, 1)
    assert known() == [("me", 5), ("you", 0), ("you", 1)]


async def test_a_slot_is_held_until_the_thread_is_done() -> None:
    """Whoever sends calls and leaves cannot fill all threads."""
    answering = Answering(ServerOptions(slots=1), Metrics())
    begun, let_go = threading.Event(), threading.Event()

    def work() -> round_pb2.PlanRoundResponse:
        begun.set()
        assert let_go.wait(10)
        return round_pb2.PlanRoundResponse()

    slot = await answering.admission.enter()
    call = asyncio.ensure_future(answering._in_slot(slot, work))
    await asyncio.to_thread(begun.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert answering.admission.running == 1
    let_go.set()
    other = await answering.admission.enter(10)
    other.release()
    answering.close()
