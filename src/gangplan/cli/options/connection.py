"""How a verb with ``--address`` reaches a service: the same options for all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gangplan.client import Client

Address = Annotated[
    str | None,
    typer.Option(help="Ask the service at HOST:PORT instead.", metavar="HOST:PORT"),
]
Ca = Annotated[
    Path | None,
    typer.Option(
        "--ca", help="Who signs the service's certificate, PEM: talk over TLS.", envvar="GANGPLAN_CA"
    ),
]
Cert = Annotated[
    Path | None, typer.Option("--cert", help="Our own certificate, PEM.", envvar="GANGPLAN_CERT")
]
Key = Annotated[Path | None, typer.Option("--key", help="Its private key, PEM.", envvar="GANGPLAN_KEY")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="File with the token to show; $GANGPLAN_TOKEN may hold it as well.",
        envvar="GANGPLAN_TOKEN_FILE",
    ),
]


def connect(
    address: str,
    *,
    ca: Path | None = None,
    cert: Path | None = None,
    key: Path | None = None,
    token_file: Path | None = None,
) -> Client:
    """A client of the service at ``address``.

    What is not given here and has no option of its own is taken from the environment.

    Raises:
        InvalidInputError: a file cannot be read, or a token would travel in the clear.
    """
    from dataclasses import replace

    from gangplan.client import Client, Credentials

    found = Credentials.from_environment()
    credentials = replace(found, ca=ca, certificate=cert, key=key, token_file=token_file)
    return Client(address, credentials=credentials)
