"""``gangplan import`` and ``gangplan trace`` as processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

INVALID_INPUT = 3
TABLE = """job_id,num_gpu,submit_time,iterations,model_name,duration,interval
0,1,0,606,vgg19,164,30
1,8,86400,133,vgg11,147,23
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "60_job.csv"
    path.write_text(TABLE)
    return path


def test_a_trace_is_imported_and_described(gangplan: Run, table: Path, tmp_path: Path) -> None:
    done = gangplan("import", "tiresias", table, "-o", tmp_path / "t.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == ["2 jobs", f"wrote {tmp_path / 't.jsonl'}"]
    shown = gangplan("trace", "describe", tmp_path / "t.jsonl")
    assert shown.returncode == 0
    assert shown.stdout.startswith("Tiresias\n")
    assert "arrive over                   1.00 days" in shown.stdout
    told = json.loads(gangplan("trace", "describe", tmp_path / "t.jsonl", "-o", "json").stdout)
    assert (told["jobs"], told["gpus"], told["span_days"]) == (2, {"1": 1, "8": 1}, 1.0)
    assert told["durations"]["p50"] == 155.5


def test_without_a_file_the_trace_is_the_answer(gangplan: Run, table: Path, tmp_path: Path) -> None:
    done = gangplan("import", "tiresias", table)
    gangplan("import", "tiresias", table, "-o", tmp_path / "t.jsonl")
    assert done.stdout == (tmp_path / "t.jsonl").read_text()
    assert done.stderr == "2 jobs\n"


def test_wrong_lines_are_named_or_skipped(gangplan: Run, table: Path, tmp_path: Path) -> None:
    table.write_text(f"{TABLE}2,many,5,1,x,3,1\n")
    to = tmp_path / "t.jsonl"
    done = gangplan("import", "tiresias", table, "-o", to)
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert f"{table}:4: num_gpu: " in done.stderr
    assert not to.exists()
    done = gangplan("import", "tiresias", table, "-o", to, "--skip-wrong")
    assert done.returncode == 0
    assert "left out: lines that are wrong (1)" in done.stderr
    assert f"wrong: {table}:4: num_gpu: " in done.stderr
    assert to.exists()


def test_pods_of_openb_are_a_trace_where_a_trace_is_asked_for(gangplan: Run, tmp_path: Path) -> None:
    pods = tmp_path / "openb_pod_list_default.csv"
    pods.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1000,64,1,460\np1,1000,64,2,1000\n")
    done = gangplan("import", "openb", pods, "-o", tmp_path / "t.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("2 jobs\n")
    shown = gangplan("trace", "describe", tmp_path / "t.jsonl")
    assert "0.46" in shown.stdout


def test_a_trace_like_another_is_drawn(gangplan: Run, table: Path, tmp_path: Path) -> None:
    gangplan("import", "tiresias", table, "-o", tmp_path / "t.jsonl")
    done = gangplan("trace", "fit", tmp_path / "t.jsonl", "--jobs", "7", "-o", tmp_path / "f.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    again = gangplan("trace", "fit", tmp_path / "t.jsonl", "--jobs", "7")
    assert again.stdout == (tmp_path / "f.jsonl").read_text()
    told = json.loads(gangplan("trace", "describe", tmp_path / "f.jsonl", "-o", "json").stdout)
    assert (told["jobs"], told["header"]["name"]) == (7, "Tiresias, fitted, seed 0")


def test_what_is_no_trace_is_said(gangplan: Run, table: Path) -> None:
    done = gangplan("trace", "describe", table)
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert f"{table}:1: is no trace file: a public trace must be imported first" in done.stderr
    table.write_text("{what")
    assert f"{table}:1: Invalid JSON" in gangplan("trace", "describe", table).stderr


def test_a_folder_is_no_file_to_write(gangplan: Run, table: Path, tmp_path: Path) -> None:
    done = gangplan("import", "tiresias", table, "-o", tmp_path)
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert done.stderr == f"error: --output: {tmp_path} is a folder: name a file in it\n"


def test_an_empty_table_is_said_to_be_empty(gangplan: Run, table: Path) -> None:
    table.write_text("")
    done = gangplan("import", "tiresias", table)
    assert done.returncode == INVALID_INPUT
    assert f"{table}:1: lacks the columns " in done.stderr
    assert "; it is empty\n" in done.stderr
