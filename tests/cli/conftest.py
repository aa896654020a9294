"""Running the command line as a process, in an environment that is the same everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def gangplan(tmp_path: Path) -> Run:
    """Runs ``gangplan`` with the given words in an empty folder."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("GANGPLAN_", "COV_"))
    }
    environment |= {"COLUMNS": "110", "NO_COLOR": "1"}

    def run(*words: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "error", "-m", "gangplan.cli.main", *map(str, words)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=timeout
        )

    return run


SCENARIO = """\
gangplan: scenario/v1
title: three gangs and one too many
accelerators: {H100: 1.0}
nodes:
  - {name: "node-{}", count: 2, type: H100, gpus: 8, cpu: 96, memory: 1Ti}
jobs:
  - {name: "train-{}", count: 3, tasks: 4, gpus: 1, cpu: 8, memory: 64Gi}
  - {name: giant, tasks: 9, gpus: 8, cpu: 8, memory: 64Gi}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small scenario file in which one job can never be placed."""
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path
