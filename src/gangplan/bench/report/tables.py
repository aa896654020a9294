"""What a report is made of, before it is Markdown or HTML: a head and sections of tables."""

from __future__ import annotations

from dataclasses import dataclass, field


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
class Document:
    """A report.

    Attributes:
        title: heading.
        facts: one line each: machine, versions, how to read it.
        sections: in order.
    """

    title: str
    facts: tuple[str, ...]
    sections: tuple[Section, ...] = field(default=())
