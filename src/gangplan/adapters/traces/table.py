"""Rows of tables, each checked against a model of its columns, one at a time and with its line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.lines import open_text
from gangplan.planning.trace.records import Group, JobRecord

_NOTHING = frozenset({"", "na", "nan", "none", "null", "unknown", "n/a"})


def _or_none(value: object) -> object:
    return None if isinstance(value, str) and value.strip().lower() in _NOTHING else value


def _instant(value: object) -> object:
    """Seconds since 1970 of a date and time; without a zone, as if it were UTC."""
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value.strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


Text = Annotated[str, Field(min_length=1, max_length=253)]
Whole = Annotated[int, Field(ge=0, le=2**40)]
GPUs = Annotated[int, Field(ge=0, le=4096 * 256)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]
MaybeText = Annotated[str | None, BeforeValidator(_or_none)]
MaybeWhole = Annotated[Whole | None, BeforeValidator(_or_none)]
MaybeSeconds = Annotated[Seconds | None, BeforeValidator(_or_none)]
MaybeNumber = Annotated[Number | None, BeforeValidator(_or_none)]
Instant = Annotated[Number, BeforeValidator(_instant)]
MaybeInstant = Annotated[Number | None, BeforeValidator(_instant), BeforeValidator(_or_none)]


class Cells(BaseModel):
    """One row's cells as a reader needs them; columns that it does not name are kept raw all the same."""

    model_config = ConfigDict(str_strip_whitespace=True, extra="ignore", frozen=True)


_Row = TypeVar("_Row", bound=Cells)


@dataclass(frozen=True, slots=True)
class Line(Generic[_Row]):
    """A row that was read.

    Attributes:
        number: its line, from 1.
        cells: what the reader needs.
        raw: every column, as it stands there.
    """

    number: int
    cells: _Row
    raw: dict[str, Any]


def header_of(path: Path, delimiter: str = ",") -> list[str]:
    """The first line's cells; empty for an empty file."""
    with open_text(path) as file:
        return [cell.strip() for cell in next(csv.reader(file, delimiter=delimiter), [])]


def rows(
    path: Path,
    model: type[_Row],
    ledger: Ledger,
    *,
    delimiter: str = ",",
    columns: Sequence[str] | None = None,
    quoted: bool = True,
) -> Iterator[Line[_Row]]:
    """The rows of a table.

    Args:
        path: of the file, ``.gz`` as well.
        model: of the cells. Fields without a default are columns that have to be there.
        ledger: told of wrong lines.
        delimiter: between cells.
        columns: their names, where the file does not begin with them.
        quoted: whether a quotation mark quotes.

    Raises:
        OSError: it cannot be read.
        TraceError: too many lines are wrong.
    """
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    with open_text(path) as file:
        reader = csv.reader(file, delimiter=delimiter, quoting=quoting, strict=True)
        try:
            names = list(columns) if columns else [cell.strip() for cell in next(reader, [])]
            lacks = [
                field.alias or name
                for name, field in model.model_fields.items()
                if field.is_required() and (field.alias or name) not in names
            ]
            if lacks:
                has = f"it has {', '.join(names)}" if names else "it is empty"
                ledger.refuse(f"{path}:1", f"lacks the columns {', '.join(lacks)}; {has}")
                return
            for cells in reader:
                place = f"{path}:{reader.line_num}"
                if not cells:
                    continue
                if len(cells) != len(names):
                    ledger.refuse(place, f"has {len(cells)} fields, not {len(names)}")
                    continue
                raw = dict(zip(names, cells, strict=True))
                row = checked(model, raw, place, ledger)
                if row is not None:
                    yield Line(reader.line_num, row, raw)
        except (UnicodeDecodeError, EOFError, csv.Error) as error:
            ledger.refuse(f"{path}:{reader.line_num + 1}", f"is not a table: {error}")


def checked(model: type[_Row], raw: Mapping[str, Any], place: str, ledger: Ledger) -> _Row | None:
    """The cells as the model has them; None when they are wrong, which is refused."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        ledger.refuse(
            place,
            *(
                f"{'.'.join(map(str, each['loc']))}: {each['msg']}, not {each['input']!r:.60}"
                for each in error.errors(include_url=False)
            ),
        )
        return None


def job(line: Line[Any], path: Path, ledger: Ledger, **fields: Any) -> Iterator[JobRecord]:
    """The job that a row tells of; nothing when its values are wrong together, which is refused.

    Args:
        line: of the table.
        path: of the table.
        ledger: told when it is wrong.
        fields: of :class:`~gangplan.planning.trace.records.JobRecord`.
    """
    try:
        yield JobRecord(line=line.number, raw=line.raw, **fields)
    except ValidationError as error:
        said = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        ledger.refuse(f"{path}:{line.number}", *said)


def gang(gpus: int, nodes: int | None = None, cpus: float | None = None) -> tuple[Group, ...]:
    """A job of so many GPUs, as one group.

    Args:
        gpus: all of them; 0: it takes none.
        nodes: over how many, evenly; None, or where that does not go: one GPU a task, anywhere.
        cpus: of the whole job; None: not said.
    """
    tasks = nodes if nodes and gpus % nodes == 0 else max(1, gpus)
    cpu = None if cpus is None else math.ceil(1000 * cpus / tasks)
    return (Group(tasks=tasks, gpus_per_task=gpus // tasks, cpu_milli=cpu),)


def gib(amount: float | None) -> int | None:
    """Bytes of so many GiB."""
    return None if amount is None else round(amount * 2**30)
