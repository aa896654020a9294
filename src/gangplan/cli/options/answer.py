"""The form in which an answer leaves."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gangplan.cli.output import Format


def form(content: str) -> Any:
    """``-o``, of a verb whose documents hold what is said of them.

    Args:
        content: what json and yaml hold, for the help.
    """
    return typer.Option("--output", "-o", help=f"Form of the answer; json and yaml: {content}, nothing else.")


Output = Annotated[Format, typer.Option("--output", "-o", help="Form of the answer.")]
"""Of a verb whose documents hold what the table shows."""
