"""Which page a document is for, and the page as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.report.frame import Page, html


def page_of(documents: Sequence[Mapping[str, Any]], command: str) -> Page:
    """The page of documents that were kept.

    Args:
        documents: of simulations, or one of a study or of a front.
        command: that makes the page.

    Raises:
        InvalidInputError: they are something else, or do not go together.
    """
    if all({"run", "metrics", "jobs"} <= set(one) for one in documents):
        from gangplan.planning.report import simulation

        return simulation.page(documents, command)
    if len(documents) == 1 and {"study", "points", "answer"} <= set(documents[0]):
        from gangplan.planning.report import study

        return study.page(documents[0], command)
    if len(documents) == 1 and {"tune", "front", "rules"} <= set(documents[0]):
        from gangplan.planning.report import front

        return front.page(documents[0], command)
    description = "name what simulate printed with -o json (one or several), or one file of whatif or tune"
    raise InvalidInputError([FieldViolation("FILE", description)])


def write(path: Path, page: Page) -> None:
    """Write a page; the file is there when all of it is.

    Raises:
        OSError: it cannot be written.
    """
    text = html(page)
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
