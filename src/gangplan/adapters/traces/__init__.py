"""Public traces: one file per format, found by scanning this folder and by entry points.

A module here that has ``NAME``, ``ABOUT``, ``SOURCE`` and ``read`` is a reader
(:class:`~gangplan.adapters.traces.protocol.Reader`). The next one is one new file; another package adds one
under the entry points ``gangplan.traces``. :func:`records` makes a whole trace of what a reader reads.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gangplan.errors import FieldViolation, TraceError

if TYPE_CHECKING:
    from gangplan.adapters.traces.protocol import Reader
    from gangplan.planning.trace.ledger import Ledger
    from gangplan.planning.trace.records import Record

GROUP = "gangplan.traces"
"""Entry points of other packages' readers."""


def names() -> tuple[str, ...]:
    """Names of all readers, sorted."""
    return tuple(sorted({*_own(), *(point.name for point in entry_points(group=GROUP))}))


def describe() -> dict[str, str]:
    """One line on each reader, by name; loads none of ours."""
    return {name: _own()[name][1] if name in _own() else "of another package" for name in names()}


def reader(name: str) -> Reader:
    """The reader of that name.

    Raises:
        TraceError: there is none.
    """
    if name in _own():
        return cast("Reader", importlib.import_module(f"{__name__}.{_own()[name][0]}"))
    for point in entry_points(group=GROUP):
        if point.name == name:
            return cast("Reader", point.load())
    there = ", ".join(names())
    raise TraceError([FieldViolation("reader", f"there is no reader {name!r}; there are: {there}")])


def records(name: str, paths: Sequence[Path], ledger: Ledger) -> Iterator[Record]:
    """All records that a reader makes of files, from header to end.

    Args:
        name: of the reader.
        paths: files or folders, as its module says.
        ledger: counts what is read, left out and wrong.

    Raises:
        TraceError: there is no such reader, files cannot be read or hold nothing of it, or lines are wrong.
    """
    from gangplan.planning.trace.records import FORMAT, Header

    chosen = reader(name)
    about = chosen.SOURCE
    yield Header(
        format=FORMAT,
        name=about.name,
        reader=name,
        files=tuple(path.name for path in paths),
        source=about.url,
        licence=about.licence,
        cite=about.cite,
        time_zero=about.time_zero,
        raw_units=about.raw_units,
    )
    try:
        for record in chosen.read(paths, ledger):
            if ledger.take(record):
                yield record
    except OSError as error:
        place = str(error.filename or "")
        raise TraceError([FieldViolation(place, f"cannot be read: {error.strerror or error}")]) from error
    ledger.check()
    if not (ledger.jobs or ledger.measurements or ledger.left_out):
        there = ", ".join(map(str, paths))
        raise TraceError([FieldViolation(there, f"holds nothing that {name} reads: {chosen.ABOUT}")])
    yield ledger.end()


@cache
def _own() -> dict[str, tuple[str, str]]:
    """Module and one line on each reader of this folder, by name; read, not run, so that help is fast."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        source = Path(__path__[0], f"{info.name}.py").read_text(encoding="utf-8")
        if "\ndef read(" not in source:
            continue
        words = {
            target.id: node.value.value
            for node in ast.parse(source).body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        found[str(words["NAME"])] = (info.name, str(words["ABOUT"]))
    return found
