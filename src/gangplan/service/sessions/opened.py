"""From a server's options to its sessions."""

from __future__ import annotations

from pathlib import Path

from gangplan.service.options import ServerOptions
from gangplan.service.sessions.registry import Sessions
from gangplan.service.sessions.store import MemoryStore, SessionStore

_POSTGRESQL = ("postgresql://", "postgres://")


def open_sessions(options: ServerOptions) -> Sessions:
    """The sessions of a server, those of its last run among them.

    Raises:
        OSError: what they are kept in cannot be opened.
    """
    return Sessions(
        _store(options.sessions), time_to_live=options.session_seconds, most=options.most_sessions
    )


def _store(place: str | None) -> SessionStore:
    if place is None:
        return MemoryStore()
    if place.startswith(_POSTGRESQL):
        from gangplan.service.sessions.postgres_store import PostgresStore

        return PostgresStore(place)
    from gangplan.service.sessions.sqlite_store import SqliteStore

    return SqliteStore(Path(place))
