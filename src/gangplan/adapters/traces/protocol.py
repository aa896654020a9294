"""What a reader of a public trace offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord, Measurement


@dataclass(frozen=True, slots=True)
class Source:
    """Where a trace comes from; see :class:`gangplan.planning.trace.records.Header`."""

    name: str
    url: str
    licence: str
    cite: str = ""
    time_zero: str = "the trace's own"
    raw_units: str = ""


class Reader(Protocol):
    """A module that reads one format."""

    NAME: str
    """What the command line calls it."""
    ABOUT: str
    """One line: what it reads, and from which files."""
    SOURCE: Source

    def read(self, paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord | Measurement]:
        """Its jobs and measurements, one at a time, in the files' order.

        Args:
            paths: files or folders, as the module's text says.
            ledger: told of every line that is left out or wrong.

        Raises:
            OSError: a file cannot be read.
            TraceError: a file is of another form, or too many lines are wrong.
        """
        ...
