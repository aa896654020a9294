"""The collector of cycles is held off while objects are made, and never longer."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from gangplan import garbage
from gangplan.garbage import collector_held_off


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


class Ring:
    def __init__(self) -> None:
        self.me = self


def test_it_is_off_inside_and_on_outside() -> None:
    with collector_held_off():
        assert not gc.isenabled()
        with collector_held_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_turns_it_on_again() -> None:
    with pytest.raises(KeyError), collector_held_off():
        raise KeyError
    assert gc.isenabled()


def test_one_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    with collector_held_off():
        pass
    assert not gc.isenabled()


def test_the_last_of_several_threads_turns_it_on() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with collector_held_off():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    with collector_held_off():
        thread.start()
        assert entered.wait(10)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


def rings(number: int = 2) -> list[weakref.ref[Ring]]:
    """Rings made inside, one after the other, in a thread of their own."""
    made: list[weakref.ref[Ring]] = []

    def make() -> None:
        for _ in range(number):
            with collector_held_off():
                with collector_held_off():
                    made.append(weakref.ref(Ring()))
                assert made[-1]() is not None  # not in the midst of work

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made


@pytest.mark.parametrize(("seconds", "there"), [(0.0, False), (60.0, True)])
def test_cycles_are_found_though_somebody_is_always_inside(
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    there: bool,  # noqa: FBT001 - of a table
) -> None:
    monkeypatch.setattr(garbage, "_MOST_SECONDS", seconds)
    with collector_held_off():
        assert [ring() is not None for ring in rings()] == [there, there]
        assert not gc.isenabled()


def test_what_was_made_inside_is_old_and_still_collected() -> None:
    with collector_held_off():
        ring = Ring()
    gone = weakref.ref(ring)
    assert any(each is ring for each in gc.get_objects(generation=2))
    del ring
    gc.collect()
    assert gone() is None


def test_what_others_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        with collector_held_off():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
