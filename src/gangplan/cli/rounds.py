"""``gangplan rounds``: what a service has captured (``gangplan serve --capture DIR``)."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gangplan.cli.exits import Exit, explained, say
from gangplan.cli.options.answer import Output
from gangplan.cli.options.rounds import seconds
from gangplan.cli.output import Format, print_document

if TYPE_CHECKING:
    from gangplan.service.capture.replay import Judgement, Replayed
    from gangplan.v1 import captured_round_pb2

HELP = "List, show, replay, compare and export rounds that a service has captured."
_REPLAY_SECONDS = 600.0
MOST_LINES = 40
"""Differences printed one by one."""

_Bundle = Annotated[Path, typer.Argument(metavar="FILE", help="A captured round (.capture).")]


class SortBy(Enum):
    """Orders of a list."""

    TIME = "time"
    GAP = "gap"
    ELAPSED = "elapsed"


@explained
def list_(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that rounds are captured in.")],
    *,
    reason: Annotated[
        list[str] | None,
        typer.Option(help="Only those kept for it: share, slow, failed, fallen_back; repeat for more."),
    ] = None,
    sort: Annotated[SortBy, typer.Option(help="Oldest first, or largest first.")] = SortBy.TIME,
    output: Output = Format.TABLE,
) -> None:
    """List captured rounds: when, why kept, how large, how good, how long.

    \b
    gangplan rounds list /var/lib/gangplan/rounds
    gangplan rounds list rounds --reason slow --reason failed --sort gap -o json

    A damaged file is told on standard error and costs no other.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.errors import InvalidInputError
    from gangplan.service.capture.bundle import read_bundle
    from gangplan.service.capture.folder import bundles_of

    rows: list[dict[str, Any]] = []
    for path in bundles_of(folder):
        try:
            row = _row(path, read_bundle(path))
        except InvalidInputError as error:
            for violation in error.violations:
                say(f"damaged: {violation}")
            continue
        if not reason or set(reason) & set(row["reasons"]):
            rows.append(row)
    if sort is not SortBy.TIME:
        key = {SortBy.GAP: "relative_gap", SortBy.ELAPSED: "elapsed_s"}[sort]
        rows.sort(key=lambda row: row[key] if row[key] is not None else -1.0, reverse=True)
    if output is not Format.TABLE:
        print_document(rows, output)
        return
    from gangplan.cli.render.captured import rounds_table
    from gangplan.cli.render.console import print_answer

    print_answer(rounds_table(rows))


@explained
def show(file: _Bundle, *, output: Output = Format.TABLE) -> None:
    """Show a captured round: why it was kept, and its answer as `solve` shows one.

    \b
    gangplan rounds show rounds/20261130T034512.123456Z-a1b2c3d4.capture
    gangplan rounds show FILE -o json       # the CapturedRound in protobuf's JSON mapping
    """  # noqa: D301 - \b keeps the lines
    from gangplan.client.documents import document_of
    from gangplan.service.capture.bundle import read_bundle
    from gangplan.service.wire import read_result, read_round_request

    captured = read_bundle(file)
    if output is not Format.TABLE:
        print_document(document_of(captured), output)
        return
    from gangplan.cli.render.answer import answer
    from gangplan.cli.render.captured import headline
    from gangplan.cli.render.console import print_answer
    from gangplan.cli.render.situation import situation

    row = _row(file, captured)
    print_answer(headline(row, dict(captured.versions)))
    round_, _ = read_round_request(captured.request)
    if captured.HasField("response"):
        print_answer(answer(round_, read_result(captured.response), title=captured.capture_id))
    else:
        print_answer(situation(round_, title=f"{captured.capture_id}, no answer: {captured.error}"))


