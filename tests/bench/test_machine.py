"""What stands beside every row: memory of all processes, also of ended ones, and a digest of the code."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gangplan.bench import machine

HELD = 80_000_000
CHILD = "import sys; held = bytearray(b'x') * int(sys.argv[1]); sys.stdin.readline()"


def starter(*sizes: int) -> subprocess.Popen[bytes]:
    """A process that starts one child after the other; each ends when a line comes, or none can."""
    one = f"subprocess.run([sys.executable, '-c', {CHILD!r}, str(size)])"
    code = f"import subprocess, sys\nfor size in {sizes}: {one}"
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, bufsize=0)


def wait_until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60.0
    while not true():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_what_ended_meanwhile_is_counted_and_what_followed_it_is_not_added() -> None:
    more = HELD + HELD // 4
    process = starter(HELD, more)
    assert process.stdin is not None
    with process.stdin as children, machine.MemoryWatch(process.pid) as memory:
        for size in (HELD, more):
            wait_until(lambda size=size: memory.largest > size)
            children.write(b"\n")
        process.wait(60)
    assert more < memory.largest < HELD + more
    assert more < memory.together < HELD + more


def test_processes_below_processes_are_found() -> None:
    process = starter(HELD)
    assert process.stdin is not None
    with process.stdin:
        wait_until(lambda: max(machine.peak_bytes(process.pid).values(), default=0) > HELD)
        sizes = machine.peak_bytes(process.pid)
        assert process.pid in sizes
        assert len(sizes) == 2
        assert machine.resident_bytes(process.pid) <= sum(sizes.values()) * 2
    process.wait(60)


def test_a_process_that_is_gone_holds_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(20)
    assert machine.peak_bytes(process.pid).get(process.pid, 0) == 0
    assert os.getpid() in machine.peak_bytes()


def test_the_digest_hangs_on_what_measures_and_not_on_what_shows(monkeypatch, tmp_path: Path) -> None:
    package = tmp_path / "gangplan"
    for name in ("engine/round.py", "cli/main.py", "bench/report/tables.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text("x = 1\n")
    (package / "__init__.py").write_text("")

    class Spec:
        submodule_search_locations = (str(package),)

    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda _: Spec)

    def digest() -> str:
        return machine.code.__wrapped__()

    before = digest()
    (package / "cli/main.py").write_text("x = 2\n")
    (package / "bench/report/tables.py").write_text("x = 2\n")
    assert digest() == before
    (package / "engine/round.py").write_text("x = 2\n")
    assert digest() != before


def test_calibration_takes_time_and_memory_is_described() -> None:
    assert machine.calibrate(1) > 0.0
    assert machine.describe()["memory_bytes"]
    assert machine.versions()["python"]
