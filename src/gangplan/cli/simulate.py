"""``gangplan simulate``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gangplan.cli.durations import duration
from gangplan.cli.exits import explained, say
from gangplan.cli.options.answer import form
from gangplan.cli.options.page import Report, check_page, write_page
from gangplan.cli.options.places import check_places
from gangplan.cli.options.rounds import Seed, seconds
from gangplan.cli.options.simulations import Cluster, MostJobs
from gangplan.cli.output import Format, print_document
from gangplan.cli.render.counting import counting
from gangplan.cli.render.figures import counted
from gangplan.planning.default_policy import DEFAULT_POLICY

if TYPE_CHECKING:
    from gangplan.planning.rounds.history import History
    from gangplan.planning.rounds.loop import RoundRecord, Settings
    from gangplan.planning.rounds.state import State
    from gangplan.planning.sources import Source

_OPTIONS = {
    "queue": "--queue",
    "skip": "--skip",
    "most_jobs": "--most-jobs",
    "load": "--load",
    "elastic": "--elastic",
    "types": "--type",
    "restart_seconds": "--restart",
}
"""What says how a trace is replayed, by the field of :class:`~gangplan.planning.trace.replay.Replay`."""
_KEEP_SECONDS = 60.0


def _time(text: str) -> float:
    """A duration, 0 as well."""
    return 0.0 if text.strip() == "0" else duration(text)


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
            help="A scenario (.yaml), a trace (.jsonl, with --cluster), or a generated history: small/seed0, "
            "S/300/100/seed0 (size, rounds of arrivals, load in percent).",
        ),
    ],
    *,
    policy: Annotated[str, typer.Option(help="Who decides; --policy list lists them.")] = DEFAULT_POLICY,
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
    seed: Seed = None,
    rounds: Annotated[
        int | None,
        typer.Option(help="Rounds after which it ends, whoever is left.", min=1, show_default="the file's"),
    ] = None,
    pipeline: Annotated[
        StepsChoice, typer.Option(help="Steps that gangplan's own policies take: greedy asks no solver.")
    ] = StepsChoice.FULL,
    time_limit: Annotated[
        float | None,
        seconds("Of each round, for gangplan's own policies; without it a run repeats exactly.", "none"),
    ] = None,
    cluster: Cluster = None,
    queue: Annotated[str | None, typer.Option(help="Only jobs of this queue of the trace.")] = None,
    skip: Annotated[
        int,
        typer.Option(help="Of a trace: pass over so many jobs first.", min=0),
    ] = 0,
    most_jobs: MostJobs = None,
    load: Annotated[
        float,
        typer.Option(help="Of a trace: let jobs arrive so many times as fast.", min=1e-6),
    ] = 1.0,
    elastic: Annotated[
        bool,
        typer.Option("--elastic", help="Of a trace: let jobs have any measured number of GPUs."),
    ] = False,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="WORD=TYPE",
            help="The cluster's type by the trace's word for it.",
        ),
    ] = None,
    restart: Annotated[
        float,
        typer.Option(
            help="Of a trace: what every start of a job costs.",
            parser=_time,
            metavar="DURATION",
        ),
    ] = "0",  # type: ignore[assignment]  # parsed
    mtbf: Annotated[float | None, seconds("Mean time to a failure of each node.", "none fails")] = None,
    repair: Annotated[float, seconds("Mean time until it is back.")] = "1h",  # type: ignore[assignment]  # parsed
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep the world here every minute, and go on from there when it is there."
        ),
    ] = None,
    report: Report = None,
    jobs_parquet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a row for each job as Parquet (extra `parquet`)."),
    ] = None,
    series: Annotated[
        bool,
        typer.Option(
            "--series", help="With -o json: use over time and who held what, for `gangplan report`."
        ),
    ] = False,
    output: Annotated[Format, form("run, metrics and jobs")] = Format.TABLE,
) -> None:
    """Play a scenario or a trace round by round: what becomes of its jobs when a policy decides.

    \b
    gangplan simulate scenarios/rush-hour.yaml --policy list
    gangplan simulate scenarios/rush-hour.yaml --policy fifo --told noisy
    gangplan simulate scenarios/rush-hour.yaml --policy fifo --report page.html --jobs-parquet jobs.parquet
    gangplan simulate S/300/100/seed0 --policy tracking --preset deadline -o json
    gangplan simulate gavel.jsonl --cluster site.yaml --policy fifo --most-jobs 500
    gangplan simulate gavel.jsonl --cluster site.yaml --type v100=V100 --mtbf 30d --state world.json
    """  # noqa: D301 - \b keeps the lines
    from dataclasses import asdict

    from gangplan.errors import InvalidInputError
    from gangplan.planning import policies, sources
    from gangplan.planning.metrics import job_reports, measure
    from gangplan.planning.rounds.loop import Settings, play
    from gangplan.planning.rounds.told import Told
    from gangplan.planning.trace.replay import Replay

    if policy == "list":
        told_of = policies.describe()
        width = max(map(len, told_of)) + 2
        for name, about in told_of.items():
            print(f"{name:{width}}{about}")
        return
    _check_files(report, jobs_parquet, state)
    how_replayed: dict[str, Any] = {
        "queue": queue,
        "skip": skip,
        "most_jobs": most_jobs,
        "load": load,
        "elastic": elastic,
        "types": _pairs(types or []),
        "restart_seconds": restart,
    }
    source = _source(scenario, cluster, how_replayed)
    seed = source.seed if seed is None else seed
    try:
        found = source.history(Replay(seed=seed, **how_replayed))
    except InvalidInputError as error:
        raise error.placed(
            lambda field: _OPTIONS.get(field, scenario if field == "trace" else field)
        ) from None
    for reason, count in (*found.left_out.items(), *found.changed.items()):
        say(f"{'left out' if reason in found.left_out else 'changed'}: {reason} ({count:,})")
    telling = source.telling(None if told is None else Told(told.value), noise, seed)
    settings = Settings(telling, source.most_rounds if rounds is None else rounds)
    history = found.history.under(preset, "--preset")
    if mtbf is not None:
        history = sources.failing(history, settings.most_rounds, mtbf, repair, history.seed)
    how = policies.How(pipeline=pipeline.value, time_budget_seconds=time_limit, seed=history.seed)
    decides = policies.make(policy, how)
    with counting("job") as tell, _kept(state, history, policy, settings) as (begin, keep):

        def on_round(record: RoundRecord) -> None:
            there = counted(len(record.before.live), "job")
            tell(len(record.after.ended), len(history.arrivals), f"round {record.number}, {there} there")
            keep(record)

        played = play(history, decides, settings, on_round=on_round, begin=begin)
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
    recorded: dict[str, Any] = {"run": run, "metrics": metrics.document()}
    recorded["jobs"] = [asdict(one) for one in reports]
    if report is not None or series:
        from gangplan.planning.report.recording import series as over_time

        recorded["series"] = over_time(played, metrics, reports)
    write_page(report, recorded)
    if jobs_parquet is not None:
        from gangplan.planning.report.parquet import write_jobs

        write_jobs(reports, jobs_parquet, run)
    if output is Format.TABLE:
        from gangplan.cli.render.console import print_answer
        from gangplan.cli.render.simulation import simulation

        print_answer(simulation(run, metrics, reports))
    else:
        if not series:
            recorded.pop("series", None)
        print_document(recorded, output)


def _check_files(report: Path | None, jobs_parquet: Path | None, state: Path | None) -> None:
    """Refuse what cannot be written before anything is played."""
    check_page(report)
    check_places(jobs_parquet=jobs_parquet, state=state)
    if jobs_parquet is not None:
        from gangplan.planning.report.parquet import check_library

        check_library("--jobs-parquet")


def _source(scenario: str, cluster: Path | None, how: dict[str, Any]) -> Source:
    """What is played; what is said of a trace is refused without one.

    Raises:
        InvalidInputError: it cannot be read, or ``how`` says something of a trace that is none.
    """
    from gangplan.errors import FieldViolation, InvalidInputError
    from gangplan.planning import sources
    from gangplan.planning.trace.replay import Replay

    unset = Replay()
    said = [_OPTIONS[name] for name, value in how.items() if value != getattr(unset, name)]
    if said and cluster is None and not sources.is_trace(Path(scenario)):
        description = "is of a trace: replay one with --cluster"
        raise InvalidInputError([FieldViolation(option, description) for option in said])
    return sources.read(scenario, cluster)


def _pairs(words: list[str]) -> dict[str, str]:
    from gangplan.errors import FieldViolation, InvalidInputError

    wrong = [word for word in words if not all(word.partition("="))]
    if wrong:
        raise InvalidInputError([FieldViolation("--type", f"{word!r} is no WORD=TYPE") for word in wrong])
    return {word.partition("=")[0]: word.partition("=")[2] for word in words}


@contextmanager
def _kept(
    path: Path | None, history: History, policy: str, settings: Settings
) -> Iterator[tuple[State | None, Callable[[RoundRecord], None]]]:
    """The world that was kept, if any, and what keeps it now and then; removed when all is done."""
    if path is None:
        yield None, lambda _: None
        return
    import time

    from gangplan.planning.rounds.saved import belongs_to, restore, save

    belongs = belongs_to(history, policy, settings)
    begin = restore(path, belongs) if path.exists() else None
    if begin is not None:
        say(f"goes on from round {begin.totals.rounds:,}, kept in {path}")
    kept = time.monotonic()
    latest: State | None = None

    def keep(record: RoundRecord) -> None:
        nonlocal kept, latest
        latest = record.after
        if time.monotonic() - kept >= _KEEP_SECONDS:
            save(latest, belongs, path)
            kept = time.monotonic()

    try:
        yield begin, keep
    except BaseException:
        if latest is not None:
            save(latest, belongs, path)
            say(f"kept in {path}: the same command goes on from there")
        raise
    path.unlink(missing_ok=True)
