"""The collector of cycles is held off while objects are made, and never longer."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

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
