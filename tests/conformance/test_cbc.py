"""What CBC needs beyond the conformance suite, since it is another process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from gangplan.bench.formulations.peers import draws
from gangplan.errors import BackendError
from gangplan.model.program import SolveLimit, SolveParameters, SolveStatus
from gangplan.planning.programmes import chronus
from gangplan.testing.programs import KNOWN_ANSWERS, hard_knapsack
from gangplan_solvers import cbc

LONG = (
    "from gangplan.model.program import SolveParameters\n"
    "from gangplan.testing.programs import hard_knapsack\n"
    "from gangplan_solvers.cbc import BACKEND\n"
    "BACKEND.solve(hard_knapsack(200, 10), SolveParameters(time_limit_seconds=60))\n"
)


def children(process: int) -> list[int]:
    """Ids of the processes that ``process`` started and that still run."""
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(condition: object, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.01)
    return False


def test_it_ends_with_a_parent_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", LONG]) as parent:
        try:
            assert until(lambda: children(parent.pid))
            (child,) = children(parent.pid)
        finally:
            parent.send_signal(signal.SIGKILL)
    assert until(lambda: not runs(child))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    what = hard_knapsack(200, 10)
    for limit in (0.0, 0.05, 0.3):
        cbc.BACKEND.solve(what, SolveParameters(time_limit_seconds=limit), np.zeros(200))
    assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert children(os.getpid()) == []


def program_that(tmp_path: Path, does: str) -> Path:
    script = tmp_path / "cbc"
    script.write_text(f"#!/bin/sh\n{does}\n", "ascii")
    script.chmod(0o755)
    return script


def test_one_that_hangs_is_ended_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cbc, "_program", lambda: program_that(tmp_path, "exec sleep 60"))
    start = np.zeros(60)
    began = time.monotonic()
    solution = cbc.BACKEND.solve(hard_knapsack(), SolveParameters(time_limit_seconds=0.5), start)
    assert time.monotonic() - began < 1.5
    assert solution.limit is SolveLimit.TIME
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.values is not None
    assert (solution.values == start).all()
    assert "ended at the time limit" in solution.detail


@pytest.mark.parametrize(
    ("does", "message"),
    [
        ("echo no memory; exit 3", r"exit code 3: no memory"),
        ("kill -SEGV $$", r"exit code -11"),
        ("echo nothing of use", r"says nothing of use"),
        ("exit 0", r"says nothing of use"),
    ],
    ids=["fails", "crashes", "talks", "silent"],
)
def test_one_that_fails_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, message: str
) -> None:
    monkeypatch.setattr(cbc, "_program", lambda: program_that(tmp_path, does))
    with pytest.raises(BackendError, match=message):
        cbc.BACKEND.solve(KNOWN_ANSWERS["knapsack"].program, SolveParameters())


def test_one_that_lies_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OPTIMAL without a solution; infeasible against a start."""
    known = KNOWN_ANSWERS["knapsack"]
    monkeypatch.setattr(
        cbc, "_program", lambda: program_that(tmp_path, "echo Result - Optimal solution found")
    )
    assert cbc.BACKEND.solve(known.program, SolveParameters()).status is SolveStatus.NO_SOLUTION
    monkeypatch.setattr(
        cbc, "_program", lambda: program_that(tmp_path, "echo Result - Problem proven infeasible")
    )
    with pytest.raises(BackendError, match="claims INFEASIBLE, but the start is feasible"):
        cbc.BACKEND.solve(known.program, SolveParameters(), np.array(known.values, dtype=np.float64))


def test_sums_too_large_for_its_tolerance_make_its_infeasible_no_proof() -> None:
    """CBC says INFEASIBLE, though (1, 0) is worth 2: it compares sums of 2^39 with a tolerance of 1e-7."""
    known = KNOWN_ANSWERS["memory-short-by-a-byte"]
    solution = cbc.BACKEND.solve(known.program, SolveParameters())
    assert solution.status is SolveStatus.NO_SOLUTION
    assert solution.bound >= 2.0
    assert "not believed" in solution.detail


def test_availability_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cbc.BACKEND.availability().available
    with monkeypatch.context() as here:
        here.setattr(cbc.platform, "machine", lambda: "sparc")
        found = cbc.BACKEND.availability()
        assert not found.available
        assert "no CBC for sparc" in found.reason
    monkeypatch.setattr(cbc, "_program", lambda: None)
    assert "pip install 'pulp" in cbc.BACKEND.availability().reason


def test_what_it_lets_go_for_a_gap_is_in_its_bound() -> None:
    """It ends with an empty tree, a value .12 % short of the optimum, and no word of a bound."""
    programme = chronus.formulate(draws.chronus(48, 12, seed=2)[0])
    solution = cbc.BACKEND.solve(programme, SolveParameters(relative_gap=0.01, time_limit_seconds=60))
    best = 322.5201752239088  # CP-SAT's, proved
    assert solution.objective is not None
    assert solution.objective <= best + 1e-6
    assert solution.bound >= best
    assert solution.bound <= 1.01 * solution.objective + 1e-3
