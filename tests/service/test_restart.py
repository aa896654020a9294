"""One service takes the place of another on the same port, and no call is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import until

from gangplan.client import AsyncClient, Client
from gangplan.errors import ServiceError
from gangplan.service.launched import address_of
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.server import Server


@contextlib.contextmanager
def process(*words: str, env: dict[str, str] | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "gangplan.cli.main", "serve", "--slots", "1", *words]
    started = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        yield started, address_of(started, 150, 20)
    finally:
        started.kill()
        started.wait()
        assert started.stdout is not None
        started.stdout.close()


@pytest.mark.timeout(400)  # two services start and one stops, however busy the machine is
def test_no_call_is_lost_while_one_service_takes_the_place_of_another(
    make_round: Any, tmp_path: Path
) -> None:
    shared = ["--reuse-port", "--sessions", str(tmp_path / "sessions.db")]
    answered: list[float] = []
    failed: list[Exception] = []
    over = threading.Event()

    def call_again_and_again(address: str) -> None:
        """Rounds on a session and short calls, each of them by a connection of its own now and then."""
        with Client(address) as kept, kept.session() as session:
            for number in range(10_000):
                if over.is_set():
                    return
                try:
                    session.plan_round(
                        replace(make_round(jobs=4), now=1_767_225_600.0 + number),
                        time_budget=0.2,
                        pipeline="greedy",
                    )
                    with Client(address) as fresh:
                        fresh.list_solvers()
                except Exception as error:  # noqa: BLE001 - whatever it is, a call was lost
                    failed.append(error)
                answered.append(time.monotonic())

    with process("--port", "0", *shared) as (old, address):
        caller = threading.Thread(target=call_again_and_again, args=(address,))
        caller.start()
        try:
            with process("--port", address.rpartition(":")[2], *shared) as (new, same):
                assert same == address
                old.send_signal(signal.SIGTERM)
                assert old.wait(60) == 0
                gone = time.monotonic()
                ends = gone + 60
                while sum(at > gone for at in answered) < 10 and time.monotonic() < ends:
                    time.sleep(0.05)
                assert new.poll() is None
                over.set()
                caller.join(30)
        finally:
            over.set()
            caller.join(30)
    assert failed == []
    assert sum(at <= gone for at in answered) >= 10
    assert sum(at > gone for at in answered) >= 10


async def test_calls_that_reach_a_service_as_it_stops_are_not_lost(make_round: Any, instant: Any) -> None:
    """Several swaps, calls of each shape, on connections that last and on new ones."""

    def made(port: int) -> Server:
        options = ServerOptions(port=port, reuse_port=True)
        return Server(options, placement=Placement(instant, options))

    answered: Counter[str] = Counter()
    lost: list[str] = []
    over = asyncio.Event()

    async def call(shape: str, address: str) -> None:
        async with AsyncClient(address) as kept:
            while not over.is_set():
                try:
                    if shape == "unary":
                        await kept.plan_round(make_round(), request_id=f"r{answered[shape]}")
                    elif shape == "stream":
                        async for _ in kept.stream_round(make_round()):
                            pass
                    else:
                        async with AsyncClient(address) as fresh:
                            await fresh.list_solvers()
                except ServiceError as error:
                    if error.code != "RESOURCE_EXHAUSTED":  # an answer, too
                        lost.append(f"{shape}: {error.code} {error}")
                answered[shape] += 1

    serving = made(0)
    address = await serving.start()
    shapes = ("unary", "stream", "fresh")
    callers = [asyncio.ensure_future(call(shape, address)) for shape in shapes]

    async def each_once_more() -> None:
        before = dict(answered)
        await until(lambda: all(answered[shape] > before.get(shape, 0) for shape in shapes))

    for _ in range(5):
        await each_once_more()
        following = made(int(address.rpartition(":")[2]))
        await following.start()
        await serving.stop(60)
        serving = following
    await each_once_more()
    over.set()
    await asyncio.gather(*callers)
    await serving.stop(0)
    assert lost == []
    assert min(answered.values()) >= 5


async def test_the_service_manager_is_told_when_calls_are_answered(
    tmp_path: Path, monkeypatch: Any, instant: Any
) -> None:
    from gangplan.service import server as module

    address = tmp_path / "notify"
    receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    receiver.bind(str(address))
    receiver.settimeout(10)
    monkeypatch.setenv("NOTIFY_SOCKET", str(address))
    made = Server

    def with_planner(options: ServerOptions) -> Server:
        return made(options, placement=Placement(instant, options))

    monkeypatch.setattr(module, "Server", with_planner)
    told: list[str] = []
    try:
        serving = asyncio.ensure_future(module._serve(ServerOptions(port=0), told.append))
        assert (await asyncio.to_thread(receiver.recv, 64)) == b"READY=1"
        os.kill(os.getpid(), signal.SIGTERM)
        assert (await asyncio.to_thread(receiver.recv, 64)) == b"STOPPING=1"
        await asyncio.wait_for(serving, 10)
    finally:
        receiver.close()
    assert len(told) == 1
