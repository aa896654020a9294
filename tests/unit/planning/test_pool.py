"""Processes that play simulations: progress, failures, and that none is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.pool import Pool, Tell

SECONDS = 60.0


def work(base: Mapping[str, int], task: Any, tell: Tell) -> Any:
    """Whatever the task says."""
    if task == "refuse":
        raise InvalidInputError([FieldViolation("x", "is wrong")])
    if task == "fail":
        raise ZeroDivisionError("none")
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "hang":
        tell("hanging")
        time.sleep(SECONDS)
    tell(os.getpid())
    return base["one"] + task


def test_work_tells_how_far_it_is_and_what_came_of_it() -> None:
    base = MappingProxyType({"one": 1})
    said: dict[str, list[Any]] = {}
    with Pool(work, base, 2) as pool:
        for ticket, task in (("sum", 2), ("refused", "refuse"), ("failed", "fail"), ("died", "die")):
            pool.submit(ticket, task)
        until = time.monotonic() + SECONDS
        while pool.open and time.monotonic() < until:
            for event in pool.events(1.0):
                said.setdefault(event.ticket, []).append(event)
        processes = {event.value for event in said["sum"] if not event.done}
    assert said["sum"][-1].value == 3
    assert isinstance(said["refused"][-1].error, InvalidInputError)
    assert said["refused"][-1].error.violations[0].field == "x"
    assert said["failed"][-1].error == "ZeroDivisionError: none"
    assert said["died"][-1].error == "its process ended with -9"
    assert not any(alive(process) for process in processes)


def test_late_work_and_work_that_nobody_wants_is_ended() -> None:
    with Pool(work, {"one": 1}, 1) as pool:
        pool.submit("late", "hang", seconds=3.0)
        pool.submit("unwanted", "hang")
        pool.submit("next", 1)
        said = []
        until = time.monotonic() + SECONDS
        while pool.open and time.monotonic() < until:
            for event in pool.events(1.0):
                if event.ticket == "unwanted":
                    pool.stop("unwanted")
                said.append((event.ticket, event.done, event.error))
    assert ("late", True, "took too long") in said
    assert ("unwanted", True, None) not in said
    assert ("next", True, None) in said


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
