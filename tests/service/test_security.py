"""Who may call: tokens of each scope, right and wrong certificates, limits, and what is told to whom."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_status import rpc_status
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.judge import GreedyPlanner
from tests.service.certificates import Authority, Pair
from tests.service.conftest import configured_logs
from typer.testing import CliRunner

from gangplan.cli.main import application
from gangplan.client import AsyncClient, Client, Credentials
from gangplan.domain.round import Round
from gangplan.errors import InvalidInputError, ServiceError, UnauthenticatedError
from gangplan.observe.metrics import Metrics
from gangplan.service.options import ServerOptions
from gangplan.service.security.callers import CallersFile, digest_of, read_callers
from gangplan.service.security.exposure import refuse_exposure
from gangplan.service.security.guard import GuardInterceptor
from gangplan.service.security.rates import Rate, Rates
from gangplan.service.security.scopes import SCOPES, Scope
from gangplan.service.wire import write_round
from gangplan.v1 import (
    placement_service_pb2,
    placement_service_pb2_grpc,
    planning_service_pb2,
    round_pb2,
    session_pb2,
    session_service_pb2,
    session_service_pb2_grpc,
)

TOKENS = {scope: f"token-of-{scope.value}" for scope in Scope}
FILES = (placement_service_pb2, session_service_pb2, planning_service_pb2)
METHODS = {
    f"/{service.full_name}/{method.name}": method
    for file in FILES
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
NOBODY = "UNAUTHENTICATED", "no valid credentials"
FORBIDDEN = "PERMISSION_DENIED", "this caller may not call this method"


@pytest.fixture
def callers(tmp_path: Path) -> Path:
    """One caller of each scope, with its token."""
    path = tmp_path / "callers.yaml"
    write_callers(
        path, *({"name": s.value, "scope": s.value, "token_sha256": [digest_of(TOKENS[s])]} for s in Scope)
    )
    return path


def write_callers(path: Path, *callers: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(callers))  # JSON is YAML


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"), "ours")


@pytest.fixture(scope="module")
def theirs(ours: Authority) -> Authority:
    return Authority(ours.folder, "theirs")


@pytest.fixture(scope="module")
def here(ours: Authority) -> Pair:
    """The certificate of a service on this machine."""
    return ours.issue("127.0.0.1", "localhost")


def over_tls(pair: Pair, **settings: Any) -> dict[str, Any]:
    return {"tls_certificate": pair.certificate, "tls_key": pair.key, **settings}


async def outcome(address: str, credentials: Credentials) -> tuple[str, str]:
    """OK and nothing, or the code and the message of a failure."""
    async with AsyncClient(address, credentials=credentials) as client:
        try:
            # Four tries with a pause between them are many where a certificate will not do.
            await client.get_capabilities(timeout=1.0)
        except ServiceError as error:
            if error.code != "DEADLINE_EXCEEDED":
                return error.code, str(error)
            try:  # the machine is busy
                await client.get_capabilities(timeout=30.0)
            except ServiceError as late:
                return late.code, str(late)
    return "OK", ""


async def code(address: str, credentials: Credentials) -> str:
    return (await outcome(address, credentials))[0]


async def told(channel: grpc.aio.Channel, path: str, token: str | None) -> tuple[str, str]:
    """What becomes of an empty request."""
    method = METHODS.get(path)
    streams = (method.client_streaming, method.server_streaming) if method else (False, False)
    metadata = () if token is None else (("authorization", f"Bearer {token}"),)
    make = {
        (False, False): channel.unary_unary,
        (False, True): channel.unary_stream,
        (True, False): channel.stream_unary,
    }[streams]
    call: Any = make(path)(iter([b""]) if streams[0] else b"", metadata=metadata, timeout=10)
    try:
        if streams[1]:
            async for _ in call:
                pass
        else:
            await call
    except grpc.aio.AioRpcError as error:
        return error.code().name, error.details() or ""
    return "OK", ""


def test_each_method_of_the_contract_has_a_scope() -> None:
    assert set(METHODS) == {path for path in SCOPES if path.startswith("/gangplan.")}


async def test_a_token_of_each_scope_on_every_method(serving: Any, instant: Any, callers: Path) -> None:
    async with (
        serving(instant, callers=callers) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        for path in METHODS:
            for token in (None, "", "token-of-nobody", TOKENS[Scope.ADMIN] + "x"):
                assert await told(channel, path, token) == NOBODY, (path, token)
            for scope in Scope:
                got = await told(channel, path, TOKENS[scope])
                if scope.includes(SCOPES[path]):
                    assert got[0] in {"OK", "INVALID_ARGUMENT", "UNIMPLEMENTED", "NOT_FOUND"}, (path, got)
                else:
                    assert got == FORBIDDEN, (path, scope)
        # Which methods there are, is told to callers only.
        assert await told(channel, "/gangplan.v1.PlacementService/Nothing", None) == NOBODY
        for scope in Scope:
            got = await told(channel, "/gangplan.v1.PlacementService/Nothing", TOKENS[scope])
            assert got[0] == "UNIMPLEMENTED"


async def test_a_session_is_there_for_who_opened_it_and_for_admin(
    serving: Any, tmp_path: Path, make_round: Any
) -> None:
    """Another caller with a token hears what is said of a session that never was, and changes nothing."""
    path = tmp_path / "callers.yaml"
    scopes = {"mine": "plan", "other": "plan", "board": "read", "boss": "admin"}
    write_callers(
        path,
        *({"name": n, "scope": s, "token_sha256": [digest_of(f"of-{n}")]} for n, s in scopes.items()),
    )

    def proof(name: str) -> tuple[tuple[str, str]]:
        return (("authorization", f"Bearer of-{name}"),)

    async def seen_by(name: str, method: Any, request: Any) -> str:
        try:
            call = method(request, metadata=proof(name), timeout=30)
            if hasattr(call, "__aiter__"):
                async for _ in call:
                    pass
            else:
                await call
        except grpc.aio.AioRpcError as error:
            return error.code().name
        return "OK"

    async with (
        serving(GreedyPlanner(), callers=path) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        sessions = session_service_pb2_grpc.SessionServiceStub(channel)
        placement: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
        opening = session_service_pb2.OpenSessionRequest(snapshot=write_round(make_round(jobs=1)))
        opened = await sessions.OpenSession(iter([opening]), metadata=proof("mine"))
        name = opened.session.session_id
        round_ = round_pb2.PlanRoundRequest(
            session=session_pb2.SessionRound(session_id=name, advisory=True), now=opening.snapshot.now
        )
        job = opening.snapshot.jobs[0].name
        asks: list[tuple[Any, Any]] = [
            (sessions.GetSession, session_service_pb2.GetSessionRequest(session_id=name)),
            (
                sessions.ApplyDelta,
                session_service_pb2.ApplyDeltaRequest(session_id=name, base_revision=1, validate_only=True),
            ),
            (placement.PlanRound, round_),
            (placement.StreamRound, placement_service_pb2.StreamRoundRequest(round=round_)),
            (placement.ExplainJob, placement_service_pb2.ExplainJobRequest(round=round_, job=job)),
            (
                placement.RecommendPlacements,
                placement_service_pb2.RecommendPlacementsRequest(round=round_, job=job),
            ),
            (placement.ComputeFairShares, placement_service_pb2.ComputeFairSharesRequest(round=round_)),
            (
                sessions.ReportOutcomes,
                session_service_pb2.ReportOutcomesRequest(
                    session_id=name, plan_id="p1", now=opening.snapshot.now
                ),
            ),
            (sessions.CloseSession, session_service_pb2.CloseSessionRequest(session_id=name)),
        ]
        nowhere = session_service_pb2.GetSessionRequest(session_id="nowhere")
        unknown = await seen_by("other", sessions.GetSession, nowhere)
        for method, request in asks:
            assert await seen_by("other", method, request) == unknown != "OK"
        assert await seen_by("board", *asks[0]) == unknown
        # WhatIf takes no session, whosever it is.
        edits = [placement_service_pb2.RoundEdit(remove_job=job)]
        what_if = placement_service_pb2.WhatIfRequest(round=round_, edits=edits)
        for caller in ("mine", "other", "boss"):
            assert await seen_by(caller, placement.WhatIf, what_if) == "INVALID_ARGUMENT"
        for caller in ("mine", "boss"):
            for method, request in asks[:-1]:
                assert await seen_by(caller, method, request) == "OK", request
        assert await seen_by("boss", *asks[-1]) == "OK"
        assert await seen_by("mine", *asks[0]) == unknown


async def test_probes_need_no_token_and_reflection_does(serving: Any, instant: Any, callers: Path) -> None:
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    async def services(channel: grpc.aio.Channel, token: str | None) -> int:
        metadata = () if token is None else (("authorization", f"Bearer {token}"),)
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        return sum(
            [
                len(answer.list_services_response.service)
                async for answer in stub.ServerReflectionInfo(asked, metadata=metadata)
            ]
        )

    async with (
        serving(instant, callers=callers, health_port=0) as server,
        grpc.aio.insecure_channel(server.address) as channel,
        grpc.aio.insecure_channel(server.health_address) as probe,
    ):
        for open_to_all in (channel, probe):
            health = health_pb2_grpc.HealthStub(open_to_all)
            answer = await health.Check(health_pb2.HealthCheckRequest())
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        assert await told(probe, "/gangplan.v1.PlacementService/ListSolvers", TOKENS[Scope.ADMIN]) == (
            "UNIMPLEMENTED",
            "Method not found!",
        )
        assert await services(channel, TOKENS[Scope.READ]) >= 4
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await services(channel, None)
    assert (refused.value.code().name, refused.value.details()) == NOBODY


@pytest.mark.parametrize(
    "value",
    [
        "token-of-plan",  # without a scheme
        "Basic dG9rZW4tb2YtcGxhbg==",
        "Bearer",
        "Bearer token-of-plan, Bearer token-of-admin",
    ],
)
async def test_a_token_in_another_dress_is_none(
    serving: Any, instant: Any, callers: Path, value: str
) -> None:
    async with (
        serving(instant, callers=callers) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        ask = channel.unary_unary("/gangplan.v1.PlacementService/GetCapabilities")
        for metadata in [(("authorization", value),), (("authorization", "Bearer token-of-plan"),) * 2]:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await ask(b"", metadata=metadata)
            assert (refused.value.code().name, refused.value.details()) == NOBODY


async def test_neither_the_log_nor_an_error_holds_a_token(
    serving: Any, instant: Any, callers: Path, make_round: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with configured_logs("debug"):
        async with serving(instant, callers=callers) as server:
            for token in (TOKENS[Scope.PLAN], "token-of-nobody"):
                credentials = Credentials(token=token)
                assert token not in repr(credentials)
                async with AsyncClient(server.address, credentials=credentials) as client:
                    try:
                        await client.plan_round(make_round())
                    except ServiceError as error:
                        assert (error.code, str(error)) == NOBODY  # noqa: PT017
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    calls = {line["code"]: line for line in lines if line["event"] == "call"}
    assert calls["OK"]["caller"] == "plan"
    assert "caller" not in calls["UNAUTHENTICATED"]
    assert calls["OK"]["incident"] != calls["UNAUTHENTICATED"]["incident"]
    assert not [
        line for line in lines if "token-of" in json.dumps(line) or digest_of(TOKENS[Scope.PLAN]) in line
    ]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("right", "OK"),
        ("expired", "UNAVAILABLE"),
        ("self-signed", "UNAVAILABLE"),
        ("another name", "UNAVAILABLE"),
    ],
)
async def test_a_client_takes_only_the_right_certificate(
    serving: Any, instant: Any, ours: Authority, theirs: Authority, here: Pair, kind: str, expected: str
) -> None:
    pair = {
        "right": lambda: here,
        "expired": lambda: ours.issue("127.0.0.1", expired=True),
        "self-signed": lambda: theirs.issue("127.0.0.1"),
        "another name": lambda: ours.issue("elsewhere.example"),
    }[kind]()
    async with serving(instant, **over_tls(pair)) as server:
        assert await code(server.address, Credentials(ca=ours.file)) == expected
        if kind == "another name":
            named = Credentials(ca=ours.file, server_name="elsewhere.example")
            assert await code(server.address, named) == "OK"
        if kind == "right":
            assert await code(server.address, Credentials()) == "UNAVAILABLE"  # in the clear


async def test_a_service_takes_only_the_right_certificates(
    serving: Any, instant: Any, ours: Authority, theirs: Authority, here: Pair
) -> None:
    def showing(pair: Pair) -> Credentials:
        return Credentials(ca=ours.file, certificate=pair.certificate, key=pair.key)

    async with serving(instant, **over_tls(here, client_ca=ours.file)) as server:
        assert await code(server.address, showing(ours.issue("kueue.example"))) == "OK"
        for wrong in (
            Credentials(ca=ours.file),
            showing(ours.issue("kueue.example", expired=True)),
            showing(theirs.issue("kueue.example")),
        ):
            assert await code(server.address, wrong) == "UNAVAILABLE"


async def test_certificates_have_names_and_names_have_scopes(
    serving: Any, instant: Any, ours: Authority, here: Pair, tmp_path: Path, make_round: Any
) -> None:
    path = tmp_path / "callers.yaml"
    token = "token-of-kueue"
    write_callers(
        path,
        {"name": "board", "scope": "read", "certificate": "board.example"},
        {"name": "kueue", "scope": "plan", "certificate": "kueue", "token_sha256": [digest_of(token)]},
    )

    async def plans(address: str, pair: Pair, token: str = "") -> str:
        credentials = Credentials(ca=ours.file, certificate=pair.certificate, key=pair.key, token=token)
        async with AsyncClient(address, credentials=credentials) as client:
            try:
                await client.plan_round(make_round())
            except ServiceError as error:
                return error.code
        return "OK"

    board, stranger = ours.issue("board.example"), ours.issue("stranger.example")
    kueue = ours.issue("10.0.0.1", common_name="kueue")
    async with serving(instant, **over_tls(here, client_ca=ours.file, callers=path)) as server:
        assert await plans(server.address, board) == "PERMISSION_DENIED"
        assert await plans(server.address, kueue) == "OK"
        assert await plans(server.address, stranger) == "UNAUTHENTICATED"
        assert await plans(server.address, stranger, token) == "OK"  # a token counts more
        assert await plans(server.address, kueue, "token-of-nobody") == "UNAUTHENTICATED"


async def test_certificates_are_replaced_without_a_restart(
    serving: Any, instant: Any, ours: Authority, theirs: Authority
) -> None:
    pair = ours.issue("127.0.0.1", to="replaced")
    trusts_ours, trusts_theirs = Credentials(ca=ours.file), Credentials(ca=theirs.file)
    async with (
        serving(instant, **over_tls(pair)) as server,
        AsyncClient(server.address, credentials=trusts_ours) as kept,
    ):
        assert await code(server.address, trusts_ours) == "OK"
        await kept.get_capabilities()
        pair.certificate.write_text("half of a cert")  # while it is being written
        assert await code(server.address, trusts_ours) == "OK"
        ours_before = pair.key.read_bytes()
        theirs_now = theirs.issue("127.0.0.1")
        pair.certificate.write_bytes(theirs_now.certificate.read_bytes())  # and its key a moment later
        assert pair.key.read_bytes() == ours_before
        assert await code(server.address, trusts_ours) == "OK"
        pair.key.write_bytes(theirs_now.key.read_bytes())
        assert await code(server.address, trusts_theirs) == "OK"
        assert await code(server.address, trusts_ours) == "UNAVAILABLE"
        await kept.get_capabilities()  # who is connected stays connected


def write(path: Path, content: str) -> None:
    path.write_text(content)


async def test_a_connection_does_not_outlive_its_certificates_for_long(
    serving: Any, instant: Any, ours: Authority, theirs: Authority, here: Pair, tmp_path: Path
) -> None:
    trusted = tmp_path / "clients.pem"
    shutil.copyfile(ours.file, trusted)
    mine = ours.issue("kueue.example")
    credentials = Credentials(ca=ours.file, certificate=mine.certificate, key=mine.key)
    set_up = over_tls(here, client_ca=trusted, connection_seconds=0.5)
    async with (
        serving(instant, **set_up) as server,
        AsyncClient(server.address, credentials=credentials) as kept,
    ):
        ends = asyncio.get_running_loop().time() + 2.0
        while asyncio.get_running_loop().time() < ends:
            await kept.list_solvers()  # a connection that ends costs no call
            await asyncio.sleep(0.02)
        shutil.copyfile(theirs.file, trusted)
        for _ in range(60):
            if (found := await refused(kept)) == "UNAVAILABLE":
                break
            await asyncio.sleep(0.5)
        assert found == "UNAVAILABLE"


async def refused(client: AsyncClient) -> str:
    try:
        await client.get_capabilities(timeout=1.0)
    except ServiceError as error:
        return error.code
    return "OK"


async def test_the_command_proves_who_asks_which_solvers_there_are(
    serving: Any, instant: Any, callers: Path, ours: Authority, here: Pair, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(TOKENS[Scope.READ])
    async with serving(instant, callers=callers, **over_tls(here)) as server:
        words = ["solvers", "-o", "json", "--address", server.address, "--ca", str(ours.file)]
        ask = functools.partial(CliRunner().invoke, application("solvers"))
        known = await asyncio.to_thread(ask, [*words, "--token-file", str(token)])
        unknown = await asyncio.to_thread(ask, words)
    assert {"highs", "cpsat"} <= {solver["name"] for solver in json.loads(known.stdout)}
    assert unknown.exit_code != 0
    assert "UNAUTHENTICATED" in unknown.stderr


async def test_callers_are_replaced_without_a_restart(serving: Any, instant: Any, callers: Path) -> None:
    old, new = Credentials(token=TOKENS[Scope.PLAN]), Credentials(token="a-new-one")
    async with serving(instant, callers=callers) as server:
        assert [await code(server.address, each) for each in (old, new)] == ["OK", "UNAUTHENTICATED"]
        replaced = callers.with_suffix(".new")
        write_callers(replaced, {"name": "p", "scope": "plan", "token_sha256": [digest_of("a-new-one")]})
        replaced.rename(callers)
        assert [await code(server.address, each) for each in (old, new)] == ["UNAUTHENTICATED", "OK"]
        write(callers, "- name: [")
        assert [await code(server.address, each) for each in (old, new)] == ["UNAUTHENTICATED", "OK"]
        await asyncio.to_thread(callers.unlink)
        assert [await code(server.address, each) for each in (old, new)] == ["UNAUTHENTICATED", "OK"]


async def test_a_caller_that_calls_too_often_is_told_when_to_come_back(
    serving: Any, instant: Any, tmp_path: Path
) -> None:
    path = tmp_path / "callers.yaml"
    busy = {"name": "busy", "scope": "plan", "token_sha256": [digest_of("busy")]}
    other = {"name": "other", "scope": "plan", "token_sha256": [digest_of("other")]}
    write_callers(path, {**busy, "calls_per_second": 0.01, "burst": 2}, other)
    method = "/gangplan.v1.PlacementService/ListSolvers"
    async with serving(instant, callers=path) as server, grpc.aio.insecure_channel(server.address) as channel:
        assert [(await told(channel, method, "busy"))[0] for _ in range(2)] == ["OK", "OK"]
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await channel.unary_unary(method)(b"", metadata=(("authorization", "Bearer busy"),))
        assert (await told(channel, method, "other"))[0] == "OK"
        denied = server.metrics.registry.get_sample_value(
            "gangplan_calls_denied_total", {"reason": "RATE_LIMITED"}
        )
    assert denied == 1
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    status = rpc_status.from_call(refused.value)
    assert status is not None
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(retry)
    assert info.reason == "RATE_LIMITED"
    assert 90 < retry.retry_delay.seconds <= 100


async def test_the_service_gives_every_caller_a_rate(serving: Any, instant: Any, make_round: Any) -> None:
    async with serving(instant, calls_per_second=0.01, burst=1) as server:
        for name in ("a", "b"):
            async with AsyncClient(server.address, name=name) as client:
                await client.plan_round(make_round())
                with pytest.raises(ServiceError) as refused:
                    await client.plan_round(make_round(), timeout=30)
                assert refused.value.service_reason == "RATE_LIMITED"


async def test_a_caller_may_send_so_much_and_no_more(
    serving: Any, instant: Any, tmp_path: Path, make_round: Callable[..., Round]
) -> None:
    path = tmp_path / "callers.yaml"
    small = {"name": "s", "scope": "plan", "token_sha256": [digest_of("small")], "max_request_mib": 0.002}
    large = {"name": "l", "scope": "plan", "token_sha256": [digest_of("large")]}
    write_callers(path, small, large)
    async with serving(instant, callers=path) as server:
        for token in ("small", "large"):
            async with AsyncClient(server.address, credentials=Credentials(token=token)) as client:
                await client.plan_round(make_round())
                for ask in (client.plan_round, client.session().plan_round):
                    if token == "large":
                        await ask(make_round(jobs=200))
                        continue
                    with pytest.raises(ServiceError) as refused:
                        await ask(make_round(jobs=200))
                    assert refused.value.service_reason == "REQUEST_TOO_LARGE"
                    assert "2097 bytes" in str(refused.value)


@pytest.fixture
def guard(callers: Path) -> GuardInterceptor:
    return GuardInterceptor(CallersFile(callers), certificates=False, rate=None, metrics=Metrics())


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["authorization", "Authorization", "x-token"]),
            st.one_of(
                st.text(max_size=30), st.binary(max_size=30), st.sampled_from(["Bearer ", "bearer", ""])
            ),
        ),
        max_size=3,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_call_says_of_itself_only_a_token_lets_it_in(
    guard: GuardInterceptor, metadata: list[tuple[str, str | bytes]]
) -> None:
    with pytest.raises(UnauthenticatedError):
        guard._by_token(metadata)
    right = ("authorization", f"Bearer {TOKENS[Scope.PLAN]}")
    others = [each for each in metadata if each[0] != "authorization"]
    known = guard._by_token([*others, right])
    assert known is not None
    assert (known.name, known.scope) == ("plan", Scope.PLAN)


def test_a_bucket_never_lets_more_through_than_it_may() -> None:
    now = 0.0
    rates = Rates(clock=lambda: now, most=2)
    rate = Rate(per_second=2.0, burst=3)
    through = 0
    for step in range(1000):
        now = step * 0.1
        wait = rates.take("a", rate)
        through += wait == 0
        assert through <= rate.burst + rate.per_second * now + 1e-6
        assert wait <= 1 / rate.per_second
    assert through >= rate.per_second * 99
    for caller in "bcd":
        rates.take(caller, rate)
    assert len(rates) == 2


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, []),
        ({"host": "localhost"}, []),
        ({"host": "::1", "metrics_port": 0, "metrics_host": "127.0.0.2"}, []),
        ({"host": "0.0.0.0"}, ["host"]),
        ({"host": "::", "metrics_port": 0}, ["host"]),
        ({"host": "gpu-master", "metrics_port": 0, "metrics_host": "10.1.1.1"}, ["host", "metrics_host"]),
        ({"host": "10.1.1.1", "insecure": True}, []),
        ({"host": "10.1.1.1", "callers": Path("c")}, ["host"]),
        ({"host": "10.1.1.1", "tls_certificate": Path("c"), "tls_key": Path("k")}, ["host"]),
        ({"host": "10.1.1.1", "tls_certificate": Path("c"), "tls_key": Path("k"), "callers": Path("c")}, []),
        (
            {"host": "10.1.1.1", "tls_certificate": Path("c"), "tls_key": Path("k"), "client_ca": Path("c")},
            [],
        ),
        (
            {
                "host": "10.1.1.1",
                "metrics_port": 0,
                "metrics_host": "10.1.1.1",
                "tls_certificate": Path("c"),
                "tls_key": Path("k"),
                "client_ca": Path("c"),
            },
            ["metrics_host"],
        ),
        ({"tls_certificate": Path("c")}, ["tls_key"]),
        ({"tls_key": Path("c"), "client_ca": Path("c")}, ["tls_cert", "client_ca"]),
    ],
)
def test_nobody_is_let_in_by_default(settings: dict[str, Any], fields: list[str]) -> None:
    options = dataclasses.replace(ServerOptions(), **settings)
    if not fields:
        refuse_exposure(options)
        return
    with pytest.raises(InvalidInputError) as refused:
        refuse_exposure(options)
    assert [violation.field for violation in refused.value.violations] == fields


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("- name: a\n  scope: plan\n- name: a\n  scope: read\n", ":3: [1].name: is another caller's as well"),
        ("- name: a\n  scope: everything\n", ":2: [0].scope: Input should be 'read', 'plan' or 'admin'"),
        ("- name: a\n  scope: plan\n  tokens: x\n", ":3: [0].tokens: Extra inputs are not permitted"),
        ("- name: a b\n  scope: plan\n", ":1: [0].name: Value error, must be letters"),
        ("- {name: a, scope: plan, token_sha256: [hunter2]}\n", ":1: [0].token_sha256: Value error, must be"),
        ("a: [\n", ": is no YAML"),
        ("- {name: a, scope: plan, calls_per_second: .inf}\n", "calls_per_second"),
        ("a: 1\n", "Input should be a valid list"),
    ],
)
def test_a_callers_file_at_fault_says_where_and_tells_no_value(
    tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "callers.yaml"
    path.write_text(content)
    with pytest.raises(InvalidInputError) as refused:
        read_callers(path)
    assert said in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_an_empty_callers_file_lets_nobody_in(tmp_path: Path) -> None:
    path = tmp_path / "callers.yaml"
    path.write_text("# nobody yet\n")
    assert CallersFile(path).by_token("") is None
    assert CallersFile(path).by_certificate([""]) is None


def test_a_token_does_not_travel_in_the_clear() -> None:
    with pytest.raises(InvalidInputError, match="in the clear"):
        Client("gpu-master:50051", credentials=Credentials(token="secret"))
    Client("[::1]:50051", credentials=Credentials(token="secret")).close()
    Client("gpu-master:50051", credentials=Credentials(token="secret", tls=True)).close()


def test_a_client_takes_its_credentials_from_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-a-file\n")
    credentials = Credentials.from_environment(
        {"GANGPLAN_TOKEN_FILE": str(file), "GANGPLAN_CA": "ca.pem", "GANGPLAN_SERVER_NAME": "s"}
    )
    assert credentials == Credentials(ca=Path("ca.pem"), token_file=file, server_name="s")
    assert credentials.metadata() == (("authorization", "Bearer from-a-file"),)
    file.write_text("another\n")
    assert credentials.metadata() == (("authorization", "Bearer another"),)
    assert Credentials.from_environment({}) == Credentials()
    assert not Credentials.from_environment({"GANGPLAN_TLS": "0"}).over_tls


async def test_the_synchronous_client_shows_them_too(
    serving: Any, instant: Any, ours: Authority, here: Pair, callers: Path
) -> None:
    def ask(address: str, token: str) -> str:
        credentials = Credentials(ca=ours.file, token=token)
        with Client(address, credentials=credentials) as client:
            try:
                return client.get_capabilities().version
            except ServiceError as error:
                return error.code

    async with serving(instant, **over_tls(here, callers=callers)) as server:
        answers = [
            await asyncio.to_thread(ask, server.address, token) for token in (TOKENS[Scope.READ], "no")
        ]
    assert answers[0].startswith("gangplan ")
    assert answers[1] == "UNAUTHENTICATED"
