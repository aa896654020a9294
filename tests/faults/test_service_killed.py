"""``kill -9`` at random instants, while deltas and rounds come: nothing that was acknowledged is lost."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import grpc
import pytest
from tests.faults.caller import Caller, Failed
from tests.faults.instants import Instants
from tests.faults.served import Served
from tests.service.conftest import round_of
from tests.service.test_sessions_killed import Service


@pytest.mark.timeout(3600)
def test_the_service_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "sessions.db"
    instants = Instants("service killed", share=0.25, few=1)
    caller: Caller | None = None
    service = Service(file)
    try:
        for instant in instants:
            with grpc.insecure_channel(service.address) as channel:
                if caller is None:
                    caller = Caller(Served(channel), round_of(jobs=4), instant.rng)
                caller.talk = Served(channel)
                killing = threading.Timer(instant.rng.uniform(0.0, 0.5), service.kill)
                killing.start()
                ends = time.monotonic() + 30.0
                with contextlib.suppress(Failed):
                    while time.monotonic() < ends:
                        caller.step()
                        instants.count("calls acknowledged")
                killing.join()
            began = time.monotonic()
            service = Service(file)
            with grpc.insecure_channel(service.address) as channel:
                caller.talk = Served(channel)
                caller.recover()
                caller.change()
            instants.recovered.append(time.monotonic() - began)
    finally:
        if service.process.poll() is None:
            service.kill()
