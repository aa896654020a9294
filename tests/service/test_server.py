"""A real server on loopback, with planners that behave as the test wants."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from tests.service.conftest import until

from gangplan.client import Client
from gangplan.domain.presets import PRESETS
from gangplan.engine.parameters import PlanParameters
from gangplan.errors import BackendError, ServiceError, UnknownSolverError
from gangplan.service.methods import generic_handlers
from gangplan.service.wire import read_result, write_round
from gangplan.v1 import placement_service_pb2_grpc, planning_service_pb2, round_pb2

TOLERANCE_SECONDS = 20.0
"""Far above what a busy machine adds, and below what is waited for where something is wrong."""


def stub(channel: grpc.aio.Channel) -> Any:
    return placement_service_pb2_grpc.PlacementServiceStub(channel)


async def failed(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


def details(error: grpc.aio.AioRpcError, kind: type) -> Any:
    status = rpc_status.from_call(error)
    assert status is not None, error
    for packed in status.details:
        message = kind()
        if packed.Unpack(message):
            return message
    raise AssertionError(f"no {kind.__name__} in {status}")


async def test_a_round_goes_in_and_its_plan_comes_out(serving: Any, instant: Any, make_round: Any) -> None:
    round_ = make_round()
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        request = write_round(round_, PlanParameters(request_id="r-1", pipeline="greedy", seed=7))
        answer = await stub(channel).PlanRound(request)
    result = read_result(answer)
    assert answer.request_id == "r-1"
    assert answer.version.startswith("gangplan ")
    assert (result.pipeline, result.seed) == ("greedy", 7)
    assert [action.job for action in result.plan.actions] == ["job-0"]
    assert [verdict.job for verdict in result.verdicts] == ["job-1"]
    assert {"wait", "read"} <= result.seconds_by_phase.keys()


async def test_the_sync_client_speaks_to_the_server(serving: Any, instant: Any, make_round: Any) -> None:
    round_ = make_round()
    async with serving(instant) as server:

        def talk() -> tuple[Any, ...]:
            with Client(server.address) as client:
                return (
                    client.plan_round(round_, time_budget=1.0, seed=3),
                    client.list_solvers(),
                    client.get_capabilities(),
                )

        result, solvers, capabilities = await asyncio.to_thread(talk)
    assert result.seed == 3
    assert {solver.name for solver in solvers} >= {"highs", "cpsat"}
    assert "gangplan.v1.PlacementService.PlanRound" in capabilities.methods
    assert capabilities.presets == {name: preset.purpose for name, preset in PRESETS.items()}
    assert capabilities.maximum_request_bytes == 64 * 2**20


async def test_all_violations_come_at_once_with_their_paths(
    serving: Any, instant: Any, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters())
    request.jobs[0].name = request.jobs[1].name
    request.ClearField("now")
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        error = await failed(stub(channel).PlanRound(request))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    fields = {violation.field for violation in details(error, error_details_pb2.BadRequest).field_violations}
    assert {"now", "jobs[1].name"} <= fields
    info = details(error, error_details_pb2.ErrorInfo)
    assert (info.reason, info.domain) == ("INVALID_INPUT", "gangplan")
    assert instant.asked == []


async def test_a_thousand_violations_arrive(serving: Any, instant: Any, make_round: Any) -> None:
    request = write_round(make_round(jobs=1000), PlanParameters())
    for job in request.jobs:
        job.weight = -1
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        error = await failed(stub(channel).PlanRound(request))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "more violations" in details(error, error_details_pb2.BadRequest).field_violations[-1].description


async def test_a_field_that_is_not_built_yet_is_refused_by_name(
    serving: Any, instant: Any, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters())
    request.parameters.memory_limit_bytes = 1
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        error = await failed(stub(channel).PlanRound(request))
    assert [v.field for v in details(error, error_details_pb2.BadRequest).field_violations] == [
        "parameters.memory_limit_bytes"
    ]
    assert details(error, error_details_pb2.ErrorInfo).reason == "UNSUPPORTED_FIELD"


async def test_bytes_that_are_no_message_are_the_callers_fault(serving: Any, instant: Any) -> None:
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        call = channel.unary_unary("/gangplan.v1.PlacementService/PlanRound")
        error = await failed(call(b"\xff\xff\xff"))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "gangplan.v1.PlanRoundRequest" in (error.details() or "")


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (UnknownSolverError("no solver 'x'"), grpc.StatusCode.INVALID_ARGUMENT, "UNKNOWN_SOLVER"),
        (BackendError("private matter"), grpc.StatusCode.INTERNAL, "BACKEND_FAILED"),
        (RuntimeError("private matter"), grpc.StatusCode.INTERNAL, "INTERNAL"),
    ],
)
async def test_what_goes_wrong_inside_has_a_status_and_reveals_nothing(
    serving: Any,
    failing: Callable[[Exception], Any],
    make_round: Any,
    error: Exception,
    code: grpc.StatusCode,
    reason: str,
) -> None:
    request = write_round(make_round(), PlanParameters())
    async with serving(failing(error)) as server, grpc.aio.insecure_channel(server.address) as channel:
        raised = await failed(stub(channel).PlanRound(request, metadata=(("x-request-id", "my-id"),)))
    assert raised.code() is code
    assert details(raised, error_details_pb2.ErrorInfo).reason == reason
    assert "private matter" not in (raised.details() or "")
    if code is grpc.StatusCode.INTERNAL:
        assert "my-id" in (raised.details() or "")


@pytest.mark.parametrize("method", ["Simulate", "Sweep"])
async def test_methods_that_are_not_built_say_so(method: str) -> None:
    """All that the contract has is built; a server without an answer for a method says so all the same."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(generic_handlers((planning_service_pb2.DESCRIPTOR,), {}))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    name = f"gangplan.v1.PlanningService.{method}"
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary(f"/gangplan.v1.PlanningService/{method}")
        error = await failed(call(b""))
    await server.stop(0)
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert error.details() == f"{name} is not built yet; GetCapabilities tells what is"
    assert details(error, error_details_pb2.ErrorInfo).reason == "NOT_BUILT"


