"""How a command ends: exit codes, and errors as sentences on standard error."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import ParamSpec, TypeVar

from gangplan.errors import (
    FieldViolation,
    GangplanError,
    InvalidInputError,
    OverloadedError,
    ServiceError,
    UnknownProposerError,
    UnknownSolverError,
)

_P = ParamSpec("_P")
_R = TypeVar("_R")

MOST_VIOLATIONS = 50
"""Violations printed one by one."""


class Exit(IntEnum):
    """Exit codes (design, section 9)."""

    DONE = 0
    BUG = 1
    USAGE = 2
    INVALID_INPUT = 3
    VIOLATED = 4
    NO_ANSWER = 5
    INTERRUPTED = 130


_BY_STATUS = {
    "INVALID_ARGUMENT": Exit.INVALID_INPUT,
    "OUT_OF_RANGE": Exit.INVALID_INPUT,
    "UNAVAILABLE": Exit.NO_ANSWER,
    "DEADLINE_EXCEEDED": Exit.NO_ANSWER,
    "RESOURCE_EXHAUSTED": Exit.NO_ANSWER,
    "CANCELLED": Exit.NO_ANSWER,
    "UNAUTHENTICATED": Exit.INVALID_INPUT,
    "PERMISSION_DENIED": Exit.INVALID_INPUT,
}
_ADVICE = {
    "UNAVAILABLE": "Does `gangplan serve` run there? Without --address, this process plans the round.",
    "DEADLINE_EXCEEDED": "Give it more time with --time-limit.",
    "RESOURCE_EXHAUSTED": "Try again later, or raise the limit that the message names.",
    "UNAUTHENTICATED": "Show a token with --token-file, or a certificate with --cert and --key.",
    "PERMISSION_DENIED": "The token's scope does not include it; see the callers file of the service.",
    "UNIMPLEMENTED": "The service may be older than this command.",
}


def say(message: str) -> None:
    """Talk to the person, on standard error."""
    print(message, file=sys.stderr)


def explained(command: Callable[_P, _R]) -> Callable[_P, _R]:
    """Turn our errors into sentences on standard error and an exit code; other errors pass."""

    @functools.wraps(command)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return command(*args, **kwargs)
        except GangplanError as error:
            raise _exit(explain(error)) from error
        except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
            say(f"error: {error.strerror}: {error.filename}")
            raise _exit(Exit.INVALID_INPUT) from error

    return wrapped


@contextmanager
def resumable(kept: Path | None, option: str) -> Iterator[None]:
    """Say, to who interrupts a long command, whether the same command goes on from where it was.

    Args:
        kept: the file with what has ended so far; None: nothing is kept.
        option: that would have kept it, with its value in words.
    """
    try:
        yield
    except KeyboardInterrupt:
        if kept is None:
            say(f"nothing is kept: with {option} the same command would go on from here")
        elif kept.exists():
            say(f"kept in {kept}: the same command goes on from there")
        else:
            say("nothing had ended yet")
        raise _exit(Exit.INTERRUPTED) from None


def explain(error: GangplanError) -> Exit:
    """Print what went wrong, where, and how to mend it; the exit code that goes with it."""
    match error:
        case InvalidInputError():
            _say_violations(error.violations)
            return Exit.INVALID_INPUT
        case UnknownSolverError():
            say(f"error: {error}. `gangplan solvers` lists them.")
            return Exit.INVALID_INPUT
        case UnknownProposerError():
            say(f"error: {error}")
            return Exit.INVALID_INPUT
        case OverloadedError():
            say(f"error: {error}; try again in {error.retry_after_seconds:.1f} s")
            return Exit.NO_ANSWER
        case ServiceError():
            if error.violations:
                _say_violations(error.violations)
            else:
                say(f"error: {error.code}: {error}")
            if error.code in _ADVICE:
                say(_ADVICE[error.code])
            return _BY_STATUS.get(error.code, Exit.BUG)
        case _:
            say(f"error: {error.reason}: {error}")
            return Exit.BUG


def _say_violations(violations: tuple[FieldViolation, ...]) -> None:
    for violation in violations[:MOST_VIOLATIONS]:
        say(f"error: {violation}" if violation.field else f"error: {violation.description}")
    if len(violations) > MOST_VIOLATIONS:
        say(f"error: and {len(violations) - MOST_VIOLATIONS} more")


def _exit(code: Exit) -> Exception:
    import typer

    return typer.Exit(int(code))
