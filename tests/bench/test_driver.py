"""Runs that die, hang or eat memory are rows, and the driver goes on."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from gangplan.bench.driver import measure_all
from gangplan.bench.rows import RowFile
from gangplan.bench.runs import Run

CHILD = """\
import json, os, sys, time
run = json.load(sys.stdin)
what = run["instance"]
target = sys.argv[-1]
if what == "dies":
    sys.exit("it broke")
if what == "segfault":
    os.kill(os.getpid(), 11)
if what == "no-row":
    sys.exit(0)
if what == "half-a-row":
    open(target, "w").write('{"status": "OPT')
    sys.exit(0)
if what == "memory-error":
    raise MemoryError("no room")
if what == "hangs":
    child = os.fork()
    if child:
        open(run["source"], "w").write(f"{os.getpid()} {child}")
    time.sleep(600)
if what == "eats":
    held = []
    while True:
        held.append(bytearray(20_000_000))
        time.sleep(0.01)
print("noise on standard output")
open(target, "w").write(json.dumps({"status": "OPTIMAL", "wall_s": 0.1}) + "\\n")
"""


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, str]:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    return sys.executable, str(script)


def run(instance: str, *, spare_seconds: float = 60.0, **more: object) -> Run:
    options = {"spare_s": spare_seconds}
    return Run(suite="by-hand", kind="rounds", instance=instance, options=options, time_limit_s=0.1, **more)


@pytest.mark.parametrize(
    ("instance", "status", "said"),
    [
        ("fine", "OPTIMAL", ""),
        ("dies", "ERROR", "exit code 1: it broke"),
        ("segfault", "ERROR", "exit code -11"),
        ("no-row", "ERROR", "wrote no row"),
        ("half-a-row", "ERROR", "wrote no row"),
        ("memory-error", "OOM", "MemoryError: no room"),
    ],
)
def test_each_end_is_a_row(command: tuple[str, str], instance: str, status: str, said: str) -> None:
    (row,) = measure_all([run(instance)], RowFile(None), command=command)
    assert row["status"] == status
    assert said in row.get("error", "")
    assert (row["instance"], row["time_limit_s"]) == (instance, 0.1)
    assert row["code"]


def test_a_run_that_hangs_is_ended_with_all_that_it_started(command: tuple[str, str], tmp_path: Path) -> None:
    note = tmp_path / "processes"
    hanging = run("hangs", spare_seconds=4.0, source=str(note))  # by then it has begun to
    (row,) = measure_all([hanging], RowFile(None), command=command)
    assert row["status"] == "TIMEOUT"
    for process in map(int, note.read_text().split()):
        assert _ended(process)


def _ended(process: int) -> bool:
    """Whether a killed process is gone, or will be within seconds: it may still wait for a disk."""
    status = Path(f"/proc/{process}/status")
    for _ in range(100):
        try:
            if "State:\tZ" in status.read_text():
                return True
        except OSError:
            return True
        time.sleep(0.1)
    return False


def test_a_run_that_eats_memory_is_ended_at_its_limit(command: tuple[str, str]) -> None:
    eater = run("eats", memory_limit_bytes=150_000_000)
    (row,) = measure_all([eater], RowFile(None), command=command)
    assert row["status"] == "OOM"
    assert "above the limit of 150 MB" in row["error"]
    assert row["seen_rss_bytes"] > 150_000_000


def test_the_driver_goes_on_after_a_death(command: tuple[str, str]) -> None:
    found = measure_all([run("dies"), run("fine")], RowFile(None), command=command)
    assert [row["status"] for row in found] == ["ERROR", "OPTIMAL"]


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_what_is_measured_stays_and_only_errors_are_tried_again(
    command: tuple[str, str], tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"rows{suffix}"
    runs = [run("fine"), run("dies"), run("memory-error")]
    measure_all(runs, RowFile(file), command=command)
    began: list[int] = []
    measure_all(runs, RowFile(file), command=command, on_start=lambda number, _: began.append(number))
    assert began == [1]
    began.clear()
    measure_all(runs, RowFile(file), again=True, command=command, on_start=lambda k, _: began.append(k))
    assert began == [0, 1, 2]
    text = file.read_text()
    kept = json.loads(text) if suffix == ".json" else [json.loads(line) for line in text.splitlines()]
    assert len(kept) == 3 + 1 + 3


def test_a_process_of_another_group_is_left_alone(command: tuple[str, str]) -> None:
    measure_all([run("fine")], RowFile(None), command=command)
    assert os.getpid() > 0  # this process, the driver's own, still is
