"""``gangplan scenario``: validate, show, expand, schema."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli.exits import explained, say
from gangplan.cli.options.rounds import At
from gangplan.cli.output import Format, print_document

HELP = "Validate, show and expand scenario files."

_File = Annotated[Path, typer.Argument(metavar="FILE", help="A scenario file.")]


class DocumentFormat(Enum):
    """Forms of a round on standard output."""

    JSON = "json"
    YAML = "yaml"


@explained
def validate(files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files.")]) -> None:
    """Check scenario files: their form, and every round in them.

    \b
    gangplan scenario validate scenarios/*.yaml
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.render.figures import counted
    from gangplan.errors import FieldViolation, InvalidInputError
    from gangplan.planning.scenario import expand as expanded
    from gangplan.planning.scenario import load

    violations: list[FieldViolation] = []
    for file in files:
        try:
            scenario = load(file)
            rounds = [expanded(scenario, at=at, folder=file.parent) for at in range(len(scenario.at))]
        except InvalidInputError as error:
            violations += error.violations
            continue
        sizes = (len(rounds), "round"), (len(rounds[0].cluster.nodes), "node"), (len(rounds[-1].jobs), "job")
        later = sum(
            group.arrives + number * group.every > scenario.at[-1]
            for group in scenario.jobs
            for number, _ in enumerate(group.numbered_names())
        )
        come = f", {counted(later, 'more job')} later" if later else ""
        print(f"{file}: valid, {', '.join(counted(number, noun) for number, noun in sizes)}{come}")
    if violations:
        raise InvalidInputError(violations)


@explained
def show(file: _File, *, at: At = None) -> None:
    """Show a scenario's cluster and jobs as they are before any plan.

    \b
    gangplan scenario show scenarios/full-cluster.yaml
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.inputs import read_input
    from gangplan.cli.render.console import print_answer
    from gangplan.cli.render.situation import situation

    given = read_input(file, at)
    print_answer(situation(given.round, title=given.title))


@explained
def expand(
    file: _File,
    *,
    at: At = None,
    output: Annotated[
        DocumentFormat, typer.Option("--output", "-o", help="Form of the round on standard output.")
    ] = DocumentFormat.JSON,
    to: Annotated[
        Path | None, typer.Option(help="Write a round file (.json, .yaml, .pb) instead.", metavar="FILE")
    ] = None,
    compact: Annotated[bool, typer.Option(help="Fold alike nodes and jobs to classes.")] = False,
) -> None:
    """Write a scenario out as a round file: a PlanRoundRequest in protobuf's JSON mapping.

    \b
    gangplan scenario expand scenarios/gang.yaml > round.json
    gangplan scenario expand scenarios/gang.yaml --compact --to round.pb
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.inputs import read_input
    from gangplan.client.documents import document_of
    from gangplan.service.files import save_message
    from gangplan.service.wire import write_round

    given = read_input(file, at)
    request = write_round(given.round, given.parameters, compact=compact)
    if to is not None:
        save_message(to, request)
        say(f"wrote {to}")
        return
    print_document(document_of(request), Format(output.value))


@explained
def schema() -> None:
    """Print the JSON schema of scenario files, for editors.

    \b
    gangplan scenario schema > scenario.schema.json
    """  # noqa: D301 - \b keeps the lines
    from gangplan.planning.scenario import json_schema

    print_document(json_schema(), Format.JSON)


VERBS = (validate, show, expand, schema)
