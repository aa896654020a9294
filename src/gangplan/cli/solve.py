"""``gangplan solve``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gangplan.cli.exits import Exit, explained, say
from gangplan.cli.options.answer import form
from gangplan.cli.options.connection import Address, Ca, Cert, Key, TokenFile, connect
from gangplan.cli.options.rounds import At, PipelineChoice, RoundFile, Seed, TimeLimit, backend, which_steps
from gangplan.cli.output import Format, print_document

if TYPE_CHECKING:
    from gangplan.cli.render.progress import Progress
    from gangplan.client import Client
    from gangplan.v1 import round_pb2


@explained
def solve(
    file: RoundFile,
    *,
    pipeline: Annotated[PipelineChoice | None, which_steps("the file's, or auto")] = None,
    solver: Annotated[str | None, backend("the file's, or auto")] = None,
    time_limit: TimeLimit = None,
    seed: Seed = None,
    address: Address = None,
    ca: Ca = None,
    cert: Cert = None,
    key: Key = None,
    token_file: TokenFile = None,
    output: Annotated[Format, form("the PlanRoundResponse")] = Format.TABLE,
    progress: Annotated[
        bool, typer.Option("--progress", help="Show every improvement on standard error while it is found.")
    ] = False,
    proposer: Annotated[
        list[str] | None,
        typer.Option(
            help="Installed proposer to ask as well; repeat for more.",
            metavar="NAME",
            show_default="the file's",
        ),
    ] = None,
    step: Annotated[
        list[str] | None,
        typer.Option(
            help="What to do otherwise than by the round's size: fruitless=0, branching_share=0.5, "
            "sift=0.001, enough=0.01, programmes=100:0.5:large,all:1; repeat for more.",
            metavar="NAME=VALUE",
            show_default="the file's",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit with 4 when a job has no placement.")] = False,
    at: At = None,
) -> None:
    """Plan one round and show the plan: here, or by a service.

    \b
    gangplan solve scenarios/full-cluster.yaml
    gangplan solve scenarios/rush-hour.yaml --time-limit 500ms --progress
    gangplan solve round.json --solver highs --strict -o json
    gangplan solve round.json --address 127.0.0.1:50051 -o yaml
    gangplan solve round.json --address planner.example:50051 --ca ca.pem --token-file kueue.token
    gangplan solve round.pb --step fruitless=0 --step programmes=500:0.5,all:1
    """  # noqa: D301 - \b keeps the lines
    from gangplan.cli.inputs import read_input
    from gangplan.client import Client
    from gangplan.service.wire import read_result, write_round

    shown = _progress() if progress else None
    # A solver process of our own gets ready while the file is read.
    with (
        connect(address, ca=ca, cert=cert, key=key, token_file=token_file)
        if address
        else Client.in_process(
            start=pipeline is not PipelineChoice.GREEDY, on_stage=None if shown is None else shown.stage
        ) as client
    ):
        given = read_input(file, at)
        parameters = given.parameters
        if pipeline is not None:
            parameters = replace(parameters, pipeline=pipeline.value)
        if solver is not None:
            parameters = replace(parameters, solver=solver)
        if time_limit is not None:
            parameters = replace(parameters, time_budget_seconds=time_limit)
        if seed is not None:
            parameters = replace(parameters, seed=seed)
        if proposer:
            parameters = replace(parameters, proposers=tuple(dict.fromkeys(proposer)))
        if step:
            from gangplan.engine.steps import read_steps

            parameters = replace(parameters, steps=read_steps(step))
        request = write_round(given.round, parameters, compact=True)
        with shown or nullcontext():
            if shown is None or address is None:
                response = client.send_round(request)
            else:
                response = _followed(client, request, shown)
            result = read_result(response)
            if shown is not None:
                shown.finish(result)
    if output is Format.TABLE:
        from gangplan.cli.render.answer import answer
        from gangplan.cli.render.console import print_answer

        print_answer(answer(given.round, result, title=given.title))
    else:
        from gangplan.client.documents import document_of

        print_document(document_of(response), output)
    if strict and result.verdicts:
        say(f"{len(result.verdicts)} of {len(given.round.jobs)} jobs have no placement")
        raise typer.Exit(Exit.VIOLATED)


def _followed(
    client: Client, request: round_pb2.PlanRoundRequest, shown: Progress
) -> round_pb2.PlanRoundResponse:
    """A service's last answer; what is new in each of them is shown as it comes."""
    from gangplan.errors import ServiceError
    from gangplan.service.wire import read_result

    response = None
    for told in client.send_stream(request):
        response = told.answer
        for stage in read_result(response).stages:
            shown.stage(stage)
    if response is None:
        raise ServiceError("the stream ended without an answer", "INTERNAL")
    return response


def _progress() -> Progress:
    from gangplan.cli.render.progress import Progress

    return Progress()
