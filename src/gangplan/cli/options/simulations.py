"""What verbs that play simulations have in common."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

Cluster = Annotated[
    Path | None, typer.Option(help="Of a trace: a scenario with nodes, catalogue and policy.")
]
MostJobs = Annotated[
    int | None,
    typer.Option(help="Of a trace: replay so many jobs, by submission.", min=1, show_default="all"),
]
Workers = Annotated[
    int | None, typer.Option(help="Processes at a time.", min=1, show_default="one for each core")
]
State = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Keep finished simulations here, and do not play them again."),
]


def processes(workers: int | None) -> int:
    """How many processes play at a time, when ``--workers`` says ``workers``."""
    return workers or len(os.sched_getaffinity(0))
