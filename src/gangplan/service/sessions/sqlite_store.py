"""Sessions in an SQLite database beside the service: the default.

Write-ahead logging with ``synchronous = FULL``: what a commit has acknowledged survives the end of the
process and of the machine at any instant (SQLite's "Write-Ahead Logging", 2.3, and "PRAGMA synchronous").
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gangplan.errors import SessionStoreError
from gangplan.service.sessions.sql import TABLES, SqlStore, Transaction

_BUSY_SECONDS = 2.0


class SqliteStore(SqlStore):
    """Sessions in one file, used by one service at a time or by several on one machine.

    Args:
        path: of the file, made when it is not there.

    Raises:
        OSError: the file cannot be opened, or is no such database.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(mode=0o600)  # before SQLite makes it: the files beside it get its mode
            # Autocommit: transactions are begun and ended below, and nowhere else.
            self._connection = sqlite3.connect(
                path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            for pragma in ("journal_mode = WAL", "synchronous = FULL"):
                self._connection.execute(f"PRAGMA {pragma}")
            for table in TABLES:
                self._connection.execute(table.format(blob="BLOB"))
            path.chmod(0o600)
        except (sqlite3.Error, OSError) as error:
            raise OSError(f"cannot keep sessions in {path}: {error}") from error

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Transaction]:
        """A transaction; one at a time."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield _Cursor(self._connection.cursor())
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise SessionStoreError(f"SQLite: {error}") from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


class _Cursor:
    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        return self._cursor.execute(statement, values).rowcount

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._cursor.executemany(statement, rows)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Any]]:
        return iter(self._cursor.execute(statement, values).fetchall())
