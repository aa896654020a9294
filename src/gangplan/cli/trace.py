"""``gangplan trace``: what is in a trace file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli.exits import explained
from gangplan.cli.output import Format, print_document

HELP = "Look at a trace file."


@explained
def describe(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace (.jsonl, .jsonl.gz).")],
    *,
    output: Annotated[Format, typer.Option("--output", "-o", help="Form of the answer.")] = Format.TABLE,
) -> None:
    """Say what is in a trace: counts, span, sizes, durations."""
    from gangplan.planning.trace.describe import describe as sum_up
    from gangplan.planning.trace.lines import read_records

    found = sum_up(read_records(file))
    if output is Format.TABLE:
        from gangplan.cli.render.console import print_answer
        from gangplan.cli.render.trace import trace

        print_answer(trace(found))
        return
    from dataclasses import asdict

    document = asdict(found) | {"header": found.header.model_dump(exclude_defaults=True)}
    document["gpus"] = {f"{size:g}": jobs for size, jobs in found.gpus.items()}
    document["durations"] = {f"p{100 * part:g}": seconds for part, seconds in found.durations.items()}
    document["span_days"] = found.span_days
    print_document(document, output)


VERBS = (describe,)
