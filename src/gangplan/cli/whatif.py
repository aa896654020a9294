"""``gangplan whatif``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gangplan.cli.exits import explained, say
from gangplan.cli.output import Format, print_document
from gangplan.cli.render.counting import counting

if TYPE_CHECKING:
    from gangplan.planning.study.ask import Progress, Runner

_INTERRUPTED = 130


@explained
def whatif(
    study: Annotated[
        Path | None, typer.Argument(metavar="STUDY", help="A study (.yaml).", show_default=False)
    ] = None,
    *,
    workers: Annotated[
        int | None, typer.Option(help="Processes at a time.", min=1, show_default="one for each core")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Ray cluster instead (extra `ray`): `local` starts one here, `auto` joins the one "
            "that runs here, HOST:PORT that of its head, ray://HOST:PORT through Ray's client.",
        ),
    ] = None,
    cpus: Annotated[float, typer.Option(help="CPUs of one simulation on Ray.", min=0.01)] = 1.0,
    state: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep finished simulations here, and do not play them again."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with pictures (extra `report`).")
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of study files, for editors.")
    ] = False,
    output: Annotated[
        Format, typer.Option("--output", "-o", help="json and yaml: answer, findings and points.")
    ] = Format.TABLE,
) -> None:
    """Answer a capacity question by simulations: how many nodes, which mix, what does losing a leaf cost.

    \b
    gangplan whatif scenarios/studies/deadlines.yaml
    gangplan whatif scenarios/studies/deadlines.yaml --report answer.html --state finished.jsonl
    gangplan whatif scenarios/studies/cheapest-mix.yaml --workers 2 -o json
    gangplan whatif scenarios/studies/deadlines.yaml --ray local
    """  # noqa: D301 - \b keeps the lines
    from gangplan.planning import study as studies

    if schema:
        print_document(studies.json_schema(), Format.JSON)
        return
    if study is None:
        raise typer.BadParameter("name a study, e.g. scenarios/studies/deadlines.yaml", param_hint="STUDY")
    from gangplan.planning.study.ask import ask
    from gangplan.planning.study.finished import Finished
    from gangplan.planning.study.result import label

    if report is not None:
        from gangplan.planning.report.frame import check_libraries

        check_libraries("--report")
    given = studies.load(study)
    finished = Finished(state)
    try:
        with counting("simulation") as tell:

            def on_progress(progress: Progress) -> None:
                last = "" if progress.last is None else label(progress.last)
                tell(progress.done, progress.wanted, last)

            result = ask(given, _runner(workers, ray, cpus), finished, on_progress)
    except KeyboardInterrupt:
        if state is not None and state.exists():
            say(f"kept in {state}: the same command goes on from there")
        raise typer.Exit(_INTERRUPTED) from None
    if report is not None:
        from gangplan.planning.report import pages

        pages.write(report, pages.page_of([result.document()], shlex.join(["gangplan", *sys.argv[1:]])))
    if output is Format.TABLE:
        from gangplan.cli.render.console import print_answer
        from gangplan.cli.render.study import study as shown

        print_answer(shown(result))
    else:
        print_document(result.document(), output)


def _runner(workers: int | None, ray: str | None, cpus: float) -> Runner:
    if ray is not None:
        from gangplan.planning.study.runners.ray import OnRay

        return OnRay(ray, cpus)
    import os

    from gangplan.planning.study.runners.local import Local

    return Local(workers or len(os.sched_getaffinity(0)))
