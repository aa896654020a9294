"""What the README shows, works."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from gangplan.service.launched import address_of
from gangplan.service.options import ServerOptions
from gangplan.service.server import Server

README = Path(__file__).parents[2] / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


async def test_the_example_in_python_runs_as_it_stands() -> None:
    example, *_ = EXAMPLES
    assert len(example.splitlines()) <= 22

    def run(address: str) -> str:
        printed = io.StringIO()
        names: dict[str, Any] = {}
        with contextlib.redirect_stdout(printed):
            for code in EXAMPLES:
                exec(code.replace("127.0.0.1:50051", address), names)
        return printed.getvalue()

    async with Server(ServerOptions(port=0, slots=1)) as server:
        printed = (await asyncio.to_thread(run, server.address)).splitlines()
    *actions, last, first, second, a, b, c, mean = [x for x in printed if not x.endswith(" simulated")]
    assert len(actions) == 2
    assert all(line.startswith("PLACE train-") for line in actions)
    assert last.startswith("OPTIMAL 16.0 [")
    assert first == "2 start, 1 waits"
    assert second == "2 go on, 1 starts"
    assert [a, b, c] == [f"train-{n} ends after {hours * 3600} s" for n, hours in enumerate((1, 1, 2))]
    assert mean == "mean 4800.0 s, makespan 7200.0 s"


def blocks(heading: str) -> list[list[str]]:
    """The commands below a heading, block by block; one a line."""
    _, _, rest = README.read_text().partition(f"\n## {heading}\n")
    section = rest.partition("\n## ")[0]
    found = re.findall(r"\n\n((?:    .*\n)+)", section)
    return [textwrap.dedent(block).replace("\\\n", " ").splitlines() for block in found]


class Shell:
    """Runs lines of the README, with this checkout's command."""

    def __init__(self, folder: Path, replaced: dict[str, str]) -> None:
        self._folder = folder
        self._replaced = replaced
        bin_ = folder / "bin"
        bin_.mkdir()
        command = bin_ / "gangplan"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m gangplan.cli.main "$@"\n')
        command.chmod(0o755)
        here = Path(sys.executable).parent
        self.env = {**os.environ, "PATH": f"{bin_}{os.pathsep}{here}{os.pathsep}{os.environ['PATH']}"}

    def line(self, line: str) -> str:
        for known, other in self._replaced.items():
            line = line.replace(known, other)
        return line

    def run(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-ec", self.line(line)],
            cwd=self._folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, (line, done.stderr)
        return done.stdout


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_the_commands_of_a_secure_service_work_as_they_stand(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    lines = blocks("Run it in production")[0]
    replaced = {
        "50051": str(free_port()),
        "9090": str(free_port()),
        "scenarios/": f"{README.parent}/scenarios/",
    }
    shell = Shell(tmp_path, replaced)
    printed = {}
    service = None
    try:
        for line in lines:
            verb = line.split()[0]
            if line.endswith("&"):
                more = f"--port {replaced['50051']} --sessions memory --slots 1"
                words = f"exec {shell.line(line).removesuffix('&')} {more}"
                service = subprocess.Popen(
                    ["bash", "-ec", words],
                    cwd=tmp_path,
                    env=shell.env,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                )
                address_of(service, 90, 10)
            elif shutil.which(verb, path=shell.env["PATH"]) is not None:
                printed[verb if verb != "gangplan" else line.split()[1]] = shell.run(line)
    finally:
        assert service is not None
        service.terminate()
        service.wait(30)
        assert service.stdout is not None
        service.stdout.close()
    assert "PLACE" in printed["solve"]
    assert "gangplan.v1.PlacementService" in printed.get("grpcurl", "gangplan.v1.PlacementService")
    assert 'gangplan_calls_total{code="OK",method="PlanRound"} 1.0' in printed.get(
        "curl", 'gangplan_calls_total{code="OK",method="PlanRound"} 1.0'
    )


def test_the_files_to_begin_with_are_there_as_it_says(tmp_path: Path) -> None:
    shell = Shell(tmp_path, {})
    shown = "".join(shell.run(line) for line in blocks("Run it in production")[1])
    assert "port: 50061  # flag --port" in shown
    assert 'host: "0.0.0.0"  # file gangplan.yaml' in shown
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"gangplan.yaml", "Containerfile", "gangplan@.service", "grafana.json", "alerts.yaml"}
    assert all(path.stat().st_size for path in tmp_path.iterdir() if path.is_file())


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Words with which two that tune play what both look at once, and less than the README's."""
    return f"--points 2 --refinements 0 --state {tmp_path_factory.mktemp('tuned') / 'played.jsonl'}"


@pytest.mark.timeout(1200)  # five commands, each of which has 200 s of its own
def test_questions_are_answered_with_pages(tmp_path: Path, played: str) -> None:
    """The large examples with less to play."""
    less = {"scenarios/": f"{README.parent}/scenarios/", "--points 8": played}
    shell = Shell(tmp_path, less)
    for line in blocks("Ask what if")[0]:
        shell.run(line)
    for page in ("compared.html", "answer.html", "front.html"):
        assert "</html>" in (tmp_path / page).read_text(encoding="utf-8")


def test_the_study_of_a_trace_is_one() -> None:
    from gangplan.planning.study.schema import Study

    study = Study.model_validate(yaml.safe_load("\n".join(blocks("Ask what if")[2])))
    assert study.base.trace == "philly.jsonl"


def test_tuning_for_a_wish_works_as_it_stands(tmp_path: Path, played: str) -> None:
    shell = Shell(tmp_path, {"--points 4": played})
    (line,) = blocks("Ask what if")[3]
    said = " ".join(shell.run(line).split())
    assert said.startswith(
        "For completion time, mean at its best with finish-time fairness ratio, worst at most 1.500: "
    )
