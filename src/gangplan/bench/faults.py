"""Faults while a round is in flight: what a run's ``options`` may do to the service that plans it.

* ``fault = "backends"``: the faulty backends of :mod:`gangplan.testing.faulty_backends` are installed where
  the service finds them, and ``solver`` names one.
* ``fault = "kill"``: from a third of the time limit on every solver process is killed, again and again, until
  the answer is there.
* ``fault = "memory"``: a solver process may hold 1 MiB more than it does when the service is ready.
"""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from gangplan.bench.machine import peak_bytes, resident_bytes
from gangplan.bench.runs import Run
from gangplan.bench.serving import Service, service

Fault = Literal["", "backends", "kill", "memory"]
FAULTS: tuple[Fault, ...] = ("", "backends", "kill", "memory")
_STRIKE_SHARE = 1 / 3
_STRIKE_EVERY_SECONDS = 0.05
_SPARE_MEBIBYTES = 1


def fault_of(run: Run) -> Fault:
    """What the run's options ask for; empty: nothing.

    Raises:
        ValueError: there is no such fault.
    """
    asked: Fault = run.options.get("fault", "")
    if asked not in FAULTS:
        raise ValueError(f"no fault {asked!r}; there are: {', '.join(FAULTS[1:])}")
    return asked


@contextlib.contextmanager
def service_for(run: Run) -> Iterator[Service]:
    """The service that plans the run, with what its fault needs."""
    fault = fault_of(run)
    if fault == "backends":
        from gangplan.testing.faulty_backends import install

        with tempfile.TemporaryDirectory(prefix="gangplan-bench-") as folder:
            install(Path(folder))
            path = os.pathsep.join(part for part in (folder, os.environ.get("PYTHONPATH", "")) if part)
            with service(environment={"PYTHONPATH": path}) as served:
                yield served
    elif fault == "memory":
        with service() as idle:
            most = max(map(resident_bytes, solver_processes(idle.process))) // 2**20 + _SPARE_MEBIBYTES
        with service("--worker-memory-mib", str(most)) as served:
            yield served
    else:
        with service() as served:
            yield served


@contextlib.contextmanager
def in_flight(run: Run, served: Service) -> Iterator[None]:
    """What happens to the service while a call is in flight."""
    if fault_of(run) != "kill":
        yield
        return
    over = threading.Event()

    def strike() -> None:
        over.wait(_STRIKE_SHARE * run.time_limit_s)
        while not over.is_set():
            for process in solver_processes(served.process):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            over.wait(_STRIKE_EVERY_SECONDS)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def solver_processes(service_process: int) -> list[int]:
    """Ids of the solver processes that a service started.

    One that is no program of its own yet is left out: what is done to it at that moment is done to its start,
    and says nothing of a solver at work.
    """
    service = _command(service_process)
    children = [process for process in peak_bytes(service_process) if process != service_process]
    return [process for process in children if _command(process) not in (b"", service)]


def _command(process: int) -> bytes:
    """Its command line; empty where it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
