"""The report as one self-contained page: no script, no font, no network."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report import document as reports
from gangplan.bench.runs import Row
from gangplan.planning.report.frame import Page, check_libraries, html


def document(rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """The report of rows as HTML.

    Raises:
        InvalidInputError: the libraries that draw it are not installed.
    """
    check_libraries("--html", "; Markdown needs neither")
    from gangplan.bench.report.pictures import pictures

    report = reports.document(rows, notes)
    drawn = tuple(pictures(rows))
    return html(Page(report.title, facts=report.facts, pictures=drawn, sections=report.sections, tail=1))
