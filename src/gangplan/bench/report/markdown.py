"""The report as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report import document as reports
from gangplan.bench.report.tables import Table
from gangplan.bench.runs import Row


def document(rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """The report of rows as Markdown."""
    report = reports.document(rows, notes)
    parts = [f"# {report.title}", "", *(f"- {fact}" for fact in report.facts)]
    for section in report.sections:
        parts += ["", f"## {section.title}", ""]
        parts += [section.text, ""] if section.text else []
        parts += table(section.table)
    return "\n".join(parts) + "\n"


def table(found: Table) -> list[str]:
    """The lines of a table; columns that are empty in all lines are left out."""
    kept = [k for k in range(len(found.columns)) if any(line[k] for line in found.lines)]
    names = [found.columns[k] for k in kept]
    lines = [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]
    return lines + [f"| {' | '.join(line[k] for k in kept)} |" for line in found.lines]
