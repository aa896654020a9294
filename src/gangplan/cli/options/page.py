"""``--report``: a page with pictures."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gangplan.cli.options.places import check_places

Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a page with pictures (extra `report`).")
]


def check_page(report: Path | None) -> None:
    """Refuse a page that cannot be written before anything is played.

    Raises:
        InvalidInputError: the libraries that draw it are not installed, or no file can be written there.
    """
    if report is not None:
        from gangplan.planning.report.frame import check_libraries

        check_libraries("--report")
        check_places(report=report)


def write_page(report: Path | None, document: dict[str, Any]) -> None:
    """Write the page of what was found, with the command that was typed, if one is wanted."""
    if report is not None:
        from gangplan.planning.report import pages

        pages.write(report, pages.page_of([document], shlex.join(["gangplan", *sys.argv[1:]])))
