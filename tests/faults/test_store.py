"""The sessions' database is locked, its disk is full, the machine's clock is stepped."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.caller import Caller, Failed
from tests.faults.in_process import InProcess
from tests.faults.instants import Instants
from tests.service.conftest import round_of

from gangplan.errors import UnknownSessionError
from gangplan.service.sessions import sqlite_store
from gangplan.service.sessions.sqlite_store import SqliteStore
from gangplan.service.sessions.store import MemoryStore

_STEPS = 6
_SPACE = 640 * 1024


def recovered(caller: Caller, within: float = 30.0) -> float:
    """Seconds until the caller has its session again, and goes on with it."""
    began = time.monotonic()
    while True:
        try:
            caller.recover()
            caller.change()
        except Failed:
            assert time.monotonic() - began < within
            time.sleep(0.01)
        else:
            return time.monotonic() - began


@contextlib.contextmanager
def locking(path: Path, after: float, seconds: float) -> Iterator[threading.Thread]:
    """Somebody else holds the database's write lock for a while, as long as the thread lives."""

    def lock() -> None:
        time.sleep(after)
        with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=5.0)) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            other.execute("ROLLBACK")

    thread = threading.Thread(target=lock)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()


def test_the_database_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_store, "_BUSY_SECONDS", 0.1)  # so that half of the locks outlast it
    instants = Instants("database locked")
    for instant in instants:
        rng, path = instant.rng, tmp_path / f"{instant.number}.db"
        store = SqliteStore(path)
        caller = Caller(InProcess(store), round_of(jobs=4), rng)
        with locking(path, rng.uniform(0, 0.05), rng.uniform(0.02, 0.4)) as lock:
            while lock.is_alive():
                try:
                    caller.step()
                except Failed:
                    instants.count("calls refused")
                    break
        instants.recovered.append(recovered(caller))
        store.close()
        again = SqliteStore(path)  # and from the disk
        caller.talk = InProcess(again)
        caller.recover()
        again.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with hardly any room."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_SPACE}", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system can only be mounted by root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, leave: int) -> Path:
    """A file that takes all room but ``leave`` bytes."""
    stuffing = folder / "stuffing"
    room = os.statvfs(folder)
    with stuffing.open("wb") as file, contextlib.suppress(OSError):
        file.write(bytes(max(0, room.f_bavail * room.f_frsize - leave)))
    return stuffing


def test_the_disk_is_full(small_disk: Path) -> None:
    instants = Instants("disk full")
    for instant in instants:
        rng, path = instant.rng, small_disk / "sessions.db"
        store = SqliteStore(path)
        caller = Caller(InProcess(store), round_of(jobs=4), rng)
        for _ in range(rng.randrange(_STEPS)):
            caller.step()
        stuffing = fill(small_disk, leave=rng.randrange(0, 40_000))
        for _ in range(40):
            try:
                caller.step()
            except Failed:
                instants.count("calls refused")
                break
        stuffing.unlink()
        instants.recovered.append(recovered(caller))
        store.close()
        again = SqliteStore(path)
        caller.talk = InProcess(again)
        caller.recover()
        again.close()
        for file in small_disk.iterdir():
            file.unlink()


class Clock:
    """Seconds since the epoch, stepped by a test."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("kept", ["memory", "sqlite"])
def test_the_clock_is_stepped(tmp_path: Path, kept: str) -> None:
    """Back, it changes nothing; forward, it may end a session and never makes it another one."""
    instants = Instants(f"clock stepped ({kept})", share=0.5)
    for instant in instants:
        rng, clock = instant.rng, Clock(1_767_225_600.0)
        store = MemoryStore() if kept == "memory" else SqliteStore(tmp_path / f"{instant.number}.db")
        caller = Caller(InProcess(store, clock=clock, time_to_live=3600.0), round_of(jobs=4), rng)
        for _ in range(_STEPS):
            clock.now += step_of(rng)
            try:
                caller.step()
            except UnknownSessionError:
                instants.count("sessions expired")
                caller = Caller(caller.talk, round_of(jobs=4), rng)  # a resync, as every client does
        began = time.monotonic()
        with contextlib.suppress(UnknownSessionError):
            clock.now -= 1e6
            caller.recover()
            caller.change()
            instants.recovered.append(time.monotonic() - began)
        store.close()


def step_of(rng: random.Random) -> float:
    """A little on, a leap second, a wrong time zone, a battery that was empty."""
    return rng.choice((0.1, 1.0, -1.0, 1800.0, 3599.0, -3600.0, 7200.0, -1e6, 1e6)) * rng.random()
