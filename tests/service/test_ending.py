"""A service ends when it is told to, whatever hangs in its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gangplan.service.launched import address_of

# The command line with a planner that does not plan, and something that hangs.
_PROGRAM = """
import atexit, os, time
from concurrent.futures import ThreadPoolExecutor
from gangplan.cli.main import main
from gangplan.service.placement import Placement

class Planner:
    def warm(self): pass
    def close(self):
        if os.environ["HANGS"] == "at-stop": time.sleep(1000)

Placement.with_workers = classmethod(lambda cls, options, metrics: cls(Planner(), options, metrics))
if os.environ["HANGS"] == "at-exit":
    atexit.register(time.sleep, 1000)
    ThreadPoolExecutor().submit(time.sleep, 1000)
main()
"""


@pytest.mark.parametrize(("hangs", "code"), [("at-stop", 1), ("at-exit", 0)])
def test_a_service_ends_in_time_though_something_hangs(hangs: str, code: int, tmp_path: Path) -> None:
    with (tmp_path / "said").open("w+") as said:
        started = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, "serve", "--port=0", "--sessions=memory", "--grace=0"],
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            env={**os.environ, "HANGS": hangs},
        )
        try:
            address_of(started, 60, 10)
            told = time.monotonic()
            started.send_signal(signal.SIGTERM)
            assert started.wait(50) == code  # the thousand seconds of what hangs are not waited for
            assert code == 0 or time.monotonic() - told >= 1.0
        finally:
            started.kill()
            started.communicate()
        said.seek(0)
        assert ("in close" in said.read()) == bool(code)  # where it stood
