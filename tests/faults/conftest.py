"""At the end of ``make test-faults``, how long each kind of fault took, and all of them together."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.faults.instants import ASKED

_HERE = "tests/faults/"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Add up the seconds of every test, whichever process ran it, with what it set up."""
    if ASKED is None:
        return
    seconds: Counter[str] = Counter()
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        if getattr(report, "nodeid", "").startswith(_HERE):
            seconds[report.nodeid.removeprefix(_HERE)] += report.duration
    for test, taken in seconds.most_common():
        terminalreporter.write_line(f"{taken:8.1f} s  {test}")
    if seconds:
        terminalreporter.write_line(f"{seconds.total():8.1f} s  all faults, one after the other")
