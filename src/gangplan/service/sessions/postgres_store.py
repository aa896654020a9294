"""Sessions in a PostgreSQL database, for several services behind one load balancer.

Writers of one session wait for each other at its row (``UPDATE ... WHERE serial = ?`` under READ COMMITTED
locks it, and looks at its serial again once it has the lock; PostgreSQL, "Transaction Isolation", 13.2.1);
readers see one instant (REPEATABLE READ, 13.2.2). A commit is acknowledged once it is on the server's disk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gangplan.errors import SessionStoreError
from gangplan.service.sessions.sql import TABLES, SqlStore, Transaction

_CONNECT_SECONDS = 5
_STATEMENT_MILLISECONDS = 10_000
_LOCK = 7_306_102_881
"""Whoever makes the tables holds this advisory lock: two services may start at once."""


class PostgresStore(SqlStore):
    """Sessions in one database, used by any number of services.

    Args:
        url: ``postgresql://user:password@host:port/database``.

    Raises:
        OSError: the database cannot be reached, or psycopg is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise OSError(
                "sessions in PostgreSQL need psycopg: pip install 'gangplan[postgresql]'"
            ) from error
        try:
            psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.ProgrammingError:
            # What psycopg says quotes the URL, and with it the password.
            message = "its URL is not of the form postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
            raise OSError(f"cannot keep sessions in PostgreSQL: {message}") from None
        self._psycopg = psycopg
        self._url = url
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        try:
            with self.transaction(write=True) as each:
                each.run("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
                for table in TABLES:
                    each.run(table.format(blob="BYTEA"))
        except SessionStoreError as error:
            raise OSError(f"cannot keep sessions in PostgreSQL: {error}") from error

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Transaction]:
        """A transaction; one at a time. A connection that was cut meanwhile is made anew before it begins."""
        psycopg = self._psycopg
        with self._lock:
            try:
                connection = self._begun(write=write)
                try:
                    yield _Cursor(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    self._undo()
                    raise
            except psycopg.Error as error:
                raise SessionStoreError(f"PostgreSQL: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def _begun(self, *, write: bool) -> Any:
        level = "READ COMMITTED" if write else "REPEATABLE READ READ ONLY"
        begin = f"BEGIN ISOLATION LEVEL {level}"
        if self._connection is not None:
            try:
                self._connection.execute(begin)
            except self._psycopg.OperationalError:
                self._drop()
            else:
                return self._connection
        connection = self._psycopg.connect(
            self._url,
            autocommit=True,  # transactions are begun and ended here, and nowhere else
            connect_timeout=_CONNECT_SECONDS,
            options=f"-c statement_timeout={_STATEMENT_MILLISECONDS}",
        )
        self._connection = connection
        connection.execute(begin)
        return connection

    def _undo(self) -> None:
        """Roll back; where that cannot be done, the server does so when the connection is gone."""
        try:
            if self._connection is not None:
                self._connection.execute("ROLLBACK")
        except self._psycopg.Error:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class _Cursor:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        return int(self._connection.execute(_with_percents(statement), values).rowcount)

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(_with_percents(statement), rows)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Any]]:
        return iter(self._connection.execute(_with_percents(statement), values).fetchall())


def _with_percents(statement: str) -> str:
    """A statement with psycopg's placeholders."""
    return statement.replace("?", "%s")
