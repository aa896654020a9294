"""The example clients in other languages, built from the same contract, against a real service."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gangplan.client import Client
from gangplan.domain.round import Round
from gangplan.planning.scenario import expand, load
from gangplan.service.files import save_message
from gangplan.service.launched import address_of
from gangplan.service.wire import write_round

HOUSE = Path(__file__).parents[2]
EXAMPLES = Path(__file__).parent
PROTO = HOUSE / "proto"
GO_MODULES = Path("/usr/share/gocode/src/google.golang.org")


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    command = [sys.executable, "-m", "gangplan.cli.main", "serve", "--port", "0", "--sessions", "memory"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=os.environ
    ) as process:
        try:
            yield address_of(process, 100.0, 10.0)
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def round_() -> Round:
    return expand(load(HOUSE / "scenarios" / "preemption-worth-it.yaml"))


@pytest.fixture
def file(tmp_path: Path, round_: Round) -> Path:
    path = tmp_path / "round.pb"
    save_message(path, write_round(round_))
    return path


def built(command: list[str], folder: Path, why: str, seconds: float = 90, **environment: str) -> None:
    """Run a step that needs what other machines may not have."""
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={**os.environ, **environment},
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{why}: it took more than {seconds:g} s")
    if done.returncode:
        pytest.skip(f"{why}: {done.stderr.strip().splitlines()[-1:] or done.stdout[-200:]}")


def same_as_ours(address: str, round_: Round, command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    with Client(address) as client:
        ours = client.plan_round(round_)
    assert told["verified"] is True
    assert told["objective"] == pytest.approx(ours.quality.objective)
    assert told["actions"] == [[f"ACTION_KIND_{a.kind.value}", a.job] for a in ours.plan.actions]
    assert told["waiting"] == [verdict.job for verdict in ours.verdicts]


@pytest.mark.timeout(300)
def test_node(service: str, round_: Round, file: Path, tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("no node and npm here")
    folder = tmp_path / "node"
    shutil.copytree(EXAMPLES / "node", folder)
    install = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
    built(install, folder, "the packages cannot be had here")
    same_as_ours(service, round_, [node, "plan.js", service, str(PROTO), str(file)], folder)


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_go(service: str, round_: Round, file: Path, tmp_path: Path) -> None:
    """In GOPATH mode, with Debian's modules; to compile gRPC takes a minute or two."""
    go, protoc, plugin = (shutil.which(name) for name in ("go", "protoc", "protoc-gen-go"))
    if go is None or protoc is None or plugin is None or not (GO_MODULES / "protobuf").is_dir():
        pytest.skip(
            "no Go toolchain here; of Debian: golang-go, golang-google-{grpc,protobuf}-dev, protoc-gen-go-1-5"
        )
    source = tmp_path / "gopath" / "src"
    source.mkdir(parents=True)
    files = sorted(str(path.relative_to(PROTO)) for path in PROTO.glob("gangplan/v1/*.proto"))
    where = ",".join(f"M{name}=gangplan/v1" for name in files)
    built(
        [protoc, f"-I{PROTO}", f"--go_out=plugins=grpc,paths=source_relative,{where}:{source}", *files],
        tmp_path,
        "no code can be generated here",
    )
    shutil.copytree(EXAMPLES / "go", source / "plan")
    built(
        [go, "build", "-o", str(tmp_path / "plan"), "plan"],
        tmp_path,
        "it cannot be built here",
        seconds=600,
        GO111MODULE="off",
        GOPATH=f"{tmp_path / 'gopath'}:/usr/share/gocode",
        GOCACHE=str(tmp_path / "cache"),
        GOFLAGS="",
    )
    same_as_ours(service, round_, [str(tmp_path / "plan"), service, str(file)], tmp_path)
