"""``gangplan solvers``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gangplan.cli.exits import explained
from gangplan.cli.options.answer import Output
from gangplan.cli.options.connection import Address, Ca, Cert, Key, TokenFile, connect
from gangplan.cli.output import Format, print_document

if TYPE_CHECKING:
    from gangplan.client.answers import SolverDescription


@explained
def solvers(
    *,
    address: Address = None,
    ca: Ca = None,
    cert: Cert = None,
    key: Key = None,
    token_file: TokenFile = None,
    output: Output = Format.TABLE,
) -> None:
    """List the solver backends, and why one cannot be used.

    \b
    gangplan solvers
    gangplan solvers --address 127.0.0.1:50051 -o json
    gangplan solvers --address planner.example:50051 --ca ca.pem --token-file kueue.token
    """  # noqa: D301 - \b keeps the lines
    from gangplan.client import Client

    with (
        connect(address, ca=ca, cert=cert, key=key, token_file=token_file)
        if address
        else Client.in_process(start=False) as client
    ):
        found = client.list_solvers()
    if output is not Format.TABLE:
        print_document([_document(solver) for solver in found], output)
        return
    from rich.table import Table

    from gangplan.cli.render.console import print_answer

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("solver")
    table.add_column("usable")
    table.add_column("version")
    table.add_column("can do, or why not", overflow="fold")
    for solver in found:
        features = ", ".join(feature.lower().replace("_", " ") for feature in solver.features)
        usable = "yes" if solver.available else "no"
        table.add_row(solver.name, usable, solver.version, features if solver.available else solver.reason)
    print_answer(table)


def _document(solver: SolverDescription) -> dict[str, object]:
    return {
        "name": solver.name,
        "available": solver.available,
        "version": solver.version,
        "reason": solver.reason,
        "features": list(solver.features),
    }
