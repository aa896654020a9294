"""Holds Python's collector of cycles off while very many objects are made that hold no cycle.

The collector looks at all objects again and again while their number grows: half the time in which a round of
50,000 jobs is read, and pauses of hundreds of milliseconds in which no other thread runs. What is dropped in
the meantime is freed all the same, by its reference count.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_holding = 0
_was_enabled = False


@contextmanager
def collector_held_off() -> Iterator[None]:
    """No collection of cycles inside, in any thread; may be nested and entered by several threads at once.

    When the last one leaves, all that was made counts as old at once: the collector does not go through it
    until as much again has been made.
    """
    global _holding, _was_enabled  # noqa: PLW0603 - the collector is one for the whole process
    with _lock:
        if not _holding:
            _was_enabled = gc.isenabled()
            gc.disable()
        _holding += 1
    try:
        yield
    finally:
        with _lock:
            _holding -= 1
            if not _holding and _was_enabled:
                if not gc.get_freeze_count():
                    gc.freeze()
                    gc.unfreeze()
                gc.enable()
