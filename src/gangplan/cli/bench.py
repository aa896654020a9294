"""``gangplan bench``: run, report, gate, profile."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gangplan.cli.exits import Exit, explained, resumable, say
from gangplan.cli.options.places import check_places
from gangplan.cli.options.rounds import PipelineChoice, answer_within, backend, seconds, which_steps

if TYPE_CHECKING:
    from gangplan.bench.runs import Run
    from gangplan.bench.suites import Suite

HELP = "Measure rounds and solvers, report, and compare with what was."

_Suite = Annotated[
    str,
    typer.Option(
        help="A suite's name (smoke, targets, growth, hard, gate, formulations, solvers, overruns, "
        "faults, churn, service, deltas, durations, histories, look-ahead, policies, policies-full, "
        "prototypes, openb, openb-fill, published, simulation-speed) or a .toml file.",
        metavar="NAME|FILE",
    ),
]
_Only = Annotated[
    list[str] | None,
    typer.Option(
        help="A size (L), a glob over instances ('*/85/*') or what --list prints; may be repeated.",
        metavar="GLOB",
    ),
]
_Solver = Annotated[
    list[str] | None,
    typer.Option(help="Backend, instead of the suite's; may be repeated. `gangplan solvers` lists them."),
]
_Limit = Annotated[float | None, seconds("Time limit of each run, instead of the suite's: 10s, 500ms.")]


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
    captured: Annotated[
        list[Path] | None,
        typer.Option(
            help="Instead of a suite: captured rounds (.capture), or a folder of them, each within the time "
            "that it had; may be repeated.",
            metavar="FILE|DIR",
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
        typer.Option(
            help="Folder that a suite's instances are read from (openb, openb-fill, policies, published) "
            "or their profiles (formulations).",
            metavar="DIR",
        ),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option(help="How long the load of the suite `service` lasts, instead of ten.", min=0.1),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="table, json (one list of rows) or jsonl (a line for each), on standard output; or "
            "FILE.jsonl, to which rows are appended (FILE.json: one list): what stands there for the same "
            "code is not measured again.",
            metavar="FORMAT|FILE",
        ),
    ] = "table",
    again: Annotated[bool, typer.Option(help="Measure again what stands in the file already.")] = False,
    list_only: Annotated[bool, typer.Option("--list", help="Print the runs and measure nothing.")] = False,
) -> None:
    """Measure a suite, or anybody's model; each run in a process of its own, one row each.

    \b
    gangplan bench run
    gangplan bench run --suite targets --only S -o json
    gangplan bench run --suite targets --only L -o build/targets.jsonl
    gangplan bench run --suite hard --only 'M/cpu-heavy/*' --solver highs --solver cpsat --time-limit 30s
    gangplan bench run --suite targets --prototypes DIR -o build/both.jsonl
    gangplan bench run --suite formulations --only 'sia/512x2048/* rounding *' --time-limit 10s
    gangplan bench run --suite openb-fill --data DIR -o json
    gangplan bench run --suite published --data DIR -o json
    gangplan bench run --suite service --minutes 2 -o json
    gangplan bench run --model their.mps --solver highs --time-limit 1m
    gangplan bench run --captured /var/lib/gangplan/rounds --solver every -o json

    A run that dies or hangs is a row, too: TIMEOUT, OOM or ERROR. Exit code 4 when a row is WRONG or ERROR,
    rows contradict each other, or one misses what its suite requires.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.bench import selection
    from gangplan.bench.driver import measure_all
    from gangplan.bench.problems import problems
    from gangplan.bench.progress import shown
    from gangplan.bench.report.forms import FORMS
    from gangplan.bench.rows import RowFile
    from gangplan.bench.runs import named

    chosen = selection.Selection(
        suite=suite,
        only=tuple(only or ()),
        seeds=_numbers(seeds),
        solvers=tuple(solver or ()),
        pipelines=tuple(pipeline or ()),
        time_limit_s=time_limit,
        memory_limit_mb=memory_limit,
        models=tuple(model or ()),
        captured=tuple(captured or ()),
        prototypes=prototypes,
        prototypes_python=_program(prototypes_python),
        data=data,
        minutes=minutes,
    )
    runs: tuple[Run, ...] = chosen.runs()
    for solver_, reason in chosen.left_out().items():
        say(f"left out: {solver_} cannot be used here: {reason}")
    if list_only:
        for each in runs:
            print(f"{each.suite} {named(each)} {each.time_limit_s:g} s")
        return
    file = None if output in FORMS else Path(output)
    check_places(output=file, makes_folders=True)
    kept = RowFile(file)
    with resumable(file, "-o FILE.jsonl"), shown(len(runs)) as progress:
        rows = measure_all(runs, kept, again=again, on_row=progress.done, on_start=progress.started)
    if output in FORMS:
        print(FORMS[output](rows), end="")
    wrong = problems(rows, require=chosen.require)
    for line in wrong:
        say(f"problem: {line}")
    if wrong:
        raise typer.Exit(Exit.VIOLATED)


