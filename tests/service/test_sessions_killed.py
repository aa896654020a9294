"""The service killed with SIGKILL while deltas come: what was acknowledged is there afterwards (P24)."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import grpc
import pytest

from gangplan.client import Client
from gangplan.errors import ServiceError
from gangplan.service.launched import address_of
from gangplan.service.wire import write_round
from gangplan.service.wire.session_content import content_of
from gangplan.v1 import round_pb2, session_pb2, session_service_pb2, session_service_pb2_grpc

KILLS = 3
"""Each costs a start of the service."""


class Service:
    """A service in a process of its own; only the sessions' file outlives it."""

    def __init__(self, file: Path) -> None:
        words = ["serve", "--port", "0", "--slots", "1", "--log-level", "warning", "--sessions", str(file)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gangplan.cli.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.address = address_of(self.process, 120.0, 10.0)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.mark.timeout(400)
def test_no_acknowledged_delta_is_lost(make_round: Any, tmp_path: Path) -> None:
    file, chance = tmp_path / "sessions.db", random.Random(7)
    request = write_round(make_round(jobs=3))
    contents = {1: content_of(request)}
    state: session_pb2.SessionState | None = None
    sent = 0
    for _ in range(KILLS):
        service = Service(file)
        try:
            with grpc.insecure_channel(service.address) as channel:
                stub: Any = session_service_pb2_grpc.SessionServiceStub(channel)
                if state is None:
                    opening = session_service_pb2.OpenSessionRequest(snapshot=request)
                    state = stub.OpenSession(iter([opening])).session
                else:
                    asked = session_service_pb2.GetSessionRequest(session_id=state.session_id)
                    found = stub.GetSession(asked, timeout=10).session
                    # One delta may have been applied and not acknowledged.
                    assert found.revision in (state.revision, state.revision + 1)
                    assert found.digest == contents[found.revision].digest
                    state = found
                threading.Timer(0.05 + chance.random() * 0.3, service.kill).start()
                ends = time.monotonic() + 20
                while time.monotonic() < ends:
                    request.jobs[1].weight = 1.0 + sent
                    sent += 1
                    contents[state.revision + 1] = content_of(request)
                    delta = session_service_pb2.ApplyDeltaRequest(
                        session_id=state.session_id,
                        base_revision=state.revision,
                        upsert_jobs=[request.jobs[1]],
                    )
                    try:
                        state = stub.ApplyDelta(delta, timeout=10).session
                    except grpc.RpcError:
                        break
                    assert state.digest == contents[state.revision].digest
        finally:
            if service.process.poll() is None:
                service.kill()
    assert state is not None
    assert state.revision > KILLS
    last = Service(file)
    try:
        with grpc.insecure_channel(last.address) as channel:
            stub = session_service_pb2_grpc.SessionServiceStub(channel)
            asked = session_service_pb2.GetSessionRequest(session_id=state.session_id)
            found = stub.GetSession(asked, timeout=10).session
    finally:
        last.kill()
    assert found.revision in (state.revision, state.revision + 1)
    assert found.digest == contents[found.revision].digest
    print(f"{found.revision - 1} deltas over {KILLS} kills")


SERVES_STREAMS = """
import concurrent.futures, grpc
def stream(request, context):
    yield b""
methods = {"StreamRound": grpc.unary_stream_rpc_method_handler(stream)}
server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
handler = grpc.method_handlers_generic_handler("gangplan.v1.PlacementService", methods)
server.add_generic_rpc_handlers([handler])
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
server.wait_for_termination()
"""


def test_a_stream_from_a_service_that_dies_ends() -> None:
    """With gRPC's own retries, grpcio 1.85 waited for ever, whatever the timeout."""
    command = [sys.executable, "-c", SERVES_STREAMS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        killing = threading.Timer(0.3, process.kill)
        with Client(f"127.0.0.1:{process.stdout.readline().strip()}") as client:

            def read_on() -> None:
                while time.monotonic() - began < 60.0:
                    list(client.send_stream(round_pb2.PlanRoundRequest(), timeout=20.0))

            killing.start()
            began = time.monotonic()
            with pytest.raises(ServiceError) as caught:
                read_on()
    assert caught.value.code == "UNAVAILABLE"
    assert time.monotonic() - began < 60.0
