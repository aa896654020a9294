"""One smoke run for all that looks at real rows, and rows made by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HOUSE = Path(__file__).parents[2]
Row = dict[str, Any]
Bench = Callable[..., "subprocess.CompletedProcess[str]"]


def run_bench(*words: object, cwd: Path = HOUSE, timeout: float = 280) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GANGPLAN_")}
    paths = [path for path in sys.path if path and Path(path).is_dir()]
    return subprocess.run(
        [sys.executable, "-m", "gangplan.cli.main", "bench", *map(str, words)],
        cwd=cwd,
        env=environment | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "120", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


@pytest.fixture
def bench() -> Bench:
    """Runs ``gangplan bench`` with the given words."""
    return run_bench


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """The smoke suite, measured once."""
    file = tmp_path_factory.mktemp("bench") / "rows.jsonl"
    return run_bench("run", "--suite", "smoke", "-o", file), file


@pytest.fixture
def rows(smoke: tuple[subprocess.CompletedProcess[str], Path]) -> list[Row]:
    """Its rows."""
    return [json.loads(line) for line in smoke[1].read_text().splitlines()]


@pytest.fixture
def row() -> Callable[..., Row]:
    """A row by hand: a round of gangplan, answered, with the given fields changed."""

    def make(**changed: Any) -> Row:
        found: Row = {
            "suite": "by-hand",
            "kind": "rounds",
            "instance": "L/steady/50/seed0",
            "who": "gangplan",
            "solver": "auto",
            "pipeline": "auto",
            "transport": "grpc",
            "seed": 0,
            "time_limit_s": 1.2,
            "options": {},
            "code": "abc",
            "revision": "def",
            "status": "FEASIBLE",
            "objective": 99.0,
            "exact_objective": 99.0,
            "objective_in_their_unit": 99.0,
            "bound": 100.0,
            "proved": False,
            "running": 1,
            "gap": 0.01,
            "gap_of_gain": 0.2,
            "first_s": 0.05,
            "first_gap": 0.02,
            "first_gap_of_gain": 0.4,
            "wall_s": 1.1,
            "to_1_percent_s": 0.7,
            "gaps_at": {"1": {"relative": 0.01, "relative_then": 0.011, "of_gain": 0.2}},
            "primal_integral_s": 0.06,
            "curve": [[0.05, 98.0, 101.0], [0.7, 99.0, 100.0]],
            "seconds_by_phase": {"solve": 0.9, "verify": 0.05, "total": 1.0},
            "statistics": {"columns": 1000.0, "options": 900.0, "solver_seconds": 0.8},
            "peak_rss_bytes": 300e6,
            "sum_rss_bytes": 500e6,
            "permuted_same": None,
            "calibration_s": [0.05, 0.06],
            "load": [0.5, 0.6],
            "machine": {"cpu": "a CPU", "cores": 2, "memory_bytes": 2**33},
            "versions": {"python": "3.11.0", "gangplan": "0.1.0"},
        }
        return found | changed

    return make
