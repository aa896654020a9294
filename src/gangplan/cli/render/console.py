"""Where answers and talk go: answers to standard output, talk to standard error."""

from __future__ import annotations

import sys

from rich.console import Console, RenderableType

PLAIN_WIDTH = 110
"""Columns where standard output is no terminal and ``COLUMNS`` says nothing."""


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
    import os

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PLAIN_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, emoji=False, markup=False)
