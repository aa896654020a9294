"""Every store keeps what it says, and nothing of what it refuses."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gangplan.domain.plan import ActionKind
from gangplan.errors import SessionStoreError
from gangplan.service.sessions.content import Change, Content, Item, Kind
from gangplan.service.sessions.encoded import decode, encode
from gangplan.service.sessions.in_flight import InFlight, Outcome, pending, waits
from gangplan.service.sessions.record import MOST_SETTLED, Applied, Carried, Record
from gangplan.service.sessions.sqlite_store import SqliteStore
from gangplan.service.sessions.store import MOST_ANSWERS, Answer, MemoryStore, SessionStore

RECORD = Record(
    session_id="s",
    caller="me",
    content=Content.of({(Kind.JOB, "a"): Item(b"1", "7"), (Kind.NODE, "n"): Item(b"")}),
    revision=4,
    time_to_live=12.5,
    plans=2,
    in_flight=(InFlight("p2", "place:a", ActionKind.PLACE, "a", b"\x00\xff", ("n",), ("p2/x",), 1.5, 9.0),),
    settled={"p1/place:b": Outcome.REFUSED},
    applied={3: Applied(b"r", 4, b"d")},
    carried=Carried(b"w", b"o", (b"c1", b"c2"), (b"p",)),
    snapshot="first",
    snapshot_digest=b"sd",
)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SessionStore]:
    made: SessionStore = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "s.db")
    yield made
    made.close()


def changed(record: Record) -> tuple[Record, Change]:
    change = Change({(Kind.JOB, "b"): Item(b"2")}, frozenset({(Kind.JOB, "a")}))
    after = replace(record, content=record.content.changed(change), serial=record.serial + 1)
    return after, change


def test_a_record_comes_back_whole(store: SessionStore) -> None:
    assert store.load("s") is None
    assert store.create(RECORD, 50.0)
    assert store.load("s") == (RECORD, 50.0)
    assert store.opened("me", "first") == "s"
    assert store.opened("you", "first") is None
    assert not store.create(replace(RECORD, session_id="t"), 60.0)
    assert store.load("t") is None
    assert store.create(replace(RECORD, session_id="u", snapshot=""), 60.0)
    assert store.create(replace(RECORD, session_id="v", snapshot=""), 60.0)


def test_a_commit_is_whole_and_only_on_what_was_loaded(store: SessionStore) -> None:
    store.create(RECORD, 50.0)
    after, change = changed(RECORD)
    answer = Answer("me", "r1", b"asked", b"answered")
    assert store.commit(RECORD, after, change, 70.0, answer)
    assert store.load("s") == (after, 70.0)
    assert store.serial("s") == 2
    assert store.answer("s", "me", "r1") == answer
    assert store.answer("s", "you", "r1") is None
    assert not store.commit(RECORD, replace(after, plans=9), change, 90.0, replace(answer, answer=b"no"))
    assert store.load("s") == (after, 70.0)
    assert store.answer("s", "me", "r1") == answer


def test_only_the_latest_answers_are_kept(store: SessionStore) -> None:
    store.create(RECORD, 50.0)
    record = RECORD
    for number in range(MOST_ANSWERS + 2):
        after = replace(record, serial=record.serial + 1)
        assert store.commit(record, after, Change(), 50.0, Answer("me", f"r{number}", b"", b"x"))
        record = after
    kept = [number for number in range(MOST_ANSWERS + 2) if store.answer("s", "me", f"r{number}")]
    assert kept == list(range(2, MOST_ANSWERS + 2))


def test_what_has_expired_is_swept(store: SessionStore) -> None:
    store.create(RECORD, 50.0)
    store.create(replace(RECORD, session_id="t", snapshot="second"), 60.0)
    store.touch("s", 80.0)
    assert store.sweep(60.0) == 1
    assert store.load("t") is None
    assert store.load("s") == (RECORD, 80.0)
    assert store.delete("s")
    assert not store.delete("s")
    assert store.sweep(0.0) == 0


def test_sqlite_locked_by_another_is_unavailable_and_nothing_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    store.create(RECORD, 50.0)
    store._connection.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    after, change = changed(RECORD)
    with pytest.raises(SessionStoreError, match="locked"):
        store.commit(RECORD, after, change, 70.0)
    other.execute("ROLLBACK")
    other.close()
    assert store.load("s") == (RECORD, 50.0)
    assert store.commit(RECORD, after, change, 70.0)
    store.close()


def test_sqlite_that_was_tampered_with_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = SqliteStore(path)
    store.create(RECORD, 50.0)
    with sqlite3.connect(path) as other:
        other.execute("UPDATE gangplan_items SET body = x'99' WHERE name = 'a'")
    other.close()
    with pytest.raises(SessionStoreError, match="another digest"):
        store.load("s")
    store.close()


def test_sqlite_written_by_a_later_version_is_unavailable(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    assert store.create(RECORD, 50.0)
    with contextlib.closing(sqlite3.connect(tmp_path / "s.db")) as other, other:
        other.execute("UPDATE gangplan_sessions SET record = ?", (b'{"format": 99}',))
    with pytest.raises(SessionStoreError, match="format 99"):
        store.load("s")
    store.close()


def test_a_record_without_promises_is_read() -> None:
    document = json.loads(encode(RECORD))
    del document["promises"]
    again = decode(
        json.dumps(document).encode(),
        session_id="s",
        caller="me",
        snapshot="first",
        serial=1,
        content=RECORD.content,
    )
    assert again == replace(RECORD, carried=replace(RECORD.carried, promises=()))


def test_sqlite_file_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "s.db"
    store = SqliteStore(path)
    beside = list(path.parent.iterdir())
    assert len(beside) > 1  # what is committed is there at first
    assert [each for each in beside if each.stat().st_mode & 0o077] == []
    store.close()
    (tmp_path / "no").write_bytes(b"this is no database" * 100)
    with pytest.raises(OSError, match="cannot keep sessions in"):
        SqliteStore(tmp_path / "no")


def test_a_long_report_is_known_again_and_so_is_what_somebody_waits_for() -> None:
    """The stop that ``late`` waits for was refused: it never starts, however many outcomes follow."""

    def start(number: int, depends_on: tuple[str, ...] = ()) -> InFlight:
        return InFlight(
            "p1", f"a{number}", ActionKind.PLACE, f"j{number}", b"", ("n",), depends_on, 0.0, float("inf")
        )

    many = MOST_SETTLED + 100
    late = start(many, ("p1/stop",))
    record = replace(
        RECORD,
        in_flight=(*(start(number) for number in range(many)), late),
        settled={"p1/stop": Outcome.REFUSED, "p1/old": Outcome.REFUSED},
    )
    report = {f"p1/a{number}": Outcome.BOUND for number in range(many)}
    after = record.with_outcomes(Change(), report)
    assert after.in_flight == (late,)
    assert after.settled == {"p1/stop": Outcome.REFUSED, **report}
    assert waits(late, pending(after.in_flight), after.settled)
    last = replace(after, in_flight=()).with_outcomes(Change(), {})
    assert len(last.settled) == MOST_SETTLED
