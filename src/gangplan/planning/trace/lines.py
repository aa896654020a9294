"""Trace files, read and written record by record."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pydantic import ValidationError

from gangplan.errors import FieldViolation, TraceError
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import RECORDS, End, Header, JobRecord, Measurement, Record

IMPORT_FIRST = (
    "a public trace must be imported first: `gangplan import READER FILE -o NAME.jsonl`; "
    "`gangplan import --help` lists the readers"
)
"""What to do with a table of somebody's where a trace file is wanted."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole trace in memory.

    Attributes:
        header: of the file.
        jobs, measurements: in the file's order.
        end: of the file.
    """

    header: Header
    jobs: tuple[JobRecord, ...]
    measurements: tuple[Measurement, ...]
    end: End


def open_text(path: Path) -> IO[str]:
    """A text file or a gzipped one, line ends as they are.

    Raises:
        OSError: it cannot be opened.
    """
    if path.suffix == ".gz":
        return io.TextIOWrapper(gzip.open(path), encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def line_of(record: Record) -> str:
    """The record on one line."""
    text = record.model_dump_json(exclude_defaults=True)
    return f'{{"kind":"{record.kind}",{text[1:]}\n'


def write_records(records: Iterable[Record], path: Path) -> None:
    """Write a trace file; it is there when all of it is, and not before.

    Args:
        records: header first, end last.
        path: of the file; ``.gz`` compresses it.

    Raises:
        OSError: it cannot be written.
        TraceError: what the records are read from is wrong.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        with _writing(part, compressed=path.suffix == ".gz") as file:
            file.writelines(map(line_of, records))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _writing(part: Path, *, compressed: bool) -> Iterator[IO[str]]:
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(part.open("wb"))
        if compressed:  # without name and time, so that the same trace gives the same bytes
            packed = gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0)
            file = cast("IO[bytes]", stack.enter_context(packed))
        yield stack.enter_context(io.TextIOWrapper(file, encoding="utf-8", newline="\n"))


def read_records(path: Path) -> Iterator[Record]:
    """The records of a trace file, one at a time.

    Args:
        path: of the file.

    Raises:
        TraceError: lines are wrong; all are named with file and line once the rest has been read, or as soon
            as there are too many.
    """
    ledger = Ledger()
    number, ended = 0, False
    try:
        with open_text(path) as file:
            for number, line in enumerate(file, 1):
                place = f"{path}:{number}"
                if not line.strip():
                    continue
                if ended:
                    ledger.refuse(place, "stands after the end")
                    continue
                try:
                    record = RECORDS.validate_json(line)
                except ValidationError as error:
                    if number == 1 and not line.lstrip().startswith("{"):
                        ledger.refuse(place, f"is no trace file: {IMPORT_FIRST}")
                        break
                    ledger.refuse(place, *_said(error))
                    if number == 1:
                        break
                    continue
                if isinstance(record, Header) != (number == 1):
                    ledger.refuse(place, "a trace begins with its header, and has one")
                    break
                if isinstance(record, End):
                    ended = True
                    if (record.jobs, record.measurements) != (ledger.jobs, ledger.measurements):
                        ledger.refuse(
                            place,
                            f"it has {ledger.jobs} jobs and {ledger.measurements} measurements, and says "
                            f"{record.jobs} and {record.measurements}",
                        )
                    yield record
                elif ledger.take(record, place):
                    yield record
    except OSError as error:
        raise TraceError([FieldViolation(str(path), f"cannot be read: {error.strerror or error}")]) from error
    except (UnicodeDecodeError, EOFError) as error:
        hint = "" if number else f"; {IMPORT_FIRST}"
        raise TraceError([FieldViolation(f"{path}:{number + 1}", f"is no text: {error}{hint}")]) from error
    if not ended and not ledger.wrong:
        ledger.refuse(f"{path}:{number + 1}", "the file is cut off: its last line is not the end record")
    ledger.check()


def load(path: Path) -> Trace:
    """A trace file as a whole.

    Raises:
        TraceError: it cannot be read, or lines are wrong.
    """
    return gathered(read_records(path))


def gathered(records: Iterable[Record]) -> Trace:
    """Records as a whole trace.

    Args:
        records: a header first, an end last, as every reader yields them.
    """
    header, end = None, None
    jobs: list[JobRecord] = []
    measurements: list[Measurement] = []
    for record in records:
        match record:
            case Header():
                header = record
            case JobRecord():
                jobs.append(record)
            case Measurement():
                measurements.append(record)
            case End():
                end = record
    assert header is not None
    assert end is not None
    return Trace(header, tuple(jobs), tuple(measurements), end)


def _said(error: ValidationError) -> list[str]:
    said = []
    for each in error.errors(include_url=False, include_context=False):
        where = ".".join(
            str(step) for step in each["loc"] if step not in ("header", "job", "measurement", "end")
        )
        said.append(f"{where}: {each['msg']}" if where else each["msg"])
    return said
