"""``gangplan explain``, ``gangplan recommend`` and ``gangplan shares``: questions about jobs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gangplan.cli.exits import Exit, explained
from gangplan.cli.options.answer import form
from gangplan.cli.options.rounds import At, Job, RoundFile, TimeLimit, answer_within
from gangplan.cli.output import Format, print_document

if TYPE_CHECKING:
    from gangplan.v1 import placement_service_pb2

_Answer = Annotated[Format, form("the contract's answer")]
_EXPLAINING_SECONDS = 30.0
"""Unless somebody says otherwise; most rounds are explained in a fraction of it."""


@explained
def explain(
    round_file: RoundFile,
    plan_file: Annotated[
        Path | None,
        typer.Argument(
            metavar="PLAN",
            help="The PlanRoundResponse that is explained (.json, .yaml, .pb, .capture); without it the "
            "round is planned first.",
        ),
    ] = None,
    *,
    job: Job,
    time_limit: Annotated[float | None, answer_within("the file's, at least 30s")] = None,
    at: At = None,
    output: _Answer = Format.TABLE,
) -> None:
    """Say why a job waits and what would let it start, or why it runs where it runs.

    \b
    gangplan explain scenarios/full-cluster.yaml --job waiting-1
    gangplan solve round.json -o json > plan.json; gangplan explain round.json plan.json --job train-3

    What would let it start has been tried: with that change alone the verifier accepts a plan with it.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.inputs import read_input
    from gangplan.client import Client
    from gangplan.client.documents import document_of
    from gangplan.service.files import load_answer
    from gangplan.service.wire import read_followed_outlook, read_plan

    given = read_input(round_file, at)
    round_, plan = given.round, None
    if plan_file is not None:
        answer = load_answer(plan_file)
        round_ = replace(round_, outlook=read_followed_outlook(answer) or round_.outlook)
        plan = read_plan(answer)
    seconds = time_limit or max(_EXPLAINING_SECONDS, given.parameters.time_budget_seconds)
    with Client.in_process(start=plan is None) as client:
        found = client.explain_job(round_, job, plan=plan, time_budget=seconds)
    if output is not Format.TABLE:
        print_document(document_of(found), output)
        return
    _print_explained(found)


@explained
def recommend(
    round_file: RoundFile,
    *,
    job: Job,
    limit: Annotated[int, typer.Option(help="Most places to name.", min=1, max=100)] = 10,
    without_evictions: Annotated[
        bool, typer.Option("--without-evictions", help="Only places that nobody has to leave.")
    ] = False,
    time_limit: TimeLimit = None,
    at: At = None,
    output: _Answer = Format.TABLE,
) -> None:
    """Rank the places for one job, all that runs staying as it is but for those that must leave.

    \b
    gangplan recommend scenarios/topology-rack.yaml --job one-rack
    gangplan recommend round.json --job train-3 --limit 3 --without-evictions -o json

    Each place is a plan that the verifier accepts. Exits with 4 when there is none.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.inputs import read_input
    from gangplan.client import Client
    from gangplan.client.documents import document_of

    given = read_input(round_file, at)
    seconds = given.parameters.time_budget_seconds if time_limit is None else time_limit
    with Client.in_process(start=False) as client:
        found = client.recommend_placements(
            given.round, job, limit=limit, without_evictions=without_evictions, time_budget=seconds
        )
    if output is not Format.TABLE:
        print_document(document_of(found), output)
    else:
        for number, place in enumerate(found.recommendations, 1):
            here = ", here it runs now" if place.present else ""
            print(f"{number}. {_where(place.placements)} ({place.scope}{here}): {place.message}")
        if found.HasField("verdict"):
            print(f"no place: {found.verdict.message}")
    if not found.recommendations:
        raise typer.Exit(Exit.VIOLATED)


@explained
def shares(round_file: RoundFile, *, at: At = None, output: _Answer = Format.TABLE) -> None:
    """Show what every job and queue is owed: shares, entitlements, fairness ratios.

    \b
    gangplan shares scenarios/fairness-queues.yaml
    gangplan shares round.json -o json      # with each figure's formula and source
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.inputs import read_input
    from gangplan.client.documents import document_of
    from gangplan.model.verifier.shares import fair_shares
    from gangplan.service.wire.write_about_job import write_fair_shares

    found = write_fair_shares(fair_shares(read_input(round_file, at).round))
    if output is not Format.TABLE:
        print_document(document_of(found), output)
        return
    from gangplan.cli.render.console import print_answer
    from gangplan.cli.render.shares import shares_tables

    print_answer(shares_tables(found))


def _print_explained(found: placement_service_pb2.ExplainJobResponse) -> None:
    print(found.message)
    if found.HasField("verdict"):
        for name in found.verdict.conflict_set:
            print(f"  in its way: {name}")
        for change in found.verdict.counterfactuals:
            print(f"  {change.message}")
    for number, place in enumerate(found.alternatives, 1):
        print(f"  other place {number}: {_where(place.placements)} ({place.scope}): {place.message}")


def _where(placements: object) -> str:
    from gangplan.cli.render.figures import ranges

    return ", ".join(
        f"{place.node}[{ranges(place.devices)}]" if place.devices else f"{place.node} x {place.tasks}"
        for place in placements  # type: ignore[attr-defined]
    )
