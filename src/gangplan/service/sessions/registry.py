"""The sessions of a service: found, changed one after the other, kept, and forgotten in time."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from gangplan.errors import OverloadedError, ResyncRequiredError, UnknownSessionError
from gangplan.service.caller import may_use
from gangplan.service.sessions.content import Change
from gangplan.service.sessions.record import Record
from gangplan.service.sessions.store import Answer, SessionStore

_TRIES = 20
"""Times that a change is made anew because another service changed the session meanwhile."""
_IN_MEMORY = 64
"""Sessions that are not loaded anew each time."""
_TOUCH_SHARE = 0.1
"""A use is written down when it makes a session live longer by more than this share of its time to live."""
_RETRY_SECONDS = 30.0

_A = TypeVar("_A")


@dataclass(frozen=True, slots=True)
class Step(Generic[_A]):
    """What one event makes of a session.

    Attributes:
        record: the session after it; the same object: nothing has changed.
        answer: for the caller.
        change: of the content.
        kept: an answer to be kept with the session; None: none.
    """

    record: Record
    answer: _A
    change: Change = Change()
    kept: Answer | None = None


@dataclass(slots=True)
class _Held:
    record: Record
    expires_at: float


class Sessions:
    """Every session of a service. May be called from several threads at once.

    A session belongs to the caller that opened it. Where callers prove who they are, it is not there for
    others, but for those who may use everybody's.

    Args:
        store: where they outlive the process.
        time_to_live: the longest that a session is kept unused, seconds.
        most: sessions at a time.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        store: SessionStore,
        *,
        time_to_live: float = 3600.0,
        most: int = 1000,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._time_to_live = time_to_live
        self._most = most
        self._clock = clock
        self._lock = threading.Lock()
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()  # those in use

    @property
    def longest_time_to_live(self) -> float:
        """Seconds that a session is kept unused at most, and by default."""
        return self._time_to_live

    @property
    def held(self) -> int:
        """Sessions that need not be loaded when they are used."""
        return len(self._held)

    def new_id(self) -> str:
        """An id that nobody guesses."""
        return secrets.token_urlsafe(18)

    def opened(self, caller: str, snapshot: str) -> Record | None:
        """The session that a caller's snapshot with that request id opened; None: there is none."""
        if not snapshot:
            return None
        self._store.sweep(self._clock())
        session_id = self._store.opened(caller, snapshot)
        return None if session_id is None else self.get(session_id)

    def open(self, record: Record) -> Record:
        """Keep a new session; the one that there is already, when its snapshot comes twice at once.

        Raises:
            OverloadedError: there are too many.
            SessionStoreError: it cannot be kept now.
        """
        now = self._clock()
        if self._store.sweep(now) >= self._most:
            raise OverloadedError(f"{self._most} sessions are open, the most allowed", _RETRY_SECONDS)
        expires_at = now + record.time_to_live
        if not self._store.create(record, expires_at):
            other = self.opened(record.caller, record.snapshot)
            if other is None:
                raise OverloadedError("the same snapshot was opened and closed meanwhile", 0.1)
            return other
        self._hold(record, expires_at)
        return record

    def get(self, session_id: str) -> Record:
        """A session as it is now; it lives longer for being used.

        Raises:
            UnknownSessionError: there is none, or no longer, or it is another caller's.
            SessionStoreError: it cannot be read now.
        """
        held = self._current(session_id)
        if not may_use(held.record.caller):
            raise _unknown(session_id)
        now = self._clock()
        expires_at = now + held.record.time_to_live
        if expires_at - held.expires_at > _TOUCH_SHARE * held.record.time_to_live:
            self._store.touch(session_id, expires_at)
            held.expires_at = expires_at
        return held.record

    def expires_at(self, record: Record) -> float:
        """When a session is forgotten unless it is used, seconds since the epoch."""
        with self._lock:
            held = self._held.get(record.session_id)
        return self._clock() + record.time_to_live if held is None else held.expires_at

    def change(self, session_id: str, event: Callable[[Record], Step[_A]]) -> _A:
        """Change a session; events come one after the other, and what is answered is kept.

        Args:
            session_id: of the session.
            event: what happens. It is asked again when another service was quicker.

        Raises:
            UnknownSessionError: there is none, or no longer.
            ResyncRequiredError: others change it all the time.
            SessionStoreError: it cannot be read or written now.
        """
        with self._lock:
            lock = self._locks.setdefault(session_id, threading.Lock())
        with lock:
            for _ in range(_TRIES):
                record = self.get(session_id)
                step = event(record)
                if step.record is record:
                    return step.answer
                expires_at = self._clock() + record.time_to_live
                if self._store.commit(record, step.record, step.change, expires_at, step.kept):
                    self._hold(step.record, expires_at)
                    return step.answer
                self._forget(session_id)
        raise ResyncRequiredError(f"session {session_id} is changed by others all the time")

    def kept_answer(self, session_id: str, caller: str, request_id: str) -> Answer | None:
        """What a request with an id was answered on a session; None: it was not, or long ago."""
        return self._store.answer(session_id, caller, request_id) if request_id else None

    def close_session(self, session_id: str) -> None:
        """Forget a session.

        Raises:
            UnknownSessionError: there is none, or no longer, or it is another caller's.
        """
        self.get(session_id)
        self._forget(session_id)
        if not self._store.delete(session_id):
            raise _unknown(session_id)

    def forget_expired(self) -> None:
        """Forget what was not used in time, though nobody asks for it.

        Raises:
            SessionStoreError: the store cannot be written now.
        """
        now = self._clock()
        with self._lock:
            late = [session_id for session_id, held in self._held.items() if held.expires_at <= now]
            for session_id in late:
                del self._held[session_id]
        self._store.sweep(now)

    def holds(self, session_id: str) -> bool:
        """Whether a session need not be loaded when it is used."""
        return session_id in self._held

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def _current(self, session_id: str) -> _Held:
        with self._lock:
            held = self._held.get(session_id)
        serial = self._store.serial(session_id)
        late = held is not None and held.expires_at <= self._clock()  # another service may have used it
        if held is None or late or held.record.serial != serial:
            loaded = None if serial is None else self._store.load(session_id)
            if loaded is None:
                self._forget(session_id)
                raise _unknown(session_id)
            held = self._hold(*loaded)
        if held.expires_at <= self._clock():
            self._forget(session_id)
            self._store.sweep(self._clock())
            raise UnknownSessionError(f"there is no session {session_id} any longer: it was not used in time")
        return held

    def _hold(self, record: Record, expires_at: float) -> _Held:
        held = _Held(record, expires_at)
        with self._lock:
            self._held[record.session_id] = held
            self._held.move_to_end(record.session_id)
            while len(self._held) > _IN_MEMORY:
                self._held.popitem(last=False)
        return held

    def _forget(self, session_id: str) -> None:
        with self._lock:
            self._held.pop(session_id, None)


def _unknown(session_id: str) -> UnknownSessionError:
    return UnknownSessionError(f"there is no session {session_id}, or no longer")
