"""The first word of a service that was started as a process of its own."""

from __future__ import annotations

import queue
import subprocess
import threading


class ServiceFailedError(RuntimeError):
    """The service did not start, or did not stop as it should."""


def address_of(process: subprocess.Popen[str], start_seconds: float, stop_seconds: float) -> str:
    """The address, which ``gangplan serve`` prints first, once it is ready.

    Args:
        process: with its standard output as a pipe.
        start_seconds: how long it may take.
        stop_seconds: how long one that says nothing may take to end.

    Raises:
        ServiceFailedError: it is not ready in time, or ended instead.
    """
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        if process.stdout is not None:
            lines.put(process.stdout.readline())

    threading.Thread(target=read, daemon=True).start()
    try:
        line = lines.get(timeout=start_seconds).strip()
    except queue.Empty:
        raise ServiceFailedError(f"the service was not ready within {start_seconds:.0f} s") from None
    if not line:
        raise ServiceFailedError(f"the service ended with exit code {process.wait(stop_seconds)}")
    return line
