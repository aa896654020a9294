"""``gangplan whatif``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gangplan.cli.exits import explained, resumable
from gangplan.cli.options.answer import form
from gangplan.cli.options.page import Report, check_page, write_page
from gangplan.cli.options.places import check_places
from gangplan.cli.options.simulations import State, Workers, processes
from gangplan.cli.output import Format, print_document
from gangplan.cli.render.counting import counting

if TYPE_CHECKING:
    from gangplan.planning.study.ask import Progress, Runner


@explained
def whatif(
    study: Annotated[
        Path | None, typer.Argument(metavar="STUDY", help="A study (.yaml).", show_default=False)
    ] = None,
    *,
    workers: Workers = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run on a Ray cluster instead (extra `ray`): `local` starts one here, `auto` joins the one "
            "that runs here, HOST:PORT that of its head, ray://HOST:PORT through Ray's client.",
        ),
    ] = None,
    cpus: Annotated[float, typer.Option(help="CPUs of one simulation on Ray.", min=0.01)] = 1.0,
    state: State = None,
    report: Report = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of study files, for editors.")
    ] = False,
    output: Annotated[Format, form("answer, findings and points")] = Format.TABLE,
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

    check_page(report)
    check_places(state=state)
    given = studies.load(study)
    finished = Finished(state)
    with resumable(state, "--state FILE"), counting("simulation") as tell:

        def on_progress(progress: Progress) -> None:
            last = "" if progress.last is None else label(progress.last)
            tell(progress.done, progress.wanted, last)

        result = ask(given, _runner(workers, ray, cpus), finished, on_progress)
    write_page(report, result.document())
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
    from gangplan.planning.study.runners.local import Local

    return Local(processes(workers))
