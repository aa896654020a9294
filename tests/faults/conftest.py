"""Parts in which the instants of each kind run; and at the end of ``make test-faults``, how long each kind
took, and all of them together."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from tests.faults.instants import ASKED, PART, PARTS

_HERE = "tests/faults/"


if PARTS > 1:

    @pytest.fixture(autouse=True, params=range(PARTS), ids="part{}".format)
    def part(request: pytest.FixtureRequest) -> None:
        """One after the other."""
        PART.number = request.param


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Add up the seconds of every test, whichever process ran it, with what it set up."""
    if ASKED is None:
        return
    seconds: Counter[str] = Counter()
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        if getattr(report, "nodeid", "").startswith(_HERE):
            kind = re.sub(r"\bpart\d+-?", "", report.nodeid.removeprefix(_HERE)).removesuffix("[]")
            seconds[kind.replace("-]", "]")] += report.duration
    for test, taken in seconds.most_common():
        terminalreporter.write_line(f"{taken:8.1f} s  {test}")
    if seconds:
        terminalreporter.write_line(f"{seconds.total():8.1f} s  all faults, one after the other")
