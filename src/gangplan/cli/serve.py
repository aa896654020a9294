"""``gangplan serve``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from gangplan.cli.exits import Exit, explained, say
from gangplan.cli.settings import HEADER, file_of_settings, shown

_KIND = "serve/v1"


@explained
def serve(
    context: typer.Context,
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            help=f"YAML file that begins with `gangplan: {_KIND}` and has options by name, e.g."
            " `metrics_port: 9090`. Flags count before the environment, that before the file.",
            envvar="GANGPLAN_CONFIG",
            metavar="FILE",
            is_eager=True,
            callback=file_of_settings(_KIND),
        ),
    ] = None,
    show_config: Annotated[
        bool,
        typer.Option(
            "--show-config", help="Print every setting and where it is from, passwords masked, and end."
        ),
    ] = False,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on; beyond loopback it needs TLS, and --callers or --client-ca.",
            envvar="GANGPLAN_HOST",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="Port; 0 takes a free one.", envvar="GANGPLAN_PORT", min=0, max=65535)
    ] = 50051,
    tls_cert: Annotated[
        Path | None,
        typer.Option(
            help="The service's certificate with its chain, PEM. Read anew when it changes.",
            envvar="GANGPLAN_TLS_CERT",
        ),
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(help="Its private key, PEM.", envvar="GANGPLAN_TLS_KEY")
    ] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option(
            help="Who signs the callers' certificates, PEM; every caller then needs one.",
            envvar="GANGPLAN_CLIENT_CA",
        ),
    ] = None,
    callers: Annotated[
        Path | None,
        typer.Option(
            help="Who may call: names, scopes, tokens, limits (`gangplan token` adds to it). Read anew when"
            " it changes.",
            envvar="GANGPLAN_CALLERS",
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure",
            help="INSECURE: listen beyond loopback without TLS or without knowing who calls.",
            envvar="GANGPLAN_INSECURE",
        ),
    ] = False,
    calls_per_second: Annotated[
        float | None,
        typer.Option(
            help="Of each caller whose entry in --callers has none; without it no limit.",
            envvar="GANGPLAN_CALLS_PER_SECOND",
            min=0.001,
        ),
    ] = None,
    burst: Annotated[
        int, typer.Option(help="Calls at once of each such caller.", envvar="GANGPLAN_BURST", min=1)
    ] = 20,
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
            help="Port for Prometheus (/metrics) and the live page (/); 0 takes a free one. Without it there"
            " are none.",
            envvar="GANGPLAN_METRICS_PORT",
            min=0,
            max=65535,
        ),
    ] = None,
    metrics_host: Annotated[
        str,
        typer.Option(help="Its address; beyond loopback as --host.", envvar="GANGPLAN_METRICS_HOST"),
    ] = "127.0.0.1",
    health_port: Annotated[
        int | None,
        typer.Option(
            help="Another port of --host with grpc.health.v1 alone and in the clear, for Kubernetes' probes.",
            envvar="GANGPLAN_HEALTH_PORT",
            min=0,
            max=65535,
        ),
    ] = None,
    reuse_port: Annotated[
        bool,
        typer.Option(
            "--reuse-port",
            help="Share the ports with another service, so that one takes the place of the other without a"
            " gap.",
            envvar="GANGPLAN_REUSE_PORT",
        ),
    ] = False,
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
    otlp_endpoint: Annotated[
        str | None,
        typer.Option(
            help="Where traces are sent by OTLP over gRPC, e.g. http://127.0.0.1:4317; needs gangplan[otel].",
            envvar="GANGPLAN_OTLP_ENDPOINT",
            metavar="URL",
        ),
    ] = None,
    capture: Annotated[
        str | None,
        typer.Option(
            help="Folder in which planned rounds are kept, for `gangplan rounds`. Without it none are.",
            envvar="GANGPLAN_CAPTURE",
            metavar="DIR",
        ),
    ] = None,
    capture_rounds: Annotated[
        str,
        typer.Option(
            help="Which: all, notable (slow, failed or fallen back on less than asked for), or a share from 0"
            " to 1 beside the notable ones.",
            envvar="GANGPLAN_CAPTURE_ROUNDS",
        ),
    ] = "all",
    capture_mib: Annotated[
        int,
        typer.Option(
            help="Most of all kept rounds, MiB; the oldest are deleted.",
            envvar="GANGPLAN_CAPTURE_MIB",
            min=1,
        ),
    ] = 1024,
    log_level: Annotated[str, typer.Option(help="Least level logged.", envvar="GANGPLAN_LOG_LEVEL")] = "info",
) -> None:
    """Answer calls over gRPC until SIGTERM or SIGINT.

    \b
    gangplan serve
    gangplan serve --slots 4 --metrics-port 9090
    gangplan serve --port 0 --sessions memory
    gangplan serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --callers callers.yaml
    gangplan serve --config gangplan.yaml --show-config
    gangplan serve --sessions postgresql://db.example/gangplan
    gangplan serve --capture /var/lib/gangplan/rounds --capture-rounds notable

    Prints HOST:PORT once calls are answered; the log goes to standard error as JSON.
    """  # noqa: D301 - \b keeps the lines
    if show_config:
        print(f"{HEADER}: {_KIND}", *shown(context), sep="\n")
        return

    from gangplan.observe.logs import LogFormat, configure_logs
    from gangplan.service.ending import end_process
    from gangplan.service.listening import ListenError
    from gangplan.service.options import MEBIBYTE, ServerOptions
    from gangplan.service.server import serve as run

    configure_logs(LogFormat.JSON, log_level)
    options = ServerOptions(
        host=host,
        port=port,
        tls_certificate=tls_cert,
        tls_key=tls_key,
        client_ca=client_ca,
        callers=callers,
        insecure=insecure,
        calls_per_second=calls_per_second,
        burst=burst,
        max_message_bytes=max_message_mib * MEBIBYTE,
        slots=slots,
        queue=queue,
        grace_seconds=grace,
        metrics_port=metrics_port,
        metrics_host=metrics_host,
        health_port=health_port,
        reuse_port=reuse_port,
        otlp_endpoint=otlp_endpoint,
        sessions=None if sessions == "memory" else sessions or str(_sessions_file()),
        session_seconds=session_hours * 3600.0,
        worker_memory_bytes=None if worker_memory_mib is None else worker_memory_mib * MEBIBYTE,
        capture=capture,
        capture_rounds=capture_rounds,
        capture_bytes=capture_mib * MEBIBYTE,
    )
    try:
        run(options, lambda address: print(address, flush=True))
    except ListenError as error:
        option = f"--{error.setting.replace('_', '-')}"
        free = ", or 0 for a free one" if option.endswith("port") else ""
        say(f"error: {error}. Choose another with {option}{free}.")
        raise typer.Exit(Exit.INVALID_INPUT) from error
    except OSError as error:
        say(f"error: {error}.{' Choose another with --sessions FILE.' if 'sessions' in str(error) else ''}")
        raise typer.Exit(Exit.INVALID_INPUT) from error
    end_process()


def _sessions_file() -> Path:
    """Where state of the user's programs belongs (XDG Base Directory Specification 0.8)."""
    state = os.environ.get("XDG_STATE_HOME", "")
    folder = Path(state) if Path(state).is_absolute() else Path.home() / ".local" / "state"
    return folder / "gangplan" / "sessions.db"
