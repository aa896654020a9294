"""Which runs stand beside each other: ours on our instance, and both on the prototype's of the same name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from gangplan.bench.runs import Run

PIPELINE = "prototype-pipeline"
SOLVERS = ("highs", "cpsat")
"""What the prototypes' whole models can be solved by."""


def runs(run: Run, folder: Path, python: str) -> Iterator[Run]:
    """A run of a suite, and those beside it.

    Args:
        run: of a suite. One that is on the prototype's instances already only learns where they are.
        folder: of the prototypes.
        python: an interpreter that has what they need.
    """
    options = {**run.options, "instance_of": "prototype", "python": python}
    there = dataclasses.replace(run, source=str(folder), options=options)
    if run.options.get("instance_of") == "prototype":
        if run.who == "gangplan" or run.solver in SOLVERS:
            yield there
        return
    yield run
    if run.instance.split("/")[1] == "steady":
        yield there
        yield dataclasses.replace(
            there, who=PIPELINE, solver="highs", pipeline="full", transport="in_process"
        )
