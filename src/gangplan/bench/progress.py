"""What a person sees while runs are measured, on standard error: a bar on a terminal, else a line each."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from gangplan.bench.runs import Row, Run, named


class Progress(Protocol):
    """Hears of runs."""

    def started(self, number: int, run: Run) -> None:
        """A run starts; ``number`` counts from 0."""
        ...

    def done(self, number: int, row: Row, known: bool) -> None:  # noqa: FBT001 - the driver's callback
        """A row is there; ``known``: it was before."""
        ...


class Lines:
    """One line per run.

    Args:
        total: how many runs there are.
    """

    def __init__(self, total: int) -> None:
        self._total = total

    def started(self, number: int, run: Run) -> None:
        """Nothing is said before a run is done."""

    def done(self, number: int, row: Row, known: bool) -> None:  # noqa: FBT001
        """Print what became of it."""
        sys.stderr.write(f"{number + 1}/{self._total} {summary(row)}{' (was there)' if known else ''}\n")
        sys.stderr.flush()


def summary(row: Row) -> str:
    """A row in one line."""
    words = [named(row), row["status"]]
    for name, form in (("first_s", "first {:.2f} s"), ("wall_s", "whole {:.2f} s")):
        if row.get(name) is not None:
            words.append(form.format(row[name]))
    if row.get("gap") is not None:
        words.append(f"gap {100 * row['gap']:.3g} %")
    if row.get("error"):
        words.append(str(row["error"])[:200])
    return "  ".join(words)


@contextmanager
def shown(total: int) -> Iterator[Progress]:
    """Progress for so many runs, as fits where standard error goes."""
    if not sys.stderr.isatty():
        yield Lines(total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        class Live:
            def started(self, number: int, run: Run) -> None:
                bar.update(task, completed=number, description=named(run))

            def done(self, number: int, row: Row, known: bool) -> None:  # noqa: FBT001
                bar.update(task, completed=number + 1)
                if not known:
                    bar.console.print(summary(row), markup=False, highlight=False)

        yield Live()
