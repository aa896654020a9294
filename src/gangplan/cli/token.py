"""``gangplan token``."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli.exits import explained, say


class ScopeChoice(Enum):
    """What the caller may do."""

    READ = "read"
    PLAN = "plan"
    ADMIN = "admin"


@explained
def token(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The caller's, by which logs and limits know it.")
    ],
    *,
    callers: Annotated[
        Path, typer.Option(help="The callers file of the service; made when it is not there.", metavar="FILE")
    ],
    scope: Annotated[ScopeChoice, typer.Option(help="What the caller may do.")] = ScopeChoice.PLAN,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the token to a new file that only its owner can read.",
            metavar="FILE",
            show_default="standard output",
        ),
    ] = None,
) -> None:
    """Make a token for a caller, and add the caller to the callers file, which keeps a digest only.

    \b
    gangplan token kueue --callers callers.yaml -o kueue.token
    gangplan token grafana --scope read --callers callers.yaml -o grafana.token

    Without -o the token is printed; a shell's `> FILE` may make a file that everybody can read.
    A running service takes the change in by itself. To take a token back, remove its entry.
    """  # noqa: D301 - \b keeps the lines
    import secrets

    from gangplan.errors import FieldViolation, InvalidInputError
    from gangplan.service.security.callers import Caller, digest_of, read_callers
    from gangplan.service.security.scopes import Scope

    try:
        Caller(name=name, scope=Scope(scope.value))
    except ValueError:
        why = "must be letters, digits and . _ @ - only, 128 at most"
        raise InvalidInputError([FieldViolation("NAME", why)]) from None
    known = read_callers(callers) if callers.exists() else ()
    if any(each.name == name for each in known):
        raise InvalidInputError([FieldViolation("NAME", f"{name} is in {callers} already; remove it first")])
    made = secrets.token_urlsafe(32)
    entry = f"- name: {name}\n  scope: {scope.value}\n  token_sha256: ['{digest_of(made)}']\n"
    before = callers.read_text(encoding="utf-8") if callers.exists() else ""
    with _replacing(callers) as new:
        new.write_text(f"{before.rstrip()}\n{entry}".lstrip("\n"), encoding="utf-8")
        try:
            read_callers(new)
        except InvalidInputError:
            why = "is no list with an entry a line, to which one can be added; add it by hand"
            raise InvalidInputError([FieldViolation(str(callers), why)]) from None
        if output is not None:
            _write_new(output, f"{made}\n")
    if output is None:
        say(f"{name} may {scope.value}; the token is shown once, here.")
        print(made)
    else:
        say(f"{name} may {scope.value}; the token is in {output}, for its owner's eyes only.")


def _write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, for its owner alone.

    Raises:
        InvalidInputError: it is there.
    """
    from gangplan.errors import FieldViolation, InvalidInputError

    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInputError([FieldViolation("--output", f"{path} is there already")]) from None
    with os.fdopen(file, "w", encoding="utf-8") as opened:
        opened.write(text)


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A file that takes the place of ``path`` when all has gone well, and is gone when it has not.

    Whoever could read ``path`` still can; a file that was not there is for its owner alone.
    """
    handle, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    os.close(handle)
    new = Path(name)
    try:
        yield new
        if path.exists():
            before = path.stat()
            new.chmod(before.st_mode & 0o777)
            with contextlib.suppress(PermissionError):  # then it is the owner's who runs this
                os.chown(new, before.st_uid, before.st_gid)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
