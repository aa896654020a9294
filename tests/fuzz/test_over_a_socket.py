"""Malformed requests to a service in a process of its own: it answers the next one and does not grow."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from grpc_status import rpc_status
from tests.fuzz.cases import Requests, rounds
from tests.fuzz.conftest import FUZZED
from tests.fuzz.judge import Findings, Service
from tests.fuzz.test_malformed import FLAT, SEED

from gangplan.bench.machine import resident_bytes
from gangplan.bench.serving import Service as Served
from gangplan.bench.serving import service
from gangplan.client import Client
from gangplan.v1 import admission_pb2, placement_service_pb2, round_pb2, session_service_pb2

_PLACEMENT, _SESSION = "gangplan.v1.PlacementService", "gangplan.v1.SessionService"
_METHODS: dict[type[Message], tuple[str, bool, bool]] = {
    round_pb2.PlanRoundRequest: (f"/{_PLACEMENT}/PlanRound", False, False),
    placement_service_pb2.StreamRoundRequest: (f"/{_PLACEMENT}/StreamRound", False, True),
    placement_service_pb2.ValidatePlanRequest: (f"/{_PLACEMENT}/ValidatePlan", False, False),
    placement_service_pb2.WhatIfRequest: (f"/{_PLACEMENT}/WhatIf", False, False),
    admission_pb2.CheckAdmissionRequest: (f"/{_PLACEMENT}/CheckAdmission", False, False),
    placement_service_pb2.ExplainJobRequest: (f"/{_PLACEMENT}/ExplainJob", False, False),
    placement_service_pb2.RecommendPlacementsRequest: (f"/{_PLACEMENT}/RecommendPlacements", False, False),
    placement_service_pb2.ComputeFairSharesRequest: (f"/{_PLACEMENT}/ComputeFairShares", False, False),
    session_service_pb2.OpenSessionRequest: (f"/{_SESSION}/OpenSession", True, False),
    session_service_pb2.ApplyDeltaRequest: (f"/{_SESSION}/ApplyDelta", False, False),
    session_service_pb2.ReportOutcomesRequest: (f"/{_SESSION}/ReportOutcomes", False, False),
    session_service_pb2.GetSessionRequest: (f"/{_SESSION}/GetSession", False, False),
}
"""Method, and whether requests and answers are streamed."""
_DEADLINE_SECONDS = 1.0
_TOO_SLOW = frozenset({"DEADLINE_EXCEEDED"})


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with service() as running:
        yield running


def send(channel: grpc.Channel, kind: type[Message], encoded: bytes) -> None:
    """Send bytes to the method that takes ``kind``, and read all answers.

    Raises:
        grpc.RpcError: the call fails.
    """
    method, requests_streamed, answers_streamed = _METHODS[kind]
    if requests_streamed:
        channel.stream_unary(method)(iter([encoded]), timeout=_DEADLINE_SECONDS)
    elif answers_streamed:
        for _ in channel.unary_stream(method)(encoded, timeout=_DEADLINE_SECONDS):
            pass
    else:
        channel.unary_unary(method)(encoded, timeout=_DEADLINE_SECONDS)


def fuzz(served: Served, seed: int, count: int) -> Findings:
    findings, requests, slow, size = Findings(), Requests(Service()), Counter[str](), 0
    with grpc.insecure_channel(served.address) as channel:
        for number in range(count):
            case = requests.case(seed, number)
            status = None
            try:
                send(channel, case.kind, case.encoded)
            except grpc.RpcError as error:
                call: Any = error
                if call.code().name in _TOO_SLOW:  # a busy machine, or a round that takes its time
                    slow[call.code().name] += 1
                    continue
                status = rpc_status.from_call(call)
                if status is None:
                    findings.wrong.append(f"{case.name}: {call.code().name} {call.details()}")
                    continue
            findings.note(case.kind, status, 0.0, case.name)
            if number == count // 10:
                size = resident_bytes(served.process)
    grown = resident_bytes(served.process) - size
    print(f"seed {seed}: {dict(findings.statuses)}, {dict(slow)}, grew by {grown / 2**20:.1f} MiB")
    if grown > FLAT:
        findings.wrong.append(f"the service grew by {grown / 2**20:.1f} MiB")
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))  # other processes for each core
    if slow.total() > max(5, count // 50) * busy:
        findings.wrong.append(
            f"{slow.total()} of {count} calls were not answered within {_DEADLINE_SECONDS} s"
        )
    return findings


def assert_it_still_plans(served: Served) -> None:
    with Client(served.address) as client:
        assert client.send_round(rounds()[1], timeout=30.0).verified


def test_some(served: Served, record_property: Callable[[str, object], None]) -> None:
    findings = fuzz(served, SEED + 500, 300)
    record_property(FUZZED, dict(findings.statuses))
    assert findings.wrong[:20] == []
    assert findings.statuses["OK"] > 20
    assert_it_still_plans(served)


def test_a_refusal_that_repeats_a_long_name_arrives(served: Served) -> None:
    request = session_service_pb2.GetSessionRequest(session_id="😀" * 512)
    with grpc.insecure_channel(served.address) as channel, pytest.raises(grpc.RpcError) as refused:
        send(channel, session_service_pb2.GetSessionRequest, request.SerializeToString())
    assert rpc_status.from_call(refused.value).code == grpc.StatusCode.NOT_FOUND.value[0]


@pytest.mark.deep
@pytest.mark.timeout(3600)
def test_ten_thousand(served: Served, record_property: Callable[[str, object], None]) -> None:
    findings = fuzz(served, SEED + 501, 10_000)
    record_property(FUZZED, dict(findings.statuses))
    assert findings.wrong[:20] == []
    assert_it_still_plans(served)
