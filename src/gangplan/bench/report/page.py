"""The report as one self-contained page: no script, no font, no network."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from gangplan.bench.report import document as reports
from gangplan.bench.runs import Row
from gangplan.errors import FieldViolation, InvalidInputError

_NEEDED = ("matplotlib", "jinja2")


def document(rows: Sequence[Row], notes: Sequence[str] = ()) -> str:
    """The report of rows as HTML.

    Raises:
        InvalidInputError: the libraries that draw it are not installed.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        reason = (
            f"{' and '.join(missing)} not installed: pip install 'gangplan[report]'; Markdown needs neither"
        )
        raise InvalidInputError([FieldViolation("--html", reason)])
    import jinja2
    from markupsafe import Markup, escape

    from gangplan.bench.report.pictures import pictures

    def bold(cell: str) -> Markup:
        parts = cell.split("**")
        marked = (Markup("<b>{}</b>").format(part) if k % 2 else escape(part) for k, part in enumerate(parts))
        return Markup("").join(marked)

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["bold"] = bold
    source = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    drawn = [(title, Markup(svg)) for title, svg in pictures(rows)]
    report = reports.document(rows, notes)
    return environment.from_string(source).render(report=report, pictures=drawn)
