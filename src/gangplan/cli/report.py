"""``gangplan report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from gangplan.cli.exits import explained, say
from gangplan.cli.options.places import check_places


@explained
def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="What simulate, whatif or tune printed with -o json; simulations of the same jobs are "
            "compared.",
        ),
    ],
    *,
    to: Annotated[Path, typer.Option("--to", help="The page.", metavar="FILE")] = Path("report.html"),
) -> None:
    """Make a page with pictures of simulations, a study or a front that were kept as JSON.

    \b
    gangplan simulate scenarios/rush-hour.yaml --policy fifo -o json --series > fifo.json
    gangplan simulate scenarios/rush-hour.yaml -o json --series > gangplan.json
    gangplan report fifo.json gangplan.json --to compared.html
    """  # noqa: D301 - \b keeps the lines
    from gangplan.errors import FieldViolation, InvalidInputError
    from gangplan.planning.report import pages
    from gangplan.planning.report.frame import check_libraries

    check_libraries("report")
    check_places(to=to)
    documents: list[dict[str, Any]] = []
    for file in files:
        try:
            documents.append(json.loads(file.read_text(encoding="utf-8")))
        except ValueError as error:
            raise InvalidInputError([FieldViolation(str(file), f"is no JSON: {error}")]) from error
    command = f"gangplan report {' '.join(map(str, files))} --to {to}"
    pages.write(to, pages.page_of(documents, command))
    say(f"wrote {to}")
