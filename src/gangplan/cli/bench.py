"""``gangplan bench``: run, report, gate, profile."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gangplan.cli.durations import duration
from gangplan.cli.exits import Exit, explained, say

if TYPE_CHECKING:
    from gangplan.bench.runs import Run

HELP = "Measure rounds and solvers, report, and compare with what was."

_Suite = Annotated[
    str,
    typer.Option(
        help="A suite's name (smoke, targets, growth, hard, gate, formulations, solvers, prototypes, openb) "
        "or a .toml file.",
        metavar="NAME|FILE",
    ),
]
_Only = Annotated[
    list[str] | None,
    typer.Option(help="A size (L) or a glob over names ('*/85/*'); may be repeated.", metavar="GLOB"),
]
_Solver = Annotated[
    list[str] | None,
    typer.Option(help="Backend, instead of the suite's; may be repeated. `gangplan solvers` lists them."),
]
_Limit = Annotated[
    float | None,
    typer.Option(
        help="Time limit of each run, instead of the suite's: 10s, 500ms.",
        parser=duration,
        metavar="DURATION",
    ),
]


def _numbers(text: str | None) -> tuple[int, ...] | None:
    """``0,1,2`` or ``0-4``."""
    if text is None:
        return None
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            found += range(int(first), int(last if dash else first) + 1)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is no list of numbers such as 0,1,2 or 0-4") from None
    return tuple(found)


def _program(text: str | None) -> str:
    """A program's path, whatever folder it is started in; by default this interpreter's."""
    if text is None:
        return sys.executable
    return os.path.abspath(text) if os.sep in text else text  # noqa: PTH100 (a venv's link must stay one)


@explained
def run(
    *,
    suite: _Suite = "smoke",
    only: _Only = None,
    seeds: Annotated[
        str | None, typer.Option(help="Seeds, instead of the suite's: 0,1,2 or 0-4.", metavar="LIST")
    ] = None,
    solver: _Solver = None,
    pipeline: Annotated[
        list[str] | None, typer.Option(help="auto, full or greedy, instead of the suite's; may be repeated.")
    ] = None,
    time_limit: _Limit = None,
    memory_limit: Annotated[
        int | None,
        typer.Option(help="Most resident MB of all processes of a run; above it, it is OOM.", min=1),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(
            help="Instead of a suite: anybody's model, .mps or .lp (maybe .gz), by each backend that can be "
            "used here.",
            metavar="FILE",
        ),
    ] = None,
    prototypes: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the prototypes: their figures on the same instances, in the same run.",
            metavar="DIR",
        ),
    ] = None,
    prototypes_python: Annotated[
        str | None,
        typer.Option(
            help="Interpreter with numpy, scipy, numba, highspy and ortools.",
            metavar="PYTHON",
            show_default="this one",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder that a suite's instances are read from (openb).", metavar="DIR"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Append rows to FILE.jsonl (or keep one list in FILE.json); what stands there for the same "
            "code is not measured again.",
            metavar="FILE",
            show_default="rows go to standard output",
        ),
    ] = None,
    again: Annotated[bool, typer.Option(help="Measure again what stands in the file already.")] = False,
    list_only: Annotated[bool, typer.Option("--list", help="Print the runs and measure nothing.")] = False,
) -> None:
    """Measure a suite, or anybody's model; each run in a process of its own, one row each.

    \b
    gangplan bench run
    gangplan bench run --suite targets --only L -o build/targets.jsonl
    gangplan bench run --suite hard --only 'M/cpu-heavy/*' --solver highs --solver cpsat --time-limit 30s
    gangplan bench run --suite targets --prototypes DIR -o build/both.jsonl
    gangplan bench run --model their.mps --solver highs --time-limit 1m

    A run that dies or hangs is a row, too: TIMEOUT, OOM or ERROR. Exit code 4 when a row is WRONG or ERROR,
    rows contradict each other, or one misses what its suite requires.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.bench import selection
    from gangplan.bench.driver import measure_all
    from gangplan.bench.problems import problems
    from gangplan.bench.progress import named, shown
    from gangplan.bench.rows import RowFile

    chosen = selection.Selection(
        suite=suite,
        only=tuple(only or ()),
        seeds=_numbers(seeds),
        solvers=tuple(solver or ()),
        pipelines=tuple(pipeline or ()),
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
        models=tuple(model or ()),
        prototypes=prototypes,
        prototypes_python=_program(prototypes_python),
        data=data,
    )
    runs: tuple[Run, ...] = chosen.runs()
    if list_only:
        for each in runs:
            print(f"{each.suite} {named(each)} {each.time_limit_s:g} s")
        return
    kept = RowFile(output)
    with shown(len(runs)) as progress:
        rows = measure_all(runs, kept, again=again, on_row=progress.done, on_start=progress.started)
    if output is None:
        import json

        for row in rows:
            print(json.dumps(row))
    wrong = problems(rows, require=chosen.require)
    for line in wrong:
        say(f"WRONG: {line}")
    if wrong:
        raise typer.Exit(Exit.VIOLATED)


VERBS = (run,)
