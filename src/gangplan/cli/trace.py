"""``gangplan trace``: what is in a trace file, and others like it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gangplan.cli.exits import explained, say
from gangplan.cli.options.answer import Output
from gangplan.cli.options.places import check_places
from gangplan.cli.options.traces import TraceFile, TraceTo
from gangplan.cli.output import Format, print_document

HELP = "Look at a trace file, or draw others like it."


@explained
def describe(
    file: TraceFile,
    *,
    output: Output = Format.TABLE,
) -> None:
    """Say what is in a trace: counts, span, sizes, durations.

    \b
    gangplan trace describe gavel.jsonl
    gangplan trace describe philly.jsonl.gz -o json
    """  # noqa: D301 - \b keeps the lines
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


@explained
def fit(
    file: TraceFile,
    *,
    jobs: Annotated[
        int | None, typer.Option(help="How many to draw.", min=1, show_default="as many as it has")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all draws.", min=0)] = 0,
    to: TraceTo = None,
) -> None:
    """Draw a trace with the arrivals, sizes, kinds and durations of another.

    \b
    gangplan trace fit gavel.jsonl --jobs 10000 --seed 1 -o like-gavel.jsonl
    """  # noqa: D301 - \b keeps the lines
    from gangplan.planning.trace.fit import Fitted
    from gangplan.planning.trace.lines import line_of, load, write_records

    check_places(output=to)
    given = load(file)
    drawn = Fitted(given).draw(jobs or len(given.jobs), seed)
    if to is None:
        sys.stdout.writelines(map(line_of, drawn))
    else:
        write_records(drawn, to)
        say(f"wrote {to}")


VERBS = (describe, fit)
