"""Where answers and talk go: answers to standard output, talk to standard error."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console, RenderableType

PLAIN_WIDTH = 110
"""Columns where standard output is no terminal and ``COLUMNS`` says nothing."""

LEAST_WIDTH = 20
"""Columns below which a table says nothing any more: narrower ones are taken for as many."""


def answer_console() -> Console:
    """Standard output; plain text where it is no terminal."""
    return _console(stderr=False)


def talk_console() -> Console:
    """Standard error."""
    return _console(stderr=True)


def print_answer(answer: RenderableType) -> None:
    """Print to standard output; without colour and trailing blanks where it is no terminal."""
    console = answer_console()
    if console.is_terminal:
        console.print(answer)
        return
    with console.capture() as captured:
        console.print(answer)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _console(*, stderr: bool) -> Console:
    width = _width(sys.stderr if stderr else sys.stdout)
    return Console(stderr=stderr, width=width, highlight=False, emoji=False, markup=False)


def _width(stream: TextIO) -> int:
    """``COLUMNS``, unless it is 0 or no number (unknown, as some environments say); then the terminal's."""
    import os

    given = os.environ.get("COLUMNS", "")
    columns = int(given) if given.isascii() and given.isdigit() else 0
    if not columns and stream.isatty():
        columns = os.get_terminal_size(stream.fileno()).columns
    return max(columns or PLAIN_WIDTH, LEAST_WIDTH)