async def test_the_time_budget_counts_from_arrival(serving: Any, slow: Any, make_round: Any) -> None:
    request = write_round(make_round(), PlanParameters(time_budget_seconds=0.4))
    async with serving(slow) as server, grpc.aio.insecure_channel(server.address) as channel:
        await stub(channel).GetCapabilities(placement_capabilities())  # the channel is up
        began = time.monotonic()
        await stub(channel).PlanRound(request)
        seconds = time.monotonic() - began
    assert 0.3 < seconds < TOLERANCE_SECONDS
    assert slow.left[0] < 0.4


async def test_a_deadline_that_is_nearer_than_the_budget_holds(
    serving: Any, slow: Any, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters(time_budget_seconds=30.0))
    async with serving(slow) as server, grpc.aio.insecure_channel(server.address) as channel:
        await stub(channel).GetCapabilities(placement_capabilities())
        slow.let_go.set()  # it need not take all the time that it has
        answer = await stub(channel).PlanRound(request, timeout=20.0)
    assert answer.verified
    assert slow.left[0] < 25.0  # gRPC rounds what it tells of a deadline


async def test_a_client_that_gives_up_frees_its_slot(serving: Any, slow: Any, make_round: Any) -> None:
    request = write_round(make_round(), PlanParameters(time_budget_seconds=60.0))
    async with (
        serving(slow, slots=1, queue=0) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        call = stub(channel).PlanRound(request)
        waiting = asyncio.ensure_future(call)
        await asyncio.to_thread(slow.begun.acquire, timeout=60)
        call.cancel()
        await asyncio.wait({waiting})
        assert await asyncio.to_thread(slow.seen_cancelled.wait, 60)
        slow.let_go.set()
        await until(lambda: not server._answering.admission.running)  # the thread is done
        answer = await stub(channel).PlanRound(request)
    assert answer.verified


async def test_more_calls_than_slots_and_queue_are_told_when_to_come_back(
    serving: Any, slow: Any, make_round: Any
) -> None:
    request = write_round(make_round(), PlanParameters(time_budget_seconds=60.0))
    async with (
        serving(slow, slots=1, queue=1) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        running = asyncio.ensure_future(stub(channel).PlanRound(request))
        await asyncio.to_thread(slow.begun.acquire, timeout=60)
        queued = asyncio.ensure_future(stub(channel).PlanRound(request))
        await until(lambda: server._answering.admission.waiting == 1)
        error = await failed(stub(channel).PlanRound(request))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert details(error, error_details_pb2.RetryInfo).retry_delay.ToTimedelta().total_seconds() > 0
        assert details(error, error_details_pb2.ErrorInfo).reason == "OVERLOADED"
        slow.let_go.set()  # calls in flight are unharmed
        assert (await running).verified
        assert (await queued).verified
        refused = server.metrics.registry.get_sample_value("gangplan_calls_refused_total")
    assert refused == 1


async def test_a_queued_call_starts_in_time_or_is_refused_before_its_time_is_over(
    serving: Any, slow: Any, make_round: Any
) -> None:
    """One may start before the only slot is free; a second one may not."""
    long = write_round(make_round(), PlanParameters(time_budget_seconds=60.0))
    short = write_round(make_round(), PlanParameters(time_budget_seconds=1.0))
    async with (
        serving(slow, slots=1, queue=2) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        running = asyncio.ensure_future(stub(channel).PlanRound(long))
        await asyncio.to_thread(slow.begun.acquire, timeout=60)
        began = time.monotonic()
        both = [stub(channel).PlanRound(short) for _ in range(2)]
        answers = await asyncio.gather(*both, return_exceptions=True)
        assert time.monotonic() - began < TOLERANCE_SECONDS
        (error,) = [each for each in answers if isinstance(each, grpc.aio.AioRpcError)]
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        slow.let_go.set()
        assert (await running).verified


async def test_a_message_above_the_limit_is_refused_and_the_limit_named(
    serving: Any, instant: Any, make_round: Any
) -> None:
    request = write_round(make_round(jobs=2000), PlanParameters())
    async with (
        serving(instant, max_message_bytes=50_000) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        error = await failed(stub(channel).PlanRound(request))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "50000" in (error.details() or "")


async def test_an_answer_above_the_limit_is_refused_and_the_limit_named(
    serving: Any, instant: Any, make_round: Any
) -> None:
    compact = write_round(make_round(jobs=400), PlanParameters(), compact=True)
    limit = compact.ByteSize() + 100
    async with (
        serving(instant, max_message_bytes=limit) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        error = await failed(stub(channel).PlanRound(compact))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert f"the limit is {limit}" in (error.details() or "")


async def test_messages_above_four_mebibytes_go_through(serving: Any, instant: Any, make_round: Any) -> None:
    round_ = make_round(jobs=30_000)
    async with serving(instant) as server:

        def talk() -> Any:
            with Client(server.address) as client:
                return client.plan_round(round_, time_budget=30.0)

        result = await asyncio.to_thread(talk)
    assert len(result.verdicts) == 29_999


async def test_health_says_serving_and_then_not(serving: Any, instant: Any) -> None:
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", *(f"gangplan.v1.{each}Service" for each in ("Placement", "Session", "Planning"))):
            answer = await health.Check(health_pb2.HealthCheckRequest(service=name))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        watch = health.Watch(health_pb2.HealthCheckRequest(service="gangplan.v1.PlacementService"))
        seen = [(await watch.read()).status]
        began = time.monotonic()
        await server.stop(60)  # the watch goes on; it must not hold up the end
        assert time.monotonic() - began < TOLERANCE_SECONDS
        seen.append((await watch.read()).status)
    assert seen == [health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING]


async def test_a_drain_lets_calls_in_flight_finish(serving: Any, slow: Any, make_round: Any) -> None:
    request = write_round(make_round(), PlanParameters(time_budget_seconds=0.8))
    async with serving(slow) as server, grpc.aio.insecure_channel(server.address) as channel:
        running = asyncio.ensure_future(stub(channel).PlanRound(request))
        await asyncio.to_thread(slow.begun.acquire, timeout=60)
        await server.stop(60)
        assert (await running).verified
    assert slow.closed


async def test_a_drain_ends_calls_that_outlast_the_grace(serving: Any, slow: Any, make_round: Any) -> None:
    request = write_round(make_round(), PlanParameters(time_budget_seconds=60.0))
    async with serving(slow) as server, grpc.aio.insecure_channel(server.address) as channel:
        running = asyncio.ensure_future(failed(stub(channel).PlanRound(request)))
        await asyncio.to_thread(slow.begun.acquire, timeout=60)
        began = time.monotonic()
        await server.stop(0.2)
        assert time.monotonic() - began < TOLERANCE_SECONDS
        error = await running
    assert error.code() in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED}
    assert await asyncio.to_thread(slow.seen_cancelled.wait, 60)


async def test_reflection_lists_the_services_and_their_messages(serving: Any, instant: Any) -> None:
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
        requests = [
            reflection_pb2.ServerReflectionRequest(list_services=""),
            reflection_pb2.ServerReflectionRequest(file_containing_symbol="gangplan.v1.PlanRoundRequest"),
        ]
        listed, described = [answer async for answer in reflection.ServerReflectionInfo(iter(requests))]
    names = {service.name for service in listed.list_services_response.service}
    assert {"gangplan.v1.PlacementService", "gangplan.v1.SessionService", "grpc.health.v1.Health"} <= names
    assert described.file_descriptor_response.file_descriptor_proto


async def test_two_servers_do_not_share_a_port(serving: Any, instant: Any) -> None:
    async with serving(instant) as server:
        port = int(server.address.rpartition(":")[2])
        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}"):
            async with _on_port(serving, instant, port):
                pass


async def test_metrics_count_rounds_and_calls(serving: Any, instant: Any, make_round: Any) -> None:
    request = write_round(make_round(), PlanParameters())
    async with serving(instant) as server, grpc.aio.insecure_channel(server.address) as channel:
        await stub(channel).PlanRound(request)
        await failed(stub(channel).PlanRound(round_pb2.PlanRoundRequest()))
    sample = server.metrics.registry.get_sample_value  # now: a refusal is counted after it was sent
    assert sample("gangplan_calls_total", {"method": "PlanRound", "code": "OK"}) == 1
    assert sample("gangplan_calls_total", {"method": "PlanRound", "code": "INVALID_ARGUMENT"}) == 1
    assert sample("gangplan_call_seconds_count", {"method": "PlanRound"}) == 2


async def test_the_client_raises_what_the_server_refused(serving: Any, instant: Any, make_round: Any) -> None:
    round_ = make_round()
    async with serving(instant) as server:

        def talk() -> ServiceError:
            with Client(server.address) as client, pytest.raises(ServiceError) as caught:
                client.plan_round(round_, seed=-1)
            return caught.value

        error = await asyncio.to_thread(talk)
    assert error.code == "INVALID_ARGUMENT"
    assert [violation.field for violation in error.violations] == ["parameters.seed"]


def test_a_server_that_is_not_there_is_unavailable(make_round: Any) -> None:
    with Client("127.0.0.1:1") as client, pytest.raises(ServiceError) as caught:
        client.list_solvers(timeout=5)
    assert caught.value.code == "UNAVAILABLE"


def placement_capabilities() -> Any:
    from gangplan.v1 import placement_service_pb2

    return placement_service_pb2.GetCapabilitiesRequest()


def _on_port(serving: Any, planner: Any, port: int) -> Any:
    import contextlib

    from gangplan.service.options import ServerOptions
    from gangplan.service.placement import Placement
    from gangplan.service.server import Server

    @contextlib.asynccontextmanager
    async def start() -> Any:
        options = ServerOptions(port=port)
        async with Server(options, placement=Placement(planner, options)) as server:
            yield server

    del serving
    return start()
