"""StreamRound over gRPC on loopback: greedy first, then each better plan; resumed, stopped, read slowly."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import grpc
import grpc.aio
import pytest
from tests.service.conftest import until

from gangplan.domain.plan import RoundResult, Stage
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.runner import Cancellation
from gangplan.model.verifier.verify import verify
from gangplan.observe.metrics import Metrics
from gangplan.planning.generate import generate_named
from gangplan.service.interceptors import ObservingInterceptor
from gangplan.service.planner import EnginePlanner
from gangplan.service.remembered import MOST_BYTES
from gangplan.service.servicer import PlacementServicer
from gangplan.service.streams import Stream
from gangplan.service.wire import read_plan, write_round
from gangplan.v1 import placement_service_pb2, placement_service_pb2_grpc, round_pb2

GREEDY = PlanParameters(pipeline="greedy", time_budget_seconds=30.0)


class Improving:
    """Finds ever better plans, one each time that it is let."""

    def __init__(self, keep: Callable[[Round, PlanParameters], RoundResult], better: int = 3) -> None:
        self.keep = keep
        self.better = better
        self.steps = threading.Semaphore(0)
        self.cancelled = threading.Event()
        self.rounds = 0

    def plan(
        self,
        round_: Round,
        parameters: PlanParameters,
        budget: Budget,
        cancellation: Cancellation,
        on_stage: Callable[[Stage], None] | None = None,
        on_better: Callable[[RoundResult], None] | None = None,
    ) -> RoundResult:
        del budget, on_stage
        self.rounds += 1
        result = self.keep(round_, parameters)
        for number in range(1, self.better + 1):
            if on_better is not None:
                on_better(replace(result, quality=replace(result.quality, objective=float(number))))
            while not self.steps.acquire(timeout=0.01):
                if cancellation.cancelled:
                    self.cancelled.set()
                    return result
        return replace(result, quality=replace(result.quality, objective=100.0))

    def warm(self) -> None:
        """Nothing to get ready."""

    def close(self) -> None:
        """Nothing to end."""


@pytest.fixture
def improving() -> Improving:
    from tests.service.conftest import keep_everything

    return Improving(keep_everything)


def stream(channel: grpc.aio.Channel, request: Any, **more: Any) -> Any:
    stub: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
    return stub.StreamRound(placement_service_pb2.StreamRoundRequest(round=request, **more), timeout=60)


async def rest_of(call: Any) -> list[placement_service_pb2.StreamRoundResponse]:
    """What is left of a stream of which some was read already."""
    answers = []
    while (answer := await call.read()) is not grpc.aio.EOF:
        answers.append(answer)
    return answers


async def code_of(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for _ in call:
            pass
    return caught.value.code()


async def test_each_plan_is_verified_and_better_and_the_last_is_plan_rounds(serving: Any) -> None:
    class Greedy(EnginePlanner):
        def warm(self) -> None:
            """No solver processes."""

    round_ = generate_named("S/steady/85/seed1")
    request = write_round(round_, GREEDY)
    async with serving(Greedy(workers=1)) as server, grpc.aio.insecure_channel(server.address) as channel:
        answers = [answer async for answer in stream(channel, request)]
        stub: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
        alone = await stub.PlanRound(request)
    assert [answer.last for answer in answers] == [False] * (len(answers) - 1) + [True]
    assert len(answers) >= 2
    numbers = [answer.number for answer in answers]
    assert numbers == sorted(set(numbers))
    assert answers[-1].answer.plan == alone.plan
    on_the_way = [answer.answer for answer in answers[:-1]]
    values = [answer.quality.objective for answer in on_the_way]
    assert values == sorted(values)
    assert len(set(values)) == len(values)
    for answer in on_the_way:
        judged = verify(round_, read_plan(answer))
        assert judged.violations == ()
        assert judged.objective == pytest.approx(answer.quality.objective)
        assert answer.verified
        assert answer.quality.bound >= answer.quality.objective
        assert {verdict.job for verdict in answer.verdicts} == {job.name for job in round_.jobs} - {
            action.job for action in answer.plan.actions
        }


async def test_plans_come_as_they_are_found(serving: Any, improving: Improving, make_round: Any) -> None:
    async with serving(improving) as server, grpc.aio.insecure_channel(server.address) as channel:
        call = stream(channel, write_round(make_round()))
        seen = []
        for number in (1, 2, 3):
            answer = await call.read()
            seen.append((answer.number, answer.answer.quality.objective, answer.last))
            assert answer.number == number
            improving.steps.release()
        answer = await call.read()
        seen.append((answer.number, answer.answer.quality.objective, answer.last))
        assert await call.read() is grpc.aio.EOF
    assert seen == [(1, 1.0, False), (2, 2.0, False), (3, 3.0, False), (4, 100.0, True)]


async def test_a_caller_that_stops_early_stops_the_work(
    serving: Any, improving: Improving, make_round: Any
) -> None:
    async with (
        serving(improving, slots=1, queue=0) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        call = stream(channel, write_round(make_round()))
        assert (await call.read()).number == 1
        call.cancel()
        assert await asyncio.to_thread(improving.cancelled.wait, 60)
        improving.steps.release(3)
        await until(lambda: not server._answering.admission.running)
        again = [answer async for answer in stream(channel, write_round(make_round()))]
        assert again[-1].last


async def test_a_stream_with_an_id_is_taken_up_again(
    serving: Any, improving: Improving, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters(request_id="s1"))
    async with serving(improving) as server, grpc.aio.insecure_channel(server.address) as channel:
        first = stream(channel, request)
        assert (await first.read()).number == 1
        first.cancel()
        improving.steps.release()
        second = stream(channel, request, resume_after=1)
        answer = await second.read()
        assert (answer.number, answer.answer.quality.objective) == (2, 2.0)
        improving.steps.release(2)
        rest = await rest_of(second)
        assert (rest[-1].number, rest[-1].last) == (4, True)
        late = [answer async for answer in stream(channel, request, resume_after=4)]
        assert late == rest[-1:]
        assert improving.rounds == 1
        request.jobs[0].weight = 3.0
        assert await code_of(stream(channel, request)) is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_stream_that_nobody_takes_up_again_ends(
    serving: Any, improving: Improving, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters(request_id="s1"))
    async with serving(improving) as server, grpc.aio.insecure_channel(server.address) as channel:
        call = stream(channel, request)
        await call.read()
        began = time.monotonic()
        call.cancel()
        assert await asyncio.to_thread(improving.cancelled.wait, 60)
        assert time.monotonic() - began > 1.5


async def test_a_slow_reader_holds_nobody_and_gets_the_newest(
    serving: Any, improving: Improving, make_round: Any
) -> None:
    """Hundreds of large answers fill every buffer on the way; the slot is free all the same."""
    improving.better = 300
    improving.steps.release(300)
    large = write_round(make_round(jobs=3000))
    small = write_round(make_round())
    async with (
        serving(improving, slots=1, queue=4) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        slow = stream(channel, large)
        assert (await slow.read()).number >= 1
        improving.steps.release(300)
        stub: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
        assert (await stub.PlanRound(small, timeout=60)).plan
        rest = await rest_of(slow)
    assert rest[-1].last
    assert rest[-1].number == 301
    assert len(rest) < 300


async def test_what_is_wrong_with_a_stream_is_said(serving: Any, instant: Any, make_round: Any) -> None:
    request = write_round(make_round())
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        invalid = grpc.StatusCode.INVALID_ARGUMENT
        assert await code_of(stream(channel, request, resume_after=1)) is invalid
        assert await code_of(stream(channel, None)) is invalid
        request.jobs[0].weight = -1.0
        call = stream(channel, request)
        assert await code_of(call) is invalid
        assert "round.jobs[0].weight" in await call.details()


async def test_streams_that_have_ended_are_forgotten_when_they_are_too_large_together() -> None:
    servicer = PlacementServicer(None, None)  # type: ignore[arg-type]
    for name in ("old", "new", "working"):
        stream = servicer._streams["me", "StreamRound", name] = Stream(b"", Cancellation())
        if name != "working":
            stream.finish(round_pb2.PlanRoundResponse, MOST_BYTES // 2 + 1)
    servicer._forget()
    assert [name for _, _, name in servicer._streams] == ["new", "working"]


class LetGo:
    """What gRPC gives a handler; once it has let go of the call, nothing may be asked of it any more."""

    gone = False

    def peer(self) -> str:
        assert not self.gone, "grpcio 1.85 crashes the process here"
        return "ipv4:127.0.0.1:1"


async def test_nothing_is_asked_of_a_call_that_grpc_has_let_go_of() -> None:
    async def behaviour(request: bytes, context: LetGo) -> AsyncIterator[bytes]:
        while True:
            yield request

    async def continuation(details: Any) -> Any:
        return grpc.unary_stream_rpc_method_handler(behaviour)

    details = SimpleNamespace(method="/gangplan.v1.PlacementService/StreamRound", invocation_metadata=())
    interceptor, context = ObservingInterceptor(Metrics()), LetGo()
    handler: Any = await interceptor.intercept_service(continuation, details)
    answers = handler.unary_stream(b"round", context)
    assert await anext(answers) == b"round"
    context.gone = True
    await answers.aclose()
    await asyncio.wait_for(interceptor.idle(), 60.0)
