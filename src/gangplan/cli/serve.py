"""``gangplan serve``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli.exits import Exit, explained, say


@explained
def serve(
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.", envvar="GANGPLAN_HOST")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port; 0 takes a free one.", envvar="GANGPLAN_PORT", min=0, max=65535)
    ] = 50051,
    slots: Annotated[
        int,
        typer.Option(
            help="Rounds planned at a time; each has a solver process.", envvar="GANGPLAN_SLOTS", min=1
        ),
    ] = 2,
    queue: Annotated[
        int, typer.Option(help="Calls that may wait; more are refused.", envvar="GANGPLAN_QUEUE", min=0)
    ] = 16,
    max_message_mib: Annotated[
        int, typer.Option(help="Largest request and answer, MiB.", envvar="GANGPLAN_MAX_MESSAGE_MIB", min=1)
    ] = 64,
    grace: Annotated[
        float,
        typer.Option(help="Seconds for calls in flight after SIGTERM.", envvar="GANGPLAN_GRACE", min=0),
    ] = 30.0,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            help="Port for Prometheus; 0 takes a free one. Without it there are no metrics.",
            envvar="GANGPLAN_METRICS_PORT",
            min=0,
            max=65535,
        ),
    ] = None,
    sessions: Annotated[
        str,
        typer.Option(
            help="Where sessions are kept: an SQLite file, postgresql://HOST/DATABASE for several services,"
            " or `memory`, gone with the service. Without it, gangplan/sessions.db in the user's folder for"
            " state.",
            envvar="GANGPLAN_SESSIONS",
        ),
    ] = "",
    session_hours: Annotated[
        float,
        typer.Option(
            help="How long a session is kept unused, hours.", envvar="GANGPLAN_SESSION_HOURS", min=0.001
        ),
    ] = 1.0,
    worker_memory_mib: Annotated[
        int | None,
        typer.Option(
            help="Resident size at which a solver process is ended and replaced, MiB; without it no limit.",
            envvar="GANGPLAN_WORKER_MEMORY_MIB",
            min=1,
        ),
    ] = None,
    log_level: Annotated[str, typer.Option(help="Least level logged.", envvar="GANGPLAN_LOG_LEVEL")] = "info",
) -> None:
    """Answer calls over gRPC until SIGTERM or SIGINT.

    \b
    gangplan serve
    gangplan serve --host 0.0.0.0 --slots 4 --metrics-port 9090
    gangplan serve --port 0 --sessions memory
    gangplan serve --sessions postgresql://db.example/gangplan

    Prints HOST:PORT once calls are answered; the log goes to standard error as JSON.
    """  # noqa: D301 - \b keeps the lines
    from gangplan.observe.logs import LogFormat, configure_logs
    from gangplan.service.options import MEBIBYTE, ServerOptions
    from gangplan.service.server import serve as run

    configure_logs(LogFormat.JSON, log_level)
    options = ServerOptions(
        host=host,
        port=port,
        max_message_bytes=max_message_mib * MEBIBYTE,
        slots=slots,
        queue=queue,
        grace_seconds=grace,
        metrics_port=metrics_port,
        sessions=None if sessions == "memory" else sessions or str(_sessions_file()),
        session_seconds=session_hours * 3600.0,
        worker_memory_bytes=None if worker_memory_mib is None else worker_memory_mib * MEBIBYTE,
    )
    try:
        run(options, lambda address: print(address, flush=True))
    except OSError as error:
        hint = "--sessions FILE" if "sessions" in str(error) else "--port, or 0 for a free one"
        say(f"error: {error}. Choose another with {hint}.")
        raise typer.Exit(Exit.INVALID_INPUT) from error


def _sessions_file() -> Path:
    """Where state of the user's programs belongs (XDG Base Directory Specification 0.8)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return folder / "gangplan" / "sessions.db"
