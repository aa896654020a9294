"""``gangplan check``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli.exits import Exit, explained
from gangplan.cli.options.rounds import At, RoundFile


@explained
def check(
    round_file: RoundFile,
    plan_file: Annotated[
        Path,
        typer.Argument(metavar="PLAN", help="The PlanRoundResponse to judge (.json, .yaml, .pb, .capture)."),
    ],
    *,
    at: At = None,
) -> None:
    """Judge a plan, whoever made it, with the independent verifier.

    \b
    gangplan solve scenarios/gang.yaml -o json > plan.json
    gangplan check scenarios/gang.yaml plan.json

    Exits with 0 when it breaks no rule, else with 4 and every violation on standard output.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.inputs import read_input
    from gangplan.cli.render.figures import counted, value
    from gangplan.model.verifier.verify import verify
    from gangplan.service.files import load_answer
    from gangplan.service.wire import read_followed_outlook, read_plan

    given, answer = read_input(round_file, at), load_answer(plan_file)
    round_ = replace(given.round, outlook=read_followed_outlook(answer) or given.round.outlook)
    found = verify(round_, read_plan(answer))
    if not found.valid:
        for violation in found.violations:
            print(violation)
        print(counted(len(found.violations), "violation"))
        raise typer.Exit(Exit.VIOLATED)
    print(f"valid: worth {value(found.objective)} GPU-equivalents")
    for term, part in found.objective_by_term.items():
        print(f"  {term} {value(part)}")
