"""Rows on standard output: as tables for people, or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from gangplan.bench.report import markdown
from gangplan.bench.runs import Row


def _list(rows: Sequence[Row]) -> str:
    return json.dumps(rows, indent=1) + "\n"


def _lines(rows: Sequence[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


FORMS: Mapping[str, Callable[[Sequence[Row]], str]] = MappingProxyType(
    {"table": markdown.document, "json": _list, "jsonl": _lines}
)
"""By the name that ``--output`` takes; anything else there is a file."""
