"""The tables and statements that every SQL store shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from gangplan.errors import SessionStoreError
from gangplan.service.sessions.content import Change, Content, Item, Kind
from gangplan.service.sessions.encoded import decode, encode
from gangplan.service.sessions.record import Record
from gangplan.service.sessions.store import MOST_ANSWERS, Answer

TABLES = (
    """CREATE TABLE IF NOT EXISTS gangplan_sessions (
        session_id TEXT PRIMARY KEY,
        caller TEXT NOT NULL,
        snapshot TEXT,
        serial BIGINT NOT NULL,
        expires_at DOUBLE PRECISION NOT NULL,
        digest {blob} NOT NULL,
        record {blob} NOT NULL,
        UNIQUE (caller, snapshot))""",
    """CREATE TABLE IF NOT EXISTS gangplan_items (
        session_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        revision TEXT NOT NULL,
        body {blob} NOT NULL,
        PRIMARY KEY (session_id, kind, name))""",
    """CREATE TABLE IF NOT EXISTS gangplan_answers (
        session_id TEXT NOT NULL,
        number BIGINT NOT NULL,
        caller TEXT NOT NULL,
        request_id TEXT NOT NULL,
        request {blob} NOT NULL,
        answer {blob} NOT NULL,
        PRIMARY KEY (session_id, number))""",
)


class Transaction(Protocol):
    """One transaction; ``?`` stands for each value."""

    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; how many rows it changed."""
        ...

    def run_many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each row."""
        ...

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Sequence[Any]]:
        """The rows that a statement gives."""
        ...


class SqlStore:
    """A store on an SQL database; see :class:`~gangplan.service.sessions.store.SessionStore`.

    A subclass gives transactions: each is isolated from all others as if they came one after the other, and
    durable when it ends.
    """

    def transaction(self, *, write: bool) -> AbstractContextManager[Transaction]:
        """A transaction that is committed when its block ends well, and undone otherwise."""
        raise NotImplementedError

    def create(self, record: Record, expires_at: float) -> bool:
        """Keep a new session."""
        with self.transaction(write=True) as each:
            made = each.run(
                "INSERT INTO gangplan_sessions"
                " (session_id, caller, snapshot, serial, expires_at, digest, record)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (caller, snapshot) DO NOTHING",
                (
                    record.session_id,
                    record.caller,
                    record.snapshot or None,
                    record.serial,
                    expires_at,
                    record.content.digest,
                    encode(record),
                ),
            )
            if made:
                _put(each, record.session_id, Change(record.content.items))
        return bool(made)

    def load(self, session_id: str) -> tuple[Record, float] | None:
        """The session and when it expires.

        Raises:
            SessionStoreError: it cannot be read now, or what is kept is not what was written.
        """
        with self.transaction(write=False) as each:
            found = list(
                each.rows(
                    "SELECT caller, snapshot, serial, expires_at, digest, record"
                    " FROM gangplan_sessions WHERE session_id = ?",
                    (session_id,),
                )
            )
            if not found:
                return None
            rows = list(
                each.rows(
                    "SELECT kind, name, revision, body FROM gangplan_items WHERE session_id = ?",
                    (session_id,),
                )
            )
        [(caller, snapshot, serial, expires_at, digest, record)] = found
        alike: dict[bytes, bytes] = {}
        content = Content.of(
            {
                (Kind(kind), name): Item(alike.setdefault(bytes(body), bytes(body)), revision)
                for kind, name, revision, body in rows
            }
        )
        if content.digest != bytes(digest):
            raise SessionStoreError(f"session {session_id} has another digest than when it was written")
        try:
            kept = decode(
                bytes(record),
                session_id=session_id,
                caller=caller,
                snapshot=snapshot or "",
                serial=serial,
                content=content,
            )
        except ValueError as error:
            raise SessionStoreError(f"session {session_id} cannot be read: {error}") from error
        return kept, expires_at

    def serial(self, session_id: str) -> int | None:
        """The session's serial."""
        with self.transaction(write=False) as each:
            for (serial,) in each.rows(
                "SELECT serial FROM gangplan_sessions WHERE session_id = ?", (session_id,)
            ):
                return int(serial)
        return None

    def opened(self, caller: str, snapshot: str) -> str | None:
        """Id of the session that a snapshot opened."""
        with self.transaction(write=False) as each:
            for (session_id,) in each.rows(
                "SELECT session_id FROM gangplan_sessions WHERE caller = ? AND snapshot = ?",
                (caller, snapshot),
            ):
                return str(session_id)
        return None

    def commit(
        self, before: Record, after: Record, change: Change, expires_at: float, answer: Answer | None = None
    ) -> bool:
        """Keep ``after`` in place of ``before``, unless somebody else was quicker."""
        with self.transaction(write=True) as each:
            done = each.run(
                "UPDATE gangplan_sessions SET serial = ?, expires_at = ?, digest = ?, record = ?"
                " WHERE session_id = ? AND serial = ?",
                (
                    after.serial,
                    expires_at,
                    after.content.digest,
                    encode(after),
                    before.session_id,
                    before.serial,
                ),
            )
            if not done:
                return False
            _put(each, before.session_id, change)
            if answer is not None:
                each.run(
                    "INSERT INTO gangplan_answers (session_id, number, caller, request_id, request, answer)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (
                        before.session_id,
                        after.serial,
                        answer.caller,
                        answer.request_id,
                        answer.request,
                        answer.answer,
                    ),
                )
                each.run(
                    "DELETE FROM gangplan_answers WHERE session_id = ? AND number NOT IN (SELECT number FROM"
                    " gangplan_answers WHERE session_id = ? ORDER BY number DESC LIMIT ?)",
                    (before.session_id, before.session_id, MOST_ANSWERS),
                )
        return True

    def answer(self, session_id: str, caller: str, request_id: str) -> Answer | None:
        """What a request was answered."""
        with self.transaction(write=False) as each:
            for request, answer in each.rows(
                "SELECT request, answer FROM gangplan_answers"
                " WHERE session_id = ? AND caller = ? AND request_id = ? ORDER BY number DESC",
                (session_id, caller, request_id),
            ):
                return Answer(caller, request_id, bytes(request), bytes(answer))
        return None

    def touch(self, session_id: str, expires_at: float) -> None:
        """Let a session live longer."""
        with self.transaction(write=True) as each:
            each.run(
                "UPDATE gangplan_sessions SET expires_at = ? WHERE session_id = ?", (expires_at, session_id)
            )

    def delete(self, session_id: str) -> bool:
        """Forget a session."""
        with self.transaction(write=True) as each:
            return _delete(each, session_id)

    def sweep(self, now: float) -> int:
        """Forget what has expired."""
        with self.transaction(write=True) as each:
            over = list(each.rows("SELECT session_id FROM gangplan_sessions WHERE expires_at <= ?", (now,)))
            for (session_id,) in over:
                _delete(each, session_id)
            [(left,)] = each.rows("SELECT COUNT(*) FROM gangplan_sessions")
        return int(left)


def _put(each: Transaction, session_id: str, change: Change) -> None:
    if change.removed:
        each.run_many(
            "DELETE FROM gangplan_items WHERE session_id = ? AND kind = ? AND name = ?",
            [(session_id, kind.value, name) for kind, name in change.removed],
        )
    if change.put:
        each.run_many(
            "INSERT INTO gangplan_items (session_id, kind, name, revision, body) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (session_id, kind, name)"
            " DO UPDATE SET revision = excluded.revision, body = excluded.body",
            [
                (session_id, kind.value, name, item.revision, item.body)
                for (kind, name), item in change.put.items()
            ],
        )


def _delete(each: Transaction, session_id: str) -> bool:
    for table in ("gangplan_items", "gangplan_answers"):
        each.run(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))
    return bool(each.run("DELETE FROM gangplan_sessions WHERE session_id = ?", (session_id,)))
