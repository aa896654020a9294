"""What verbs that read or write trace files have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

TraceFile = Annotated[Path, typer.Argument(metavar="FILE", help="A trace (.jsonl, .jsonl.gz).")]


def written(what: str) -> Any:
    """``-o``, of a verb that writes a file; what it writes, for the help."""
    return typer.Option("--output", "-o", help=what, show_default="standard output")


TraceTo = Annotated[Path | None, written("Trace file to write (.jsonl, .jsonl.gz).")]
