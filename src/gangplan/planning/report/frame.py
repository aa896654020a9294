"""A page: what is on it, and as HTML."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gangplan.errors import FieldViolation, InvalidInputError

_NEEDED = ("matplotlib", "jinja2")


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: their names.
        lines: cells as text, ``**bold**`` and nothing else of Markdown in them.
    """

    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        title: heading.
        text: what stands above the table.
        table: the table.
    """

    title: str
    table: Table
    text: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        title: heading.
        answer: sentences that say what came out, in large letters.
        facts: one line each: what it depends on, and how to read it.
        pictures: title and SVG of each.
        sections: tables, in order; pictures stand before the ``tail`` last ones.
        tail: how many tables stand below the pictures.
        command: what makes the page again; empty: nobody said.
    """

    title: str
    answer: Sequence[str] = ()
    facts: Sequence[str] = ()
    pictures: Sequence[tuple[str, str]] = ()
    sections: Sequence[Section] = field(default=())
    tail: int = 1_000
    command: str = ""


def check_libraries(option: str, hint: str = "") -> None:
    """Refuse early where a page cannot be drawn.

    Args:
        option: that asks for a page.
        hint: what can be done without.

    Raises:
        InvalidInputError: the libraries that draw it are not installed.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"{' and '.join(missing)} not installed: pip install 'gangplan[report]'{hint}"
        raise InvalidInputError([FieldViolation(option, reason)])


def html(page: Page) -> str:
    """The page as HTML: no script, no font, no network."""
    import jinja2
    from markupsafe import Markup, escape

    def bold(cell: str) -> Any:
        parts = cell.split("**")
        marked = (Markup("<b>{}</b>").format(part) if k % 2 else escape(part) for k, part in enumerate(parts))
        return Markup("").join(marked)

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["bold"] = bold
    source = Path(__file__).with_name("frame.html.j2").read_text(encoding="utf-8")
    drawn = [(title, Markup(svg)) for title, svg in page.pictures]
    above = max(0, len(page.sections) - page.tail)
    return environment.from_string(source).render(page=page, pictures=drawn, above=above)


def table(columns: Iterable[str], lines: Iterable[Iterable[str]]) -> Table:
    """A table without the columns that are empty in all lines."""
    names, rows = tuple(columns), [tuple(line) for line in lines]
    kept = [k for k in range(len(names)) if any(row[k] for row in rows)]
    return Table(tuple(names[k] for k in kept), tuple(tuple(row[k] for k in kept) for row in rows))
