"""Runs one by one, each in a process of its own, which may die, hang or eat all memory: a row it is."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gangplan.bench import machine
from gangplan.bench.rows import RowFile
from gangplan.bench.runs import Row, Run, Status, key

_SPARE_SECONDS = 300.0
"""Beside three times the time limit: for starting, making the instance and judging."""
_POLL_SECONDS = 0.1
_TAIL_BYTES = 4000

CHILD = (sys.executable, "-m", "gangplan.bench.child")
"""The command of the process that measures; a file for its rows follows, and the run comes on its input."""


def measure_all(
    runs: Sequence[Run],
    rows: RowFile,
    *,
    again: bool = False,
    on_row: Callable[[int, Row, bool], None] = lambda *_: None,
    on_start: Callable[[int, Run], None] = lambda *_: None,
    command: Sequence[str] = CHILD,
) -> list[Row]:
    """Measure what is not measured yet, in order.

    Args:
        runs: what to measure.
        rows: where rows are kept; what stands there for the same code is not measured again.
        again: measure everything again.
        on_row: called with the run's number, its row, and whether it was there already.
        on_start: called with the number and the run before it starts.
        command: of the measuring process.

    Returns:
        The rows of all runs, in order.
    """
    code, revision = machine.code(), machine.revision()
    found: list[Row] = []
    for number, run in enumerate(runs):
        head = run.head() | {"code": code, "revision": revision}
        known = [] if again else rows.known(key(head))
        if not known:
            on_start(number, run)
        for row in known or [head | row for row in _measured(run, command)]:
            if not known:
                rows.append(row)
            on_row(number, row, bool(known))
            found.append(row)
    return found


def _measured(run: Run, command: Sequence[str]) -> list[Row]:
    """The rows of a run; one with a status and a reason when there is none of its own."""
    killed_before = machine.out_of_memory_kills()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="gangplan-bench-") as scratch:
        target, errors = Path(scratch) / "rows.jsonl", Path(scratch) / "errors"
        code, ended, peak = _watched(run, (*command, str(target)), errors, Path(scratch))
        measured_s = time.perf_counter() - began
        found = _rows(target) if code == 0 else []
        if found:
            return [row | {"measured_s": measured_s} for row in found]
        reason = _last_line(errors)
    status, why = Status.ERROR, f"exit code {code}: {reason}" if code else "it wrote no row"
    if ended is not None:
        status, why = ended
    elif code == -signal.SIGKILL and machine.out_of_memory_kills() > killed_before:
        status, why = Status.OOM, "the system ended it for want of memory"
    elif reason.startswith("MemoryError"):
        status, why = Status.OOM, reason
    return [
        {
            "status": status.value,
            "error": why,
            "measured_s": measured_s,
            "seen_rss_bytes": peak,
            "versions": dict(machine.versions()),
            "machine": dict(machine.describe()),
        }
    ]


def _watched(
    run: Run, command: Sequence[str], errors: Path, folder: Path
) -> tuple[int, tuple[Status, str] | None, int]:
    """Exit code, why we ended it (None: it ended itself), and the most resident bytes seen."""
    limit = patience(run)
    with errors.open("wb") as sink:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | {"GANGPLAN_BENCH_SCRATCH": str(folder)},
        )
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(json.dumps(run.head()).encode())
        end = time.monotonic() + limit
        peak, ended = 0, None
        try:
            while process.poll() is None:
                if run.memory_limit_bytes:
                    peak = max(peak, machine.resident_bytes(process.pid))
                    if peak > run.memory_limit_bytes:
                        cap = run.memory_limit_bytes / 1e6
                        ended = Status.OOM, f"{peak / 1e6:.0f} MB resident, above the limit of {cap:.0f} MB"
                        break
                if time.monotonic() > end:
                    ended = Status.TIMEOUT, f"no answer after {limit:.0f} s"
                    break
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_SECONDS)
        finally:
            _end_group(process)
    return process.returncode, ended, peak


def patience(run: Run) -> float:
    """Seconds after which a run's process is ended."""
    spare = run.options.get("spare_s", _SPARE_SECONDS)
    return float(spare) + 60.0 * float(run.options.get("minutes", 0.0)) + 3.0 * run.time_limit_s


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it started: they are one group of their own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _rows(target: Path) -> list[Row]:
    """The rows that a process wrote; none where it wrote anything else."""
    try:
        return [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        return []


def _last_line(errors: Path) -> str:
    text = errors.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip()
    return text.splitlines()[-1].strip() if text else "it said nothing"
