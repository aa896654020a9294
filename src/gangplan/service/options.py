"""How a server is set up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MEBIBYTE = 2**20
DEFAULT_MAX_MESSAGE_BYTES = 64 * MEBIBYTE


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Everything about a server that is not in a request.

    Attributes:
        host: address to listen on; loopback unless said otherwise.
        port: 0 takes a free one.
        max_message_bytes: largest request and largest answer.
        slots: rounds planned at a time, each with a solver worker of its own; for a moment up to twice as
            many, where a call that was let in would else be refused late.
        queue: calls that may wait for a slot; more are refused with RESOURCE_EXHAUSTED.
        deadline_margin_seconds: taken off the gRPC deadline, for the way back.
        grace_seconds: how long calls in flight may go on after SIGTERM.
        metrics_port: port of the metrics and the live page, 0 takes a free one; None: there are none.
        metrics_host: address of that port; loopback unless said otherwise.
        health_port: another port of ``host`` with the health service alone, without TLS, for probes that know
            none (those of Kubernetes); 0 takes a free one; None: no such port.
        tls_certificate: the service's certificate with its chain, PEM; None: no TLS.
        tls_key: its private key, PEM.
        client_ca: who signs the callers' certificates, PEM; None: callers need none.
        callers: file of the callers, their scopes, tokens and limits; None: whoever has a certificate, or
            anybody where none is needed.
        connection_seconds: after which a connection is replaced, between two calls: certificates and callers
            that are no longer good go with it, and callers spread over new services.
        insecure: listen beyond loopback without TLS or without knowing who calls.
        calls_per_second: of each caller that ``callers`` gives no rate; None: no limit.
        burst: calls at once after a pause of each such caller.
        reuse_port: let a second service listen on the same port, so that one takes the place of another
            without a gap.
        otlp_endpoint: where traces are sent by OTLP, e.g. ``http://127.0.0.1:4317``; None: nowhere.
        sessions: where sessions are kept: the path of an SQLite file, or the URL of a PostgreSQL database for
            several services; None: in memory, gone with the service.
        most_sessions: sessions at a time.
        session_seconds: how long a session is kept unused at most.
        max_snapshot_bytes: largest snapshot, all chunks together.
        worker_memory_bytes: resident size at which a solver process is ended and replaced; None: no limit.
        capture: folder in which planned rounds are kept; None: none are.
        capture_rounds: ``all``, ``notable`` (slow, failed and fallen-back ones), or a share from 0 to 1
            beside the notable ones.
        capture_bytes: of all captured rounds together; the oldest are deleted.
    """

    host: str = "127.0.0.1"
    port: int = 50051
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    slots: int = 2
    queue: int = 16
    deadline_margin_seconds: float = 0.05
    grace_seconds: float = 30.0
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    health_port: int | None = None
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    client_ca: Path | None = None
    callers: Path | None = None
    connection_seconds: float = 3600.0
    insecure: bool = False
    calls_per_second: float | None = None
    burst: int = 20
    reuse_port: bool = False
    otlp_endpoint: str | None = None
    sessions: str | None = None
    most_sessions: int = 1000
    session_seconds: float = 3600.0
    max_snapshot_bytes: int = 16 * DEFAULT_MAX_MESSAGE_BYTES
    worker_memory_bytes: int | None = None
    capture: str | None = None
    capture_rounds: str = "all"
    capture_bytes: int = 2**30