@explained
def report(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Rows: .jsonl or .json.")],
    *,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write one self-contained page with pictures there (needs the extra `report`).",
            metavar="FILE",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the Markdown there.",
            metavar="FILE",
            show_default="standard output",
        ),
    ] = None,
    notes: Annotated[
        list[str] | None, typer.Option(help="A remark for the head of the report; may be repeated.")
    ] = None,
) -> None:
    """Make tables of rows: Markdown, and with --html a page with pictures.

    \b
    gangplan bench report build/targets.jsonl
    gangplan bench report build/*.jsonl -o build/report.md --html build/report.html

    Medians with the smallest and the largest over seeds beside them; unsolved counts at its limit.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.bench.report import markdown
    from gangplan.bench.rows import latest, read_rows

    rows = latest(read_rows(files))
    text = markdown.document(rows, notes=tuple(notes or ()))
    if output is None:
        print(text, end="")
    else:
        output.write_text(text, encoding="utf-8")
        say(f"wrote {output}")
    if html is not None:
        from gangplan.bench.report import page

        html.write_text(page.document(rows, notes=tuple(notes or ())), encoding="utf-8")
        say(f"wrote {html}")


@explained
def gate(
    *,
    suite: Annotated[
        str,
        typer.Option(help="gate, or growth, which measures XL and XXL for minutes.", metavar="NAME|FILE"),
    ] = "gate",
    only: _Only = None,
    gates: Annotated[
        Path,
        typer.Option(help="The committed figures.", metavar="FILE", show_default="benchmarks/gates.toml"),
    ] = Path("benchmarks/gates.toml"),
    update: Annotated[bool, typer.Option("--update", help="Write the figures anew instead.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="With growth: keep the rows in FILE.jsonl.", metavar="FILE"),
    ] = None,
) -> None:
    """Compare deterministic counters with committed ones; exit code 1 and what grew, when one did.

    \b
    gangplan bench gate
    gangplan bench gate --update
    gangplan bench gate --suite growth -o build/growth.jsonl

    Counters are iterations, nodes, columns, rows, candidates: no seconds, so that no busy machine fails it.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.bench import suites

    chosen = suites.load(suite)
    if chosen.growth is not None:
        _growth_gate(chosen, tuple(only or ()), output)
        return
    from gangplan.bench import gate as gating

    if only and not any(chosen.runs(only=tuple(only))):
        raise typer.BadParameter(f"no run of {suite!r} matches {', '.join(only)}", param_hint="--only")
    found = gating.measure(
        chosen.runs(only=tuple(only or ())), lambda name, result: say(f"{name}  {result.reason.value}")
    )
    if update:
        old = gating.read(gates) if gates.is_file() else gating.Gates(gating.TOLERANCE, gating.ALLOWANCE, {})
        kept = dict(old.counters) if only else {}
        gating.write(gates, gating.Gates(old.tolerance, old.allowance, kept | found))
        say(f"wrote {gates}: {len(found)} runs")
        return
    committed = gating.read(gates)
    if only:
        mine = {name: one for name, one in committed.counters.items() if name in found}
        committed = gating.Gates(committed.tolerance, committed.allowance, mine)
    for finding in gating.shrunk(committed, found):
        say(f"better: {finding}")
    refused = gating.compare(committed, found)
    for finding in refused:
        print(finding)
    if refused:
        say("The gate is shut. If the change is meant: gangplan bench gate --update, and say why.")
        raise typer.Exit(Exit.BUG)
    say(f"{len(found)} runs within the gate")


def _growth_gate(suite: Suite, only: tuple[str, ...], output: Path | None) -> None:
    """Measure what is not measured yet, and fit."""
    from gangplan.bench.driver import measure_all
    from gangplan.bench.growth import exponents, markdown
    from gangplan.bench.progress import shown
    from gangplan.bench.rows import RowFile

    assert suite.growth is not None
    runs = list(suite.runs(only=only))
    with shown(len(runs)) as progress:
        rows = measure_all(runs, RowFile(output), on_row=progress.done, on_start=progress.started)
    try:
        found = exponents(rows, suite.growth)
    except ValueError as error:
        say(f"error: no exponents: {error}")
        raise typer.Exit(Exit.BUG) from error
    print(markdown(found, suite.growth), end="")
    refused = [one.refused for one in found if one.refused]
    for sentence in refused:
        say(sentence)
    if refused:
        raise typer.Exit(Exit.BUG)


@explained
def profile(
    instance: Annotated[
        str,
        typer.Argument(
            metavar="INSTANCE", help="A generated instance (L/steady/85/seed0), a scenario or a round file."
        ),
    ],
    *,
    pipeline: Annotated[PipelineChoice, which_steps()] = PipelineChoice.AUTO,
    solver: Annotated[str, backend()] = "auto",
    time_limit: Annotated[float | None, answer_within("10s")] = None,
    top: Annotated[int, typer.Option(help="How many functions.", min=1)] = 25,
    sort: Annotated[
        str, typer.Option(help="own: time in the function itself; all: with what it calls.")
    ] = "own",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the profile for pstats and viewers.", metavar="FILE"),
    ] = None,
) -> None:
    """Show where the time of one round goes: seconds by phase, and the functions with the most time.

    \b
    gangplan bench profile L/steady/85/seed0
    gangplan bench profile XL/steady/50/seed0 --pipeline greedy --sort all --top 40
    gangplan bench profile scenarios/full-cluster.yaml -o build/full.pstats

    The phases are timed without the profiler, in a run of their own; solvers run in this process.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.bench.profiler import profile as profiled
    from gangplan.cli.render.bench import profile_tables
    from gangplan.cli.render.console import print_answer
    from gangplan.engine.parameters import PlanParameters

    if sort not in {"own", "all"}:
        raise typer.BadParameter(f"{sort!r} is neither own nor all", param_hint="--sort")
    path = Path(instance)
    if path.is_file():
        from gangplan.cli.inputs import read_input

        round_ = read_input(path).round
    else:
        from gangplan.planning.generate import generate_named

        round_ = generate_named(instance)
    parameters = PlanParameters(
        time_budget_seconds=time_limit or 10.0, pipeline=pipeline.value, solver=solver
    )
    found = profiled(round_, parameters, top=top, by=sort)
    print_answer(profile_tables(instance, found))
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        found.stats.dump_stats(str(output))
        say(f"wrote {output}")


VERBS = (run, report, gate, profile)
