"""At the end, how many requests were fuzzed in all, and how they were answered."""

from __future__ import annotations

from collections import Counter
from typing import Any

FUZZED = "fuzzed"
"""Property of a test: how many of each status its requests had."""


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Add up what the tests recorded, whichever process ran them."""
    total: Counter[str] = Counter()
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        for name, statuses in getattr(report, "user_properties", ()):
            if name == FUZZED and report.when == "call":
                total.update(statuses)
    if total:
        told = ", ".join(f"{count:,} {status}" for status, count in total.most_common())
        terminalreporter.write_line(f"fuzzed: {total.total():,} requests: {told}")
