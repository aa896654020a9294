"""Holds Python's collector of cycles off while very many objects are made that hold no cycle.

The collector looks at all objects again and again while their number grows: half the time in which a round of
50,000 jobs is read, and pauses of hundreds of milliseconds in which no other thread runs. What is dropped in
the meantime is freed all the same, by its reference count.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_MOST_SECONDS = 60.0
"""How long the collector is held off at most, if anybody leaves then."""
_NEW = 1  # generation

_lock = threading.Lock()
_holding = 0
_was_enabled = False
_since = 0.0
_here = threading.local()


@contextmanager
def collector_held_off() -> Iterator[None]:
    """No collection of cycles inside, in any thread; may be nested and entered by several threads at once.

    When the last one leaves, all that was made counts as old at once: the collector does not go through it
    until as much again has been made. Under overload there is no last one: the thread that leaves a minute
    after the last collection makes one of what is new since then. That takes some milliseconds: no more of it
    lasts than what the others inside have made.
    """
    global _holding, _was_enabled, _since  # noqa: PLW0603 - the collector is one for the whole process
    with _lock:
        if not _holding:
            _was_enabled = gc.isenabled()
            gc.disable()
            _since = time.monotonic()
        _holding += 1
    depth = _here.depth = getattr(_here, "depth", 0) + 1
    due = False
    try:
        yield
    finally:
        _here.depth = depth - 1
        with _lock:
            _holding -= 1
            if not _holding and _was_enabled:
                if not gc.get_freeze_count():
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()
            elif _was_enabled and depth == 1 and time.monotonic() - _since > _MOST_SECONDS:
                _since = time.monotonic()
                due = True
        if due:
            gc.collect(_NEW)
