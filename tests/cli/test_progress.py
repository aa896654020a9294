"""``solve --progress``: improvements on standard error, nothing but the answer on standard output."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gangplan.cli.render.progress import Progress
from gangplan.domain.plan import Plan, Quality, RoundResult, Stage, TerminationLimit, TerminationReason

RESULT = RoundResult(
    plan=Plan(),
    verdicts=(),
    notices=(),
    quality=Quality(9.5, 10.0, 0.5, 0.05, 0.25, 8.0),
    reason=TerminationReason.FEASIBLE,
    limit=TerminationLimit.TIME,
    seconds_by_phase={"total": 1.5},
)


def test_every_improvement_is_a_line_on_standard_error(gangplan: Any, scenario: Path) -> None:
    done = gangplan("solve", scenario, "-o", "json", "--progress")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    lines = [line.split() for line in done.stderr.splitlines()]
    assert lines[0][0] in {"greedy", "keep_and_fill"}  # the second where the machine is slow
    assert "gain" not in lines[0]  # of which the floor or the bound is not known yet
    assert lines[-1][0] == "answer"
    for words in lines[1:]:
        assert {"value", "bound", "gap", "gain"} <= set(words)
    assert float(lines[-1][lines[-1].index("value") + 1]) == answer["quality"]["objective"]
    assert {words[0] for words in lines[:-1]} <= {stage["name"] for stage in answer["stages"]}
    assert "\x1b" not in done.stderr


def test_without_the_flag_nothing_is_said(gangplan: Any, scenario: Path) -> None:
    assert gangplan("solve", scenario, "--pipeline", "greedy").stderr == ""


def test_a_table_and_an_error_are_as_without_it(gangplan: Any, scenario: Path, tmp_path: Path) -> None:
    quiet = gangplan("solve", scenario, "--pipeline", "greedy")
    told = gangplan("solve", scenario, "--pipeline", "greedy", "--progress")
    assert told.stdout.splitlines()[0] == quiet.stdout.splitlines()[0]
    missing = gangplan("solve", tmp_path / "none.yaml", "--progress")
    assert missing.returncode == 3
    assert "none.yaml" in missing.stderr


def test_a_terminal_has_one_line_that_changes(scenario: Path) -> None:
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "110", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "gangplan.cli.main", "solve", str(scenario), "-o", "json", "--progress"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=follower, env=environment) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                part = os.read(leader, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.stdout is not None
        answer = json.loads(process.stdout.read())
    os.close(leader)
    assert answer["verified"] is True
    text = shown.decode()
    assert "\r\x1b[2K" in text  # the line is written anew in its place
    last = text.split("\x1b[2K")[-1]
    assert last.startswith("answer")
    assert "value 12.000  bound 12.000  gap 0 %  of gain 0 %" in last


def lines_of(capsys: pytest.CaptureFixture[str], *stages: Stage) -> list[str]:
    with Progress() as progress:
        for stage in stages:
            progress.stage(stage)
        progress.finish(RESULT)
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err.splitlines()


def test_without_a_floor_nothing_is_said_of_gain(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(
        capsys,
        Stage("greedy", 0.01, 9.0, 12.0),
        Stage("keep_and_fill", 0.02, 8.0, 12.0),
        Stage("better", 1.2, 9.5, 11.0),
    )
    assert [line.split()[0] for line in lines] == ["greedy", "better", "answer"]
    assert lines[0].endswith("10 ms  value 9.000  bound 12.000  gap 25.0 %")
    assert lines[1].endswith("1.20 s  value 9.500  bound 11.000  gap 13.6 %  of gain 50.0 %")


def test_what_is_no_improvement_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(
        capsys,
        Stage("keep_and_fill", 0.01, 8.0, None),
        Stage("greedy", 0.1, 9.0, 12.0),
        Stage("worse", 0.2, 8.5, 12.0),
        Stage("rejected", 0.3, None, 11.0),
        Stage("lower", 0.4, 8.9, 11.0),
        Stage("better", 1.2, 9.5, 11.0),
    )
    assert [line.split()[0] for line in lines] == ["keep_and_fill", "greedy", "lower", "better", "answer"]
    assert lines[0].split() == ["keep_and_fill", "10", "ms", "value", "8.000"]
    assert lines[1].endswith("100 ms  value 9.000  bound 12.000  gap 25.0 %  of gain 75.0 %")
    assert lines[2].endswith("400 ms  value 9.000  bound 11.000  gap 18.2 %  of gain 66.7 %")
    assert lines[3].endswith("1.20 s  value 9.500  bound 11.000  gap 13.6 %  of gain 50.0 %")
    assert lines[4].endswith("1.50 s  value 9.500  bound 10.000  gap 5.0 %  of gain 25.0 %")


def test_a_round_without_candidates_ends_quietly(capsys: pytest.CaptureFixture[str]) -> None:
    assert [line.split()[0] for line in lines_of(capsys)] == ["answer"]


def test_an_unknown_proposer_ends_with_3(gangplan: Any, scenario: Path) -> None:
    done = gangplan("solve", scenario, "--proposer", "oracle", "--proposer", "augur")
    assert (done.returncode, done.stdout) == (3, "")
    assert "no proposer 'oracle'" in done.stderr


def test_an_unknown_step_ends_with_3(gangplan: Any, scenario: Path) -> None:
    done = gangplan("solve", scenario, "--step", "branching=1", "--step", "fruitless=0")
    assert done.returncode == 3
    assert "'branching=1' is no NAME=VALUE of a step" in done.stderr
