"""``gangplan admit``."""

from __future__ import annotations

import typer

from gangplan.cli.exits import Exit, explained
from gangplan.cli.options.answer import Output
from gangplan.cli.options.rounds import At, Job, RoundFile
from gangplan.cli.output import Format, print_document


@explained
def admit(
    file: RoundFile,
    *,
    job: Job,
    at: At = None,
    output: Output = Format.TABLE,
) -> None:
    """Say whether a waiting job can be let in: whether it can meet its deadline beside the others'.

    \b
    gangplan admit scenarios/deadline.yaml --job c-urgent
    gangplan admit round.json --job nightly -o json

    The job needs a deadline and known work left. A yes comes with a schedule that the verifier accepted, a no
    is proved. Exits with 0 for a yes, else 4.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.inputs import read_input
    from gangplan.client.documents import document_of
    from gangplan.domain.admission import Admission
    from gangplan.engine.admit import admit as asked
    from gangplan.engine.budget import Budget
    from gangplan.service.wire.write_admission import write_admission

    given = read_input(file, at)
    found = asked(given.round, job, budget=Budget(given.parameters.time_budget_seconds))
    if output is not Format.TABLE:
        print_document(document_of(write_admission(found)), output)
    else:
        print(f"{job}: {found.answer.value.replace('_', ' ')}: {found.message}")
        for name in found.giving_way:
            print(f"  gives way: {name}")
        for condition in found.conditions:
            print(f"  as long as {condition}")
        if found.earliest_deadline is not None:
            print(f"  earliest date that is not refuted: {_said(found.earliest_deadline)}")
    if found.answer not in (Admission.YES, Admission.YES_IF):
        raise typer.Exit(Exit.VIOLATED)


def _said(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
