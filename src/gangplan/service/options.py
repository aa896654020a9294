"""How a server is set up."""

from __future__ import annotations

from dataclasses import dataclass

MEBIBYTE = 2**20
DEFAULT_MAX_MESSAGE_BYTES = 64 * MEBIBYTE


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Everything about a server that is not in a request.

    Attributes:
        host: address to listen on; loopback unless said otherwise.
        port: 0 takes a free one.
        max_message_bytes: largest request and largest answer.
        slots: rounds planned at a time, each with a solver worker of its own.
        queue: calls that may wait for a slot; more are refused with RESOURCE_EXHAUSTED.
        deadline_margin_seconds: taken off the gRPC deadline, for the way back.
        grace_seconds: how long calls in flight may go on after SIGTERM.
        metrics_port: port of the Prometheus endpoint, 0 takes a free one; None: no endpoint.
        sessions: where sessions are kept: the path of an SQLite file, or the URL of a PostgreSQL database for
            several services; None: in memory, gone with the service.
        most_sessions: sessions at a time.
        session_seconds: how long a session is kept unused at most.
        max_snapshot_bytes: largest snapshot, all chunks together.
        worker_memory_bytes: resident size at which a solver process is ended and replaced; None: no limit.
    """

    host: str = "127.0.0.1"
    port: int = 50051
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    slots: int = 2
    queue: int = 16
    deadline_margin_seconds: float = 0.05
    grace_seconds: float = 30.0
    metrics_port: int | None = None
    sessions: str | None = None
    most_sessions: int = 1000
    session_seconds: float = 3600.0
    max_snapshot_bytes: int = 16 * DEFAULT_MAX_MESSAGE_BYTES
    worker_memory_bytes: int | None = None
