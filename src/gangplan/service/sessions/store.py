"""Where sessions outlive the process: one small protocol, and the store that does not."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from gangplan.service.sessions.content import Change
from gangplan.service.sessions.record import Record


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request with an id.

    Attributes:
        caller: who asked.
        request_id: the caller's.
        request: digest of the request.
        answer: encoded.
    """

    caller: str
    request_id: str
    request: bytes
    answer: bytes


MOST_ANSWERS = 8
"""Answers kept for a session, the latest."""


class SessionStore(Protocol):
    """Keeps sessions. May be called from several threads at once, and by several services at once.

    What a method has done when it returns is durable: it is there whatever happens to the process then. Each
    method does all of its work or none of it.
    """

    def create(self, record: Record, expires_at: float) -> bool:
        """Keep a new session; False, and nothing done, when its caller has one with the same ``snapshot``."""
        ...

    def load(self, session_id: str) -> tuple[Record, float] | None:
        """The session and when it expires; None: there is none."""
        ...

    def serial(self, session_id: str) -> int | None:
        """The session's serial, to tell whether what was loaded is still so; None: there is none."""
        ...

    def opened(self, caller: str, snapshot: str) -> str | None:
        """Id of the session that a caller's snapshot with that request id opened; None: there is none."""
        ...

    def commit(
        self, before: Record, after: Record, change: Change, expires_at: float, answer: Answer | None = None
    ) -> bool:
        """Keep ``after`` in place of ``before``; False, and nothing done, when the session is another by now.

        Args:
            before: as it was loaded; its serial is compared.
            after: as it is to be.
            change: from the content of ``before`` to that of ``after``.
            expires_at: seconds since the epoch.
            answer: to be kept as well; None: none.
        """
        ...

    def answer(self, session_id: str, caller: str, request_id: str) -> Answer | None:
        """What a request with that id was answered on a session; None: it was not, or long ago."""
        ...

    def touch(self, session_id: str, expires_at: float) -> None:
        """Let a session live longer."""
        ...

    def delete(self, session_id: str) -> bool:
        """Forget a session; False: there is none."""
        ...

    def sweep(self, now: float) -> int:
        """Forget what has expired; how many sessions are left."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class MemoryStore:
    """Keeps sessions in this process only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[str, tuple[Record, float]] = {}
        self._answers: dict[str, list[Answer]] = {}

    def create(self, record: Record, expires_at: float) -> bool:
        """See :meth:`SessionStore.create`."""
        with self._lock:
            if record.snapshot and self._opened(record.caller, record.snapshot) is not None:
                return False
            self._records[record.session_id] = record, expires_at
            return True

    def load(self, session_id: str) -> tuple[Record, float] | None:
        """See :meth:`SessionStore.load`."""
        with self._lock:
            return self._records.get(session_id)

    def serial(self, session_id: str) -> int | None:
        """See :meth:`SessionStore.serial`."""
        found = self.load(session_id)
        return None if found is None else found[0].serial

    def opened(self, caller: str, snapshot: str) -> str | None:
        """See :meth:`SessionStore.opened`."""
        with self._lock:
            return self._opened(caller, snapshot)

    def commit(
        self, before: Record, after: Record, change: Change, expires_at: float, answer: Answer | None = None
    ) -> bool:
        """See :meth:`SessionStore.commit`."""
        del change
        with self._lock:
            found = self._records.get(before.session_id)
            if found is None or found[0].serial != before.serial:
                return False
            self._records[before.session_id] = after, expires_at
            if answer is not None:
                answers = self._answers.setdefault(before.session_id, [])
                answers.append(answer)
                del answers[:-MOST_ANSWERS]
            return True

    def answer(self, session_id: str, caller: str, request_id: str) -> Answer | None:
        """See :meth:`SessionStore.answer`."""
        with self._lock:
            for answer in self._answers.get(session_id, ()):
                if (answer.caller, answer.request_id) == (caller, request_id):
                    return answer
        return None

    def touch(self, session_id: str, expires_at: float) -> None:
        """See :meth:`SessionStore.touch`."""
        with self._lock:
            if session_id in self._records:
                self._records[session_id] = self._records[session_id][0], expires_at

    def delete(self, session_id: str) -> bool:
        """See :meth:`SessionStore.delete`."""
        with self._lock:
            self._answers.pop(session_id, None)
            return self._records.pop(session_id, None) is not None

    def sweep(self, now: float) -> int:
        """See :meth:`SessionStore.sweep`."""
        with self._lock:
            for session_id in [key for key, (_, expires_at) in self._records.items() if expires_at <= now]:
                del self._records[session_id]
                self._answers.pop(session_id, None)
            return len(self._records)

    def close(self) -> None:
        """Forget everything."""
        self._records.clear()

    def _opened(self, caller: str, snapshot: str) -> str | None:
        for record, _ in self._records.values():
            if (record.caller, record.snapshot) == (caller, snapshot):
                return record.session_id
        return None
