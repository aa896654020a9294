"""What a report is made of, before it is Markdown or HTML: a head and sections of tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from gangplan.planning.report.frame import Section, Table

__all__ = ["Document", "Section", "Table"]


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
