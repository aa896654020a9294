"""``gangplan deploy``."""

from __future__ import annotations

from typing import Annotated

import typer

from gangplan.cli.exits import explained


@explained
def deploy(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which file; without it, what there is.")
    ] = None,
) -> None:
    """Print a file to run the service with.

    \b
    gangplan deploy
    gangplan deploy config > gangplan.yaml
    gangplan deploy kubernetes > gangplan-kubernetes.yaml
    gangplan deploy container > Containerfile
    """  # noqa: D301 - \b keeps the lines
    from gangplan.deploy import FILES
    from gangplan.errors import FieldViolation, InvalidInputError

    if name is None:
        for each, described in FILES.items():
            print(f"{each:<12}{described.file:<20}{described.about}")
        return
    found = FILES.get(name)
    if found is None:
        raise InvalidInputError([FieldViolation("NAME", f"must be one of {', '.join(FILES)}")])
    print(found.read(), end="")