@explained
def replay(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE|DIR...", help="Captured rounds, or folders of them.")
    ],
    *,
    time_limit: Annotated[float | None, seconds("When to call off the replay of one round.", "10m")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Plan captured rounds again, by the steps that were taken then, and compare.

    \b
    gangplan rounds replay rounds/20261130T034512.123456Z-a1b2c3d4.capture
    gangplan rounds replay rounds -o json

    A round whose search ended by itself gives the same plan; of one that time cut short it is said where the
    two searches parted. Both plans are judged by the verifier. Exits with 4 when another plan comes out that
    nothing explains, or when one of the plans breaks a rule.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.engine.practice import compile_loops
    from gangplan.engine.worker_pool import WorkerPool
    from gangplan.service.capture.bundle import read_bundle
    from gangplan.service.capture.folder import bundles_of
    from gangplan.service.capture.replay import replay as again

    paths = [path for each in files for path in bundles_of(each)]
    rows: list[dict[str, Any]] = []
    compile_loops()
    pool = WorkerPool(1)
    try:
        pool.start()
        for path in paths:
            captured = read_bundle(path)
            replayed = again(captured, pool, time_limit=time_limit or _REPLAY_SECONDS)
            rows.append(_replayed(captured.capture_id, replayed))
            if output is Format.TABLE:
                _say_replayed(rows[-1])
    finally:
        pool.close()
    if output is not Format.TABLE:
        print_document(rows, output)
    if any(row["outcome"] == "DIFFERENT" or row["broken"] for row in rows):
        raise typer.Exit(Exit.VIOLATED)


@explained
def diff(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="A captured round.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Another one.")],
    *,
    output: Output = Format.TABLE,
) -> None:
    """Say in what two captured rounds differ: what was asked, what was answered, and by which versions.

    \b
    gangplan rounds diff before.capture after.capture
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.render.figures import counted
    from gangplan.service.capture.bundle import read_bundle
    from gangplan.service.capture.differences import answer_differences, round_differences
    from gangplan.service.wire import read_result, read_round_request

    a, b = read_bundle(first), read_bundle(second)
    asked = round_differences(*(read_round_request(each.request)[0] for each in (a, b)))
    answered: tuple[str, ...] = ()
    if a.HasField("response") and b.HasField("response"):
        answered = answer_differences(read_result(a.response), read_result(b.response))
    elif a.HasField("response") or b.HasField("response"):
        answered = (f"only the {'first' if a.HasField('response') else 'second'} has an answer",)
    versions = {
        name: [a.versions.get(name, ""), b.versions.get(name, "")]
        for name in sorted({*a.versions, *b.versions})
        if a.versions.get(name, "") != b.versions.get(name, "")
    }
    if output is not Format.TABLE:
        print_document({"round": list(asked), "answer": list(answered), "versions": versions}, output)
        return
    for title, lines in (
        ("round", asked),
        ("answer", answered),
        ("versions", tuple(f"{name}: {one} / {other}" for name, (one, other) in versions.items())),
    ):
        print(f"{title}: {counted(len(lines), 'difference')}")
        _print_lines(lines)


@explained
def export(
    file: _Bundle,
    *,
    round_file: Annotated[
        Path | None,
        typer.Option("--round", help="Write the round file (.json, .yaml, .pb).", metavar="FILE"),
    ] = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan", help="Write the answer (.json, .yaml, .pb).", metavar="FILE"),
    ] = None,
    mps: Annotated[
        Path | None,
        typer.Option(help="Write the whole programme as free MPS, for other solvers.", metavar="FILE"),
    ] = None,
    lp: Annotated[
        Path | None, typer.Option(help="Write the whole programme in CPLEX's LP format.", metavar="FILE")
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(help="Write a scenario file (.yaml), to be changed by hand.", metavar="FILE"),
    ] = None,
) -> None:
    """Write what is in a captured round for other programs.

    \b
    gangplan rounds export FILE --round round.json --plan plan.json
    gangplan rounds export FILE --mps round.mps      # for other solvers
    gangplan rounds export FILE --scenario round.yaml
    """  # noqa: D301 - \b keeps the lines
    from gangplan.errors import FieldViolation, InvalidInputError
    from gangplan.service.capture.bundle import read_bundle
    from gangplan.service.files import save_message
    from gangplan.service.wire import read_round_request

    wanted = [one for one in (round_file, plan_file, mps, lp, scenario) if one is not None]
    if not wanted:
        raise typer.BadParameter("say what to write: --round, --plan, --mps, --lp or --scenario")
    captured = read_bundle(file)
    if round_file is not None:
        save_message(round_file, captured.request)
    if plan_file is not None:
        if not captured.HasField("response"):
            raise InvalidInputError([FieldViolation("--plan", f"there was no answer: {captured.error}")])
        save_message(plan_file, captured.response)
    if mps is not None or lp is not None:
        from gangplan.model.formulation.formulate import formulate
        from gangplan.model.formulation.layout import build_layout
        from gangplan.model.instance.instance import build_instance
        from gangplan_solvers.model_files import write_lp, write_mps

        program = formulate(build_layout(build_instance(read_round_request(captured.request)[0])))
        if mps is not None:
            write_mps(program, mps)
        if lp is not None:
            write_lp(program, lp)
    if scenario is not None:
        from gangplan.planning.scenario import dumps, expand
        from gangplan.planning.scenario.from_round import scenario_of
        from gangplan.service.capture.differences import round_differences

        round_, parameters = read_round_request(captured.request)
        written = scenario_of(round_, parameters)
        header = f"The round {captured.capture_id}, as it was captured."
        scenario.write_text(dumps(written, header=header), encoding="utf-8")
        for line in round_differences(round_, expand(written)):
            say(f"a scenario cannot say it (in the round / in the scenario): {line}")
    for path in wanted:
        say(f"wrote {path}")


def _row(path: Path, captured: captured_round_pb2.CapturedRound) -> dict[str, Any]:
    """A captured round as a line of a list."""
    from gangplan.v1 import captured_round_pb2, quality_pb2

    response = captured.response if captured.HasField("response") else None
    request = captured.request
    quality = None if response is None else response.quality
    name = captured_round_pb2.CaptureReason.Name
    limit = quality_pb2.TerminationLimit.Name
    return {
        "file": str(path),
        "id": captured.capture_id,
        "captured_at": captured.captured_at.ToDatetime().isoformat(timespec="milliseconds") + "Z",
        "reasons": [name(each).removeprefix("CAPTURE_REASON_").lower() for each in captured.reasons],
        "on_session": captured.on_session,
        "nodes": len(request.cluster.nodes) + sum(len(each.names) for each in request.cluster.node_classes),
        "jobs": len(request.jobs) + sum(len(each.names) for each in request.job_classes),
        "waiting": None if response is None else len(response.verdicts),
        "objective": None if quality is None else quality.objective,
        "relative_gap": None if quality is None else quality.relative_gap,
        "limit": ""
        if response is None
        else limit(response.termination.limit).removeprefix("TERMINATION_LIMIT_"),
        "detail": captured.error if response is None else response.termination.detail,
        "elapsed_s": captured.elapsed.ToNanoseconds() / 1e9,
        "allowed_s": captured.allowed.ToNanoseconds() / 1e9,
    }


def _replayed(name: str, replayed: Replayed) -> dict[str, Any]:
    """A replay as a document."""
    judged = {"now": replayed.judged, "then": replayed.judged_then}
    return {
        "id": name,
        "outcome": replayed.outcome.value,
        "why": replayed.why,
        "parted_at_candidate": replayed.parted,
        "differences": list(replayed.differences),
        "versions": {key: list(value) for key, value in replayed.versions.items()},
        "judged": {key: None if one is None else _judged(one) for key, one in judged.items()},
        "broken": any(one is not None and one.violations for one in judged.values()),
    }


def _judged(judgement: Judgement) -> dict[str, Any]:
    return {
        "objective": judgement.objective,
        "as_said": judgement.as_said,
        "violations": list(judgement.violations),
    }


def _say_replayed(row: dict[str, Any]) -> None:
    print(f"{row['id']}: {row['outcome']}: {row['why']}")
    if row["parted_at_candidate"] is not None:
        print(f"  the searches parted at candidate {row['parted_at_candidate']}")
    for when, judged in row["judged"].items():
        if judged is None:
            continue
        said = "as its answer says" if judged["as_said"] else "not what its answer says"
        valid = "valid" if not judged["violations"] else "; ".join(judged["violations"])
        print(f"  the plan {when}: {valid}, worth {judged['objective']:.6f}, {said}")
    _print_lines(row["differences"])


def _print_lines(lines: Any) -> None:
    for line in lines[:MOST_LINES]:
        print(f"  {line}")
    if len(lines) > MOST_LINES:
        print(f"  and {len(lines) - MOST_LINES:,} more")


list_.__name__ = "list"
VERBS = (list_, show, replay, diff, export)
