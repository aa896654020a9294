"""A service of our own for one run: ``gangplan serve`` in its own process on a free loopback port."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gangplan.service.launched import address_of

MESSAGE_MEBIBYTES = 1024
_START_SECONDS = 240.0  # the first start of new code compiles
_STOP_SECONDS = 20.0
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Service:
    """A service that answers.

    Attributes:
        address: ``host:port``.
        process: its id.
        start_s: seconds from its start until it answered, solver processes warm.
    """

    address: str
    process: int
    start_s: float


@contextlib.contextmanager
def service(*words: str, environment: Mapping[str, str] = _NOTHING) -> Iterator[Service]:
    """Start one, and end it afterwards.

    Args:
        words: more for its command line.
        environment: more for its environment.

    Raises:
        ServiceFailedError: it does not get ready in time; the message says why.
    """
    began = time.perf_counter()
    serve = ["serve", "--port", "0", "--slots", "1", "--log-level", "warning", "--sessions", "memory"]
    serve += ["--max-message-mib", str(MESSAGE_MEBIBYTES), "--grace", "1", *words]
    process = subprocess.Popen(
        [sys.executable, "-m", "gangplan.cli.main", *serve],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        yield Service(
            address_of(process, _START_SECONDS, _STOP_SECONDS), process.pid, time.perf_counter() - began
        )
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
