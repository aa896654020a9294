"""How far long work is: on standard error, a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gangplan.cli.exits import say
from gangplan.cli.render.figures import counted
from gangplan.planning.times import spoken

SAY_SECONDS = 30.0
"""Between two lines where standard error is no terminal, also while nothing has been finished."""
Count = Callable[[int, int | None, str], None]
"""Takes what is done, what is wanted as far as is known, and what is at hand."""


@contextmanager
def counting(noun: str, every: float = SAY_SECONDS) -> Iterator[Count]:
    """What is told how far the work is, and shows it until the work ends.

    Args:
        noun: what is counted, one of it.
        every: seconds between two lines.
    """
    with _bar() if sys.stderr.isatty() else _lines(noun, every) as count:
        yield count


@contextmanager
def _lines(noun: str, every: float) -> Iterator[Count]:
    """A line now and then by a thread of its own: one piece of work may take longer than that."""
    began, over = time.monotonic(), threading.Event()
    latest: list[tuple[int, int | None, str]] = [(0, None, "")]

    def count(done: int, wanted: int | None, at_hand: str) -> None:
        latest[0] = done, wanted, at_hand

    def tell() -> None:
        while not over.wait(every):
            done, wanted, at_hand = latest[0]
            how_far = counted(done, noun) if wanted is None else f"{done:,} of {counted(wanted, noun)}"
            last = f", {at_hand}" if at_hand else ""
            say(f"{how_far} after {spoken(time.monotonic() - began)}{last}")

    teller = threading.Thread(target=tell, name="counting", daemon=True)
    teller.start()
    try:
        yield count
    finally:
        over.set()
        teller.join()


@contextmanager
def _bar() -> Iterator[Count]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from gangplan.cli.render.console import talk_console

    columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=talk_console(), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, wanted, at_hand: bar.update(
            task, completed=done, total=wanted, description=at_hand
        )
