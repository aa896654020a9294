"""``gangplan simulate``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gangplan.cli.durations import duration
from gangplan.cli.exits import explained
from gangplan.cli.output import Format, print_document

if TYPE_CHECKING:
    from gangplan.planning.rounds.history import History
    from gangplan.planning.rounds.loop import RoundRecord, Settings


class ToldChoice(Enum):
    """What the policy is told of the work left."""

    EXACT = "exact"
    NOISY = "noisy"
    PREDICTED = "predicted"
    UNKNOWN = "unknown"


class StepsChoice(Enum):
    """Which steps the engine takes."""

    FULL = "full"
    GREEDY = "greedy"


@explained
def simulate(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="A scenario (.yaml), or a generated history: small/seed0, S/300/100/seed0 "
            "(size, rounds of arrivals, load in percent).",
        ),
    ],
    *,
    policy: Annotated[str, typer.Option(help="Who decides; --policy list lists them.")] = "myopic",
    preset: Annotated[
        str | None,
        typer.Option(help="What gangplan's own policies weigh: a name that `gangplan policies` lists."),
    ] = None,
    told: Annotated[
        ToldChoice | None,
        typer.Option(help="What it is told of how long jobs run.", show_default="the file's, or exact"),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(help="Largest relative error of --told noisy.", min=0, max=0.99, show_default="0.3"),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seed of everything random.", min=0, show_default="the file's, or 0")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(help="Rounds after which it ends, whoever is left.", min=1, show_default="the file's"),
    ] = None,
    pipeline: Annotated[
        StepsChoice, typer.Option(help="Steps that gangplan's own policies take: greedy asks no solver.")
    ] = StepsChoice.FULL,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Of each round, for gangplan's own policies; without it a run repeats exactly.",
            parser=duration,
            metavar="DURATION",
            show_default="none",
        ),
    ] = None,
    output: Annotated[
        Format,
        typer.Option("--output", "-o", help="json and yaml: run, metrics and jobs, and nothing else."),
    ] = Format.TABLE,
) -> None:
    """Play a scenario round by round: what becomes of its jobs when a policy decides."""
    from dataclasses import asdict

    from gangplan.planning import policies
    from gangplan.planning.metrics import job_reports, measure
    from gangplan.planning.rounds.loop import play

    if policy == "list":
        for name, about in policies.describe().items():
            print(f"{name:24} {about}")
        return
    history, settings = _read(scenario, told, noise, seed, rounds)
    history = history.under(preset, "--preset")
    how = policies.How(pipeline=pipeline.value, time_budget_seconds=time_limit, seed=history.seed)
    decides = policies.make(policy, how)
    with _progress(history) as on_round:
        played = play(history, decides, settings, on_round=on_round)
    reports = job_reports(played)
    metrics = measure(played, reports)
    run: dict[str, Any] = {
        "history": history.name or scenario,
        "policy": policy,
        "preset": preset,
        "told": settings.telling.told.value,
        "noise": settings.telling.noise,
        "seed": settings.telling.seed,
        "pipeline": pipeline.value,
        "time_limit_s": time_limit,
    }
    if output is Format.TABLE:
        from gangplan.cli.render.console import print_answer
        from gangplan.cli.render.simulation import simulation

        print_answer(simulation(run, metrics, reports))
    else:
        jobs = [asdict(report) for report in reports]
        print_document({"run": run, "metrics": metrics.document(), "jobs": jobs}, output)


def _read(
    scenario: str, told: ToldChoice | None, noise: float | None, seed: int | None, rounds: int | None
) -> tuple[History, Settings]:
    """The history, and how it is played; options come before what the file says."""
    from gangplan.planning import histories
    from gangplan.planning.rounds.loop import Settings
    from gangplan.planning.rounds.told import Telling, Told
    from gangplan.planning.scenario import history, load
    from gangplan.planning.scenario.schema import SimulationPart

    path = Path(scenario)
    part = SimulationPart()
    if path.suffix.lower() in {".yaml", ".yml"} or path.is_file():
        read = load(path)
        part, found = read.simulation, history(read, folder=path.parent)
    else:
        found = histories.named(scenario)
    telling = Telling(
        Told(part.told if told is None else told.value),
        noise=part.noise if noise is None else noise,
        seed=found.seed if seed is None else seed,
    )
    return found, Settings(telling, part.rounds if rounds is None else rounds)


@contextmanager
def _progress(history: History) -> Iterator[Callable[[RoundRecord], None]]:
    """A bar on standard error while it is played: how many jobs have ended."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from gangplan.cli.render.console import talk_console

    columns = (BarColumn(24), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=talk_console(), transient=True) as bar:
        task = bar.add_task("", total=len(history.arrivals))

        def on_round(record: RoundRecord) -> None:
            ended = sum(job.finished is not None for job in record.after.jobs.values())
            there = len(record.before.present)
            bar.update(task, completed=ended, description=f"round {record.number}, {there} jobs there")

        yield on_round
