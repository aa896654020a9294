"""What verbs that plan a round, or ask about one, have in common."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from gangplan.cli.durations import duration


class PipelineChoice(Enum):
    """Which steps run."""

    AUTO = "auto"
    FULL = "full"
    GREEDY = "greedy"


def which_steps(default: str | bool = True) -> Any:  # noqa: FBT001 - as typer has it
    """``--pipeline``; what the help says it is by default."""
    return typer.Option(help="Steps to take: greedy asks no solver.", show_default=default)


def backend(default: str | bool = True) -> Any:  # noqa: FBT001 - as typer has it
    """``--solver``; what the help says it is by default."""
    return typer.Option(help="Backend; `gangplan solvers` lists them.", show_default=default)


def seconds(about: str, default: str | bool = True) -> Any:  # noqa: FBT001 - as typer has it
    """An option that is a duration.

    Args:
        about: its help.
        default: what the help says it is by default.
    """
    return typer.Option(help=about, parser=duration, metavar="DURATION", show_default=default)


def answer_within(default: str | bool = True) -> Any:  # noqa: FBT001 - as typer has it
    """``--time-limit`` of one round; what the help says it is by default."""
    return seconds("When the answer must be there: 10s, 500ms, 1h30m.", default)


RoundFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A scenario (.yaml), a round file (.json, .yaml, .pb) or a captured round (.capture).",
    ),
]
TimeLimit = Annotated[float | None, answer_within("the file's, or 5s")]
At = Annotated[int | None, typer.Option(help="Which of a scenario's rounds, from 0.", min=0)]
Job = Annotated[str, typer.Option(help="Name of the job.")]
Seed = Annotated[
    int | None, typer.Option(help="Seed of everything random.", min=0, show_default="the file's, or 0")
]
