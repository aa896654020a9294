"""Sessions in a real PostgreSQL server from the system's packages, on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from gangplan.client import AsyncClient
from gangplan.errors import ServiceError, SessionStoreError
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.server import Server
from gangplan.service.sessions.content import Content, Item, Kind
from gangplan.service.sessions.opened import open_sessions
from gangplan.service.sessions.record import Record
from gangplan.service.wire import write_round
from gangplan.v1 import session_service_pb2, session_service_pb2_grpc

psycopg = pytest.importorskip("psycopg")
USER = "postgres"


def binaries() -> Path | None:
    """Where the server's programs are; None: it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    beside = shutil.which("initdb")
    return None if beside is None else Path(beside).resolve().parent


class Database:
    """A server with a folder of its own; ends with the tests."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.data = programs, folder / "data"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"postgresql://{USER}@127.0.0.1:{self.port}/postgres"
        self.run("initdb", "-D", self.data, "-U", USER, "-A", "trust", "--no-sync")
        self.log = folder / "log"
        self.folder = folder
        self.start()

    def run(self, program: str, *words: object) -> None:
        command = [str(self.programs / program), *map(str, words)]
        user = USER if os.getuid() == 0 else None  # the server refuses to run as root
        subprocess.run(command, check=True, capture_output=True, timeout=60, user=user, cwd=self.data.parent)

    def start(self) -> None:
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder}"
        self.run("pg_ctl", "-D", self.data, "-l", self.log, "-o", options, "-w", "start")

    def stop(self, how: str = "immediate") -> None:
        self.run("pg_ctl", "-D", self.data, "-m", how, "-w", "stop")

    def cut(self) -> int:
        """Cut every other connection; how many."""
        with psycopg.connect(self.url, autocommit=True) as own:
            return len(
                own.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
                ).fetchall()
            )


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    programs = binaries()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="gangplan-postgresql-"))
    if os.getuid() == 0:
        try:
            user = pwd.getpwnam(USER)
        except KeyError:
            pytest.skip(f"there is no user {USER} to run the server as")
        os.chown(folder, user.pw_uid, user.pw_gid)
    database = Database(programs, folder)
    try:
        yield database
    finally:
        database.stop()
        shutil.rmtree(folder)


@contextlib.asynccontextmanager
async def service(planner: Any, url: str) -> AsyncIterator[Server]:
    options = ServerOptions(port=0, sessions=url)
    async with Server(options, placement=Placement(planner, options, sessions=open_sessions(options))) as one:
        yield one


def stub(channel: grpc.aio.Channel) -> Any:
    return session_service_pb2_grpc.SessionServiceStub(channel)


async def test_two_services_share_a_session(database: Database, instant: Any, make_round: Any) -> None:
    async with (
        service(instant, database.url) as one,
        service(instant, database.url) as other,
        grpc.aio.insecure_channel(one.address) as here,
        grpc.aio.insecure_channel(other.address) as there,
    ):
        opening = session_service_pb2.OpenSessionRequest(snapshot=write_round(make_round(jobs=6)))
        state = (await stub(here).OpenSession(iter([opening]))).session
        first = session_service_pb2.ApplyDeltaRequest(
            session_id=state.session_id, base_revision=1, remove_jobs=["job-1"]
        )
        moved = (await stub(there).ApplyDelta(first)).session
        assert moved.revision == 2
        assert (await stub(here).ApplyDelta(first)).session.digest == moved.digest  # it came twice
        asked = session_service_pb2.GetSessionRequest(session_id=state.session_id)
        assert (await stub(here).GetSession(asked)).session.digest == moved.digest

        def racing(channel: grpc.aio.Channel, job: str) -> Any:
            return stub(channel).ApplyDelta(
                session_service_pb2.ApplyDeltaRequest(
                    session_id=state.session_id, base_revision=2, remove_jobs=[job]
                )
            )

        calls = [racing(here, "job-2"), racing(there, "job-3"), racing(here, "job-4"), racing(there, "job-5")]
        done = await asyncio.gather(*calls, return_exceptions=True)
        won = [each for each in done if not isinstance(each, BaseException)]
        assert len(won) == 1
        assert {each.code() for each in done if isinstance(each, grpc.aio.AioRpcError)} == {
            grpc.StatusCode.ABORTED
        }
        now = (await stub(there).GetSession(asked)).session
        assert (now.revision, now.digest) == (3, won[0].session.digest)


async def test_a_connection_that_is_cut_is_made_anew(
    database: Database, instant: Any, make_round: Any
) -> None:
    round_ = make_round(jobs=3)
    async with (
        service(instant, database.url) as one,
        AsyncClient(one.address) as client,
        client.session() as session,
    ):
        await session.plan_round(round_)
        assert database.cut() >= 1
        await session.plan_round(round_)
        database.stop()
        with pytest.raises(ServiceError) as caught:
            await session.plan_round(round_, timeout=3.0)
        assert caught.value.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
        assert str(database.port) not in str(caught.value)
        database.start()
        await session.plan_round(round_)
        assert session.following.resyncs == 0


def test_what_is_cut_before_its_commit_is_undone(database: Database) -> None:
    from gangplan.service.sessions.postgres_store import PostgresStore

    store = PostgresStore(database.url)
    try:
        before = Record("cut", "me", Content.of({(Kind.JOB, "a"): Item(b"1")}))
        assert store.create(before, 1e12)

        def cut_in_the_middle() -> None:
            with store.transaction(write=True) as each:
                each.run("DELETE FROM gangplan_items WHERE session_id = ?", ("cut",))
                assert database.cut() >= 1
                each.run("DELETE FROM gangplan_sessions WHERE session_id = ?", ("cut",))

        with pytest.raises(SessionStoreError):
            cut_in_the_middle()
        assert store.load("cut") == (before, 1e12)
        assert store.delete("cut")
    finally:
        store.close()


def test_a_server_that_is_not_there_is_said_at_the_start() -> None:
    from gangplan.service.sessions.postgres_store import PostgresStore

    with pytest.raises(OSError, match="cannot keep sessions in PostgreSQL"):
        PostgresStore("postgresql://postgres@127.0.0.1:1/postgres")


@pytest.mark.parametrize("url", ["postgresql://me:%zzsecret@host/db", "postgresql://me:secret@[host/db"])
def test_a_url_that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    pytest.importorskip("psycopg")
    from gangplan.service.sessions.postgres_store import PostgresStore

    with pytest.raises(OSError, match="its URL is not") as caught:
        PostgresStore(url)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__
