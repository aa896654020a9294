"""What is known of a test process that died: how it ended, and where each of its threads stood.

Under pytest-xdist a worker that dies takes its standard error with it into the middle of the log. Each worker
writes where its threads stand at a fatal signal to a file of its own, and the summary shows it.
"""

from __future__ import annotations

import faulthandler
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

_FILE = "gangplan_crash_file"


class Crashes:
    """A plugin for the process that hands out the tests."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gangplan-crashes-")
        self._told: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_FILE] = str(Path(self._folder.name) / node.gateway.id)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if not error:
            return
        process = getattr(node.gateway._io, "popen", None)
        code = None if process is None else process.wait(10)
        stood = Path(node.workerinput[_FILE])
        frames = stood.read_text(encoding="utf-8", errors="replace") if stood.exists() else ""
        self._told.append(
            f"{node.gateway.id} {how_it_ended(code)}\n{frames or 'where it stood is not known'}"
        )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for each in self._told:
            terminalreporter.section("a test process died")
            terminalreporter.write_line(each)


def how_it_ended(code: int | None) -> str:
    """Words for an exit code, negative for a signal (None: unknown)."""
    if code is None:
        return "ended, it is not known how"
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def note_where_threads_stand(config: pytest.Config) -> None:
    """In a worker: at a fatal signal, into its file."""
    path = getattr(config, "workerinput", {}).get(_FILE)
    if path is not None:
        file = Path(path).open("wb")  # noqa: SIM115 (for as long as the process lives)
        faulthandler.enable(file, all_threads=True)
