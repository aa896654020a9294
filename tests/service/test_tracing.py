"""Traces of calls and of the phases of their rounds, and what goes into the log beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import grpc
import grpc.aio
import pytest
from tests.service.conftest import configured_logs

from gangplan.engine.parameters import PlanParameters
from gangplan.errors import InvalidInputError
from gangplan.observe.metrics import Metrics
from gangplan.observe.tracing import Tracing
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.server import Server
from gangplan.service.wire import write_round
from gangplan.v1 import placement_service_pb2_grpc

pytest.importorskip("opentelemetry.sdk", reason="the extra `otel` is not installed")
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def exporter() -> Any:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    return InMemorySpanExporter()


@pytest.fixture
def traced(exporter: Any) -> Metrics:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Metrics(Tracing(provider))


async def test_a_round_is_a_tree_of_spans_below_the_callers(
    instant: Any, traced: Metrics, exporter: Any, make_round: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ServerOptions(port=0)
    metadata = (
        ("traceparent", f"00-{TRACE}-{PARENT}-01"),
        ("x-request-id", "mine-7"),
        ("authorization", "Bearer a-secret"),
    )
    with configured_logs("info"):
        placement = Placement(instant, options, traced)
        async with (
            Server(options, placement=placement, metrics=traced) as server,
            grpc.aio.insecure_channel(server.address) as channel,
        ):
            stub: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
            await stub.PlanRound(write_round(make_round(), PlanParameters()), metadata=metadata)
            with pytest.raises(grpc.aio.AioRpcError):
                await stub.PlanRound(write_round(make_round(), PlanParameters(relative_gap=2.0)))
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    spans = [span for span in exporter.get_finished_spans() if f"{span.context.trace_id:032x}" == TRACE]
    [call] = [span for span in spans if span.kind.name == "SERVER"]
    [round_] = [span for span in spans if span.name == "round"]
    assert f"{call.parent.span_id:016x}" == PARENT
    assert call.name == "gangplan.v1.PlacementService/PlanRound"
    assert call.attributes["gangplan.incident"] == "mine-7"
    assert call.attributes["rpc.grpc.status_code"] == 0
    assert round_.parent.span_id == call.context.span_id
    assert round_.attributes["gangplan.reason"] == "FEASIBLE"
    phases = [span for span in spans if span not in (call, round_)]
    assert [span.name for span in phases] == ["wait", "read"]
    assert all(span.parent.span_id == round_.context.span_id for span in phases)
    assert all(round_.start_time <= span.start_time <= span.end_time <= round_.end_time for span in phases)
    assert "a-secret" not in "".join(span.to_json() for span in spans)
    # The lines of the threads belong to the call, too.
    told = {line["event"]: line for line in lines if line.get("trace_id") == TRACE}
    assert {"round", "call"} <= set(told)
    assert {told[event]["incident"] for event in ("round", "call")} == {"mine-7"}


async def test_a_call_that_fails_inside_is_an_error_and_one_at_fault_is_not(
    failing: Any, traced: Metrics, exporter: Any, make_round: Any
) -> None:
    options = ServerOptions(port=0)
    placement = Placement(failing(RuntimeError("secret inside")), options, traced)
    async with (
        Server(options, placement=placement, metrics=traced) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        stub: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
        for request in (
            write_round(make_round(), PlanParameters()),
            write_round(make_round(jobs=1), PlanParameters()),
        ):
            if len(request.jobs) + len(request.job_classes) == 1:
                request.cluster.nodes.add(name="")
            with pytest.raises(grpc.aio.AioRpcError):
                await stub.PlanRound(request)
    inside, fault = [span for span in exporter.get_finished_spans() if span.kind.name == "SERVER"]
    assert (inside.status.status_code.name, inside.attributes["rpc.grpc.status_code"]) == ("ERROR", 13)
    assert (fault.status.status_code.name, fault.attributes["rpc.grpc.status_code"]) == ("UNSET", 3)
    assert "secret" not in inside.to_json()


def test_without_an_endpoint_nothing_is_loaded() -> None:
    code = (
        "import sys\nfrom gangplan.observe.tracing import Tracing\n"
        "with Tracing.to(None).call('/a/B', 'i', ()) as span:\n    span.ended('OK', 0, 1)\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.grpc.trace_exporter", None)
    with pytest.raises(InvalidInputError, match=r"gangplan\[otel\]"):
        Tracing.to("http://127.0.0.1:4317")


def test_spans_reach_a_collector() -> None:
    """A collector of the test's own; the exporter sends the standard message."""
    from concurrent.futures import ThreadPoolExecutor

    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as collector
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as collector_grpc

    got: list[Any] = []

    class Collector(collector_grpc.TraceServiceServicer):
        def Export(self, request: Any, context: Any) -> Any:  # noqa: N802
            got.extend(span for r in request.resource_spans for s in r.scope_spans for span in s.spans)
            return collector.ExportTraceServiceResponse()

    server = grpc.server(ThreadPoolExecutor(1))
    collector_grpc.add_TraceServiceServicer_to_server(Collector(), server)
    number = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        tracing = Tracing.to(f"http://127.0.0.1:{number}")
        with tracing.call("/gangplan.v1.PlacementService/PlanRound", "i-1", ()) as span:
            span.ended("OK", 0, 12)
        tracing.close()
    finally:
        server.stop(0).wait()
    assert [span.name for span in got] == ["gangplan.v1.PlacementService/PlanRound"]
