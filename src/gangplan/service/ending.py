"""The end of a service's process: no later than promised, whatever hangs.

What a service has to do at its end it has done once it has stopped: answers are sent, sessions committed,
captured rounds written. What Python does after that, looking through all objects of numpy, Numba and the
solvers once more for garbage, takes seconds of processor time, and more than ten on a busy machine; and
it waits for every thread of a pool, however long that one takes.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MARGIN_SECONDS = 1.0
"""How much longer than its grace a stop may take."""


@contextmanager
def ends_within(seconds: float) -> Iterator[Callable[[], None]]:
    """A limit on how long the rest of the block takes, from when what it gives is called.

    Past it the process ends with exit code 1, and where each thread stood is on standard error. This needs
    neither Python's lock nor its main thread (:func:`faulthandler.dump_traceback_later`).

    Args:
        seconds: at least; there is one such limit in a process.
    """
    stream = sys.__stderr__

    def begin() -> None:
        if stream is not None:
            faulthandler.dump_traceback_later(seconds, exit=True, file=stream)

    try:
        yield begin
    finally:
        faulthandler.cancel_dump_traceback_later()


def end_process() -> None:
    """End this process with exit code 0, now: nothing that waits for the interpreter's end is done."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # its reader is gone, or it is closed
            stream.flush()
    os._exit(0)
