"""``gangplan simulate`` as a process."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from tests.cli.conftest import Run

INVALID_INPUT = 3
SCENARIO = """\
gangplan: scenario/v1
title: two jobs on one device
accelerators: {H100: 1.0}
nodes: [{name: n, type: H100, gpus: 1, cpu: 8, memory: 64Gi}]
jobs:
  - {name: "j-{}", count: 2, gpus: 1, cpu: 1, memory: 1Gi, work: 10m}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.yaml"
    path.write_text(SCENARIO)
    return path


def test_json_has_the_run_its_metrics_and_its_jobs(gangplan: Run, file: Path) -> None:
    done = gangplan("simulate", file, "--policy", "fifo", "--told", "unknown", "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert set(found) == {"run", "metrics", "jobs"}
    assert (found["run"]["policy"], found["run"]["told"]) == ("fifo", "unknown")
    assert (found["metrics"]["jobs"], found["metrics"]["makespan"]) == (2, 1200.0)
    assert [job["finished"] for job in found["jobs"]] == [600.0, 1200.0]


def test_a_table_says_what_the_policy_was_told(gangplan: Run, file: Path) -> None:
    done = gangplan("simulate", file, "--policy", "fifo", "--told", "noisy", "--noise", "0.2")
    assert done.returncode == 0
    assert done.stdout.startswith("two jobs on one device: fifo, durations off by up to 20 %, 4 rounds")
    assert "jobs ended" in done.stdout
    assert "2 of 2" in done.stdout


def test_policies_are_listed(gangplan: Run) -> None:
    done = gangplan("simulate", "small/seed0", "--policy", "list")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == sorted(
        line.split()[0] for line in done.stdout.splitlines()
    )
    assert "fifo" in done.stdout
    matches = [re.match(r"\S+  +", line) for line in done.stdout.splitlines()]
    assert len({match and match.end() for match in matches}) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("small/seed0", "--policy", "nobody"), "fifo, fifo-strict"),
        (("tiny/seed0",), "is none of small/seedN, interactive/seedN and"),
        (("nowhere.yaml",), "cannot be read"),
    ],
)
def test_what_cannot_be_simulated_is_said(gangplan: Run, words: tuple[str, ...], said: str) -> None:
    done = gangplan("simulate", *words)
    assert done.returncode == INVALID_INPUT
    assert done.stdout == ""
    assert said in done.stderr


CLUSTER = """\
gangplan: scenario/v1
accelerators: {V100: 1.0}
nodes: [{name: "n-{}", count: 2, type: V100, gpus: 4}]
simulation: {checkpoint_every: 1m}
"""
TRACE = """\
{"kind":"header","format":"gangplan-trace/v1","name":"three"}
{"kind":"job","id":"a","submit_s":50.0,"groups":[{"tasks":8}],"duration_s":86400.0,"deadline_s":90000.0}
{"kind":"job","id":"b","submit_s":60.0,"groups":[{}],"duration_s":600.0}
{"kind":"job","id":"c","submit_s":60.0,"groups":[{"tasks":9}],"duration_s":600.0}
{"kind":"end","jobs":3}
"""


@pytest.fixture
def replayed(tmp_path: Path) -> tuple[Path, Path]:
    trace, cluster = tmp_path / "t.jsonl", tmp_path / "cluster.yaml"
    trace.write_text(TRACE)
    cluster.write_text(CLUSTER)
    return trace, cluster


def test_a_trace_is_replayed_on_a_cluster(gangplan: Run, replayed: tuple[Path, Path], tmp_path: Path) -> None:
    trace, cluster = replayed
    words = ("simulate", trace, "--cluster", cluster, "--policy", "fifo", "-o", "json")
    done = gangplan(*words, "--state", tmp_path / "state.json")
    assert done.returncode == 0
    assert done.stderr == "left out: jobs larger than all GPUs of any one type (1)\n"
    found = json.loads(done.stdout)
    assert {job["name"]: job["finished"] for job in found["jobs"]} == {"a": 86400.0, "b": 87000.0}
    assert found["jobs"][0]["deadline_met"] is True
    assert not (tmp_path / "state.json").exists()
    failing = gangplan(*words, "--mtbf", "6h", "--repair", "30m", "--restart", "2m", "--seed", "3")
    again = gangplan(*words, "--mtbf", "6h", "--repair", "30m", "--restart", "2m", "--seed", "3")
    assert failing.stdout == again.stdout
    assert json.loads(failing.stdout)["jobs"][0]["forced"] > 0
    assert json.loads(failing.stdout)["jobs"][0]["finished"] > 86400.0


def test_a_trace_needs_a_cluster(gangplan: Run, replayed: tuple[Path, Path]) -> None:
    done = gangplan("simulate", replayed[0], "--policy", "fifo")
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert done.stderr.startswith("error: --cluster: a trace is replayed on a cluster")
    done = gangplan("simulate", replayed[0], "--cluster", replayed[1], "--type", "dgx")
    assert done.returncode == INVALID_INPUT
    assert "'dgx' is no WORD=TYPE" in done.stderr


def test_what_is_said_of_a_trace_is_refused_without_one(gangplan: Run, file: Path) -> None:
    done = gangplan("simulate", file, "--policy", "fifo", "--queue", "q", "--restart", "30s")
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert done.stderr.splitlines() == [
        "error: --queue: is of a trace: replay one with --cluster",
        "error: --restart: is of a trace: replay one with --cluster",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--queue", "nosuch"), "error: --queue: no queue of the trace is named 'nosuch'; there is none"),
        (("--skip", "1000"), "error: --skip: passes over 1,000 jobs, and the trace has 3: none is left"),
    ],
)
def test_a_window_without_jobs_is_refused(
    gangplan: Run, replayed: tuple[Path, Path], words: tuple[str, ...], said: str
) -> None:
    trace, cluster = replayed
    done = gangplan("simulate", trace, "--cluster", cluster, "--policy", "fifo", *words)
    assert (done.returncode, done.stdout, done.stderr) == (INVALID_INPUT, "", f"{said}\n")


def test_a_file_that_cannot_be_written_is_refused_before_all_else(gangplan: Run, file: Path) -> None:
    there = file.parent
    done = gangplan(
        *("simulate", "S/300/100/seed0", "--policy", "fifo", "--report", "nosuch/page.html"), timeout=20
    )
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    said = "error: --report: nosuch/page.html cannot be written: there is no folder nosuch\n"
    assert done.stderr == said
    done = gangplan("simulate", file, "--policy", "fifo", "--state", there)
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert done.stderr == f"error: --state: {there} is a folder: name a file in it\n"


@pytest.mark.parametrize("with_cluster", [True, False])
def test_a_table_must_be_imported_first(
    gangplan: Run, replayed: tuple[Path, Path], tmp_path: Path, *, with_cluster: bool
) -> None:
    table = tmp_path / "jobs.csv.gz"
    with gzip.open(table, "wt") as file:
        file.write("job_id,num_gpu\n0,1\n")
    done = gangplan("simulate", table, *(("--cluster", replayed[1]) if with_cluster else ()))
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert "is no trace file: a public trace must be imported first: `gangplan import" in done.stderr
    assert "JSON" not in done.stderr
