"""``gangplan token``."""

from __future__ import annotations

import os
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
) -> None:
    """Make a token for a caller, print it, and add the caller to the file, which keeps a digest only.

    \b
    gangplan token kueue --callers callers.yaml > kueue.token
    gangplan token grafana --scope read --callers callers.yaml > grafana.token

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
    new = callers.with_name(f"{callers.name}.new")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{before.rstrip()}\n{entry}".lstrip("\n"))
    try:
        read_callers(new)
    except InvalidInputError:
        new.unlink()
        why = "is no list with an entry a line, to which one can be added; add it by hand"
        raise InvalidInputError([FieldViolation(str(callers), why)]) from None
    new.replace(callers)
    say(f"{name} may {scope.value}; the token is shown once, here.")
    print(made)
