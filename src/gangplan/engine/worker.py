"""A warm solver process that is ended and replaced when it is late, dies or grows too large.

The process is a fresh interpreter started by :mod:`subprocess`: a fork would be unsafe beside the threads of
gRPC and of the solvers, and multiprocessing's spawn would import the caller's main module a second time.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

from gangplan.engine.budget import Budget
from gangplan.engine.channel import Channel, ChannelClosedError, ChannelTimeoutError
from gangplan.engine.recheck import recheck
from gangplan.engine.runner import Cancellation
from gangplan.engine.solver_process import Answer, Ready, Request, Setup
from gangplan.errors import BackendError, UnknownSolverError, WorkerError
from gangplan.model.program import FloatArray, Program, Solution, SolveParameters

PRELOAD = ("cpsat", "highs")
"""Backends whose libraries a worker loads before it is ready."""

START_SECONDS = 60.0
"""A process that is not ready by then is given up."""

_GRACE_SECONDS = 0.01
_MEMORY_POLL_SECONDS = 0.05
_SHORTEST_END_SECONDS, _LONGEST_END_SECONDS = 0.02, 0.5
"""From when a process closes its socket until its exit code is known: milliseconds on an idle machine."""
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from gangplan.engine.solver_process import main; main(int(sys.argv[1]))"
)
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""numpy's own threads cost more than they bring beside a solver's; a solver's are set by the call."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class SolverWorker:
    """One solver process, and its replacement in the background when it fails.

    Calls from several threads take turns. Use as a context manager, or call :meth:`close`.

    Args:
        preload: backends to load before the process counts as ready.
        extra: more backends, ``module:attribute`` by name.
        memory_limit_bytes: resident size at which the process is ended, polled during calls; None: no limit.
            (A limit on the address space would keep some solver libraries from loading: decision 45.)
        grace_seconds: how long after the deadline an answer is still waited for.
    """

    def __init__(
        self,
        *,
        preload: tuple[str, ...] = PRELOAD,
        extra: Mapping[str, str] = _NOTHING,
        memory_limit_bytes: int | None = None,
        grace_seconds: float = _GRACE_SECONDS,
    ) -> None:
        self._setup = Setup(preload, dict(extra))
        self._memory_limit_bytes = memory_limit_bytes
        self._grace_seconds = grace_seconds
        self._turn = threading.Lock()
        self._state = threading.Lock()
        self._process: _Process | None = None
        self._launch: _Launch | None = None
        self._closed = False
        self._replaced = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def replaced(self) -> int:
        """How many processes had to be ended so far."""
        return self._replaced

    @property
    def process_id(self) -> int | None:
        """Process id of the present process; None while there is none."""
        process = self._process
        return None if process is None else process.id

    def start(self) -> None:
        """Start the process unless it runs; does not wait until it is ready.

        Raises:
            WorkerError: the worker is closed, or no process can be started.
        """
        launch = self._launched()
        if launch is not None:
            launch.wait(math.inf, None)

    def wait_until_ready(self, budget: Budget | None = None) -> Mapping[str, str]:
        """Wait until the process can solve, and say which preloaded backends failed and why.

        Raises:
            WorkerError: it is not ready in time, or it died.
        """
        budget = Budget(START_SECONDS) if budget is None else budget
        with self._taken(budget, None):
            process = self._present(budget.deadline, None)
            try:
                return process.ready(budget.deadline)
            except _FailedError as error:
                raise WorkerError(self._end(process, error)) from error

    def solve(
        self,
        backend: str,
        program: Program,
        parameters: SolveParameters,
        start: FloatArray | None,
        budget: Budget,
        cancellation: Cancellation | None = None,
    ) -> Solution:
        """See :meth:`gangplan.engine.runner.Runner.solve`.

        Whatever the process does, the call ends at the deadline plus the grace. A process that was late,
        died, grew too large or was cancelled is ended, and a new one is started in the background.
        """
        request = Request(backend, program, parameters, start, budget.deadline)
        with self._taken(budget, cancellation):
            answer = self._ask(request, cancellation)
        if answer.unknown:
            raise UnknownSolverError(answer.error)
        if answer.error:
            raise BackendError(answer.error)
        return recheck(answer.solution, program, parameters, start)

    def close(self) -> None:
        """End the process. A call in another thread raises WorkerError at once."""
        with self._state:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.interrupt()
            process.end()

    def _ask(self, request: Request, cancellation: Cancellation | None) -> Answer:
        """Send the request and wait for the answer; end the process when there is none."""
        latest = request.deadline + self._grace_seconds
        process = self._present(latest, cancellation)
        cancellation = cancellation or Cancellation()
        try:
            with cancellation.hooked(process.interrupt):
                process.ready(latest)
                answer = process.ask(request, latest, self._memory_limit_bytes)
        except _FailedError as error:
            raise WorkerError(self._end(process, error)) from error
        if process.interrupted:  # cancelled between the answer and here: its channel is shut
            self._end(process, _FailedError("the call was cancelled"))
        return answer

    def _taken(self, budget: Budget, cancellation: Cancellation | None) -> _Turn:
        return _Turn(self._turn, budget, cancellation)

    def _present(self, latest: float, cancellation: Cancellation | None) -> _Process:
        """The process; it may have to be started, and is not waited for longer than until ``latest``."""
        launch = self._launched()
        if launch is not None:
            launch.wait(latest, cancellation)
        process = self._process
        if process is None:
            raise WorkerError("the solver worker is closed")
        return process

    def _launched(self) -> _Launch | None:
        """The start that is under way or begins now; None: there is a process."""
        with self._state:
            if self._closed:
                raise WorkerError("the solver worker is closed")
            if self._process is not None:
                return None
            if self._launch is None:
                self._launch = _Launch()
                threading.Thread(target=self._start, args=(self._launch,), daemon=True).start()
            return self._launch

    def _start(self, launch: _Launch) -> None:
        """In the background: start a process, which takes as long as the machine likes."""
        process: _Process | None = None
        try:
            process = _Process(self._setup)
        except WorkerError as error:
            launch.error = error
        except Exception as error:  # noqa: BLE001 - whoever waits for the process gets it
            launch.error = WorkerError(f"no solver process can be started: {error}")
        with self._state:
            self._launch = None
            if not self._closed:
                self._process, process = process, None
        launch.done.set()
        if process is not None:  # nobody wants it any more
            process.interrupt()
            process.end()

    def _end(self, process: _Process, error: _FailedError) -> str:
        """Give up ``process`` (unless it is merely starting up), replace it, and say why."""
        if error.starting:
            return str(error)
        with self._state:
            mine = self._process is process
            if mine:
                self._process = None
                self._replaced += 1
        why = "the solver worker was closed" if self._closed else process.reason(error)
        process.interrupt()
        threading.Thread(target=self._replace, args=(process,), daemon=True).start()
        return why

    def _replace(self, old: _Process) -> None:
        """In the background: reap the old process, start a new one."""
        old.end()
        try:
            self.start()
        except WorkerError:
            return  # closed meanwhile; or no process can be started, which the next call reports


class _Launch:
    """The start of a process, which some may wait for.

    Attributes:
        done: it has been started, or not.
        error: why not.
    """

    _SLICE_SECONDS = 0.02

    def __init__(self) -> None:
        self.done = threading.Event()
        self.error: WorkerError | None = None

    def wait(self, latest: float, cancellation: Cancellation | None) -> None:
        """Wait no longer than until ``latest`` and a cancellation.

        Raises:
            WorkerError: there is no process.
        """
        while not self.done.wait(max(0.0, min(self._SLICE_SECONDS, latest - time.monotonic()))):
            if cancellation is not None and cancellation.cancelled:
                raise WorkerError("the call was cancelled")
            if time.monotonic() >= latest:
                raise WorkerError("no solver process was started by the deadline")
        if self.error is not None:
            raise self.error


class _Turn:
    """A lock that is waited for no longer than the budget and until a cancellation."""

    _SLICE_SECONDS = 0.02

    def __init__(self, lock: threading.Lock, budget: Budget, cancellation: Cancellation | None) -> None:
        self._lock, self._budget, self._cancellation = lock, budget, cancellation

    def __enter__(self) -> None:
        while not self._lock.acquire(timeout=min(self._SLICE_SECONDS, self._budget.remaining)):
            if self._cancellation is not None and self._cancellation.cancelled:
                raise WorkerError("the call was cancelled")
            if self._budget.exhausted:
                raise WorkerError("the solver worker was busy until the deadline")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class _FailedError(Exception):
    """The process gave no answer; ``starting`` when it was not even ready and may yet become so."""

    def __init__(self, message: str, *, starting: bool = False) -> None:
        self.starting = starting
        super().__init__(message)


class _Process:
    """One child process and the channel to it."""

    def __init__(self, setup: Setup) -> None:
        mine, its = socket.socketpair()
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-c", _BOOT, str(its.fileno()), json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(its.fileno(),),
                env={**os.environ, **_ONE_THREAD},
            )
        except OSError as error:
            mine.close()
            raise WorkerError(f"no solver process can be started: {error}") from error
        finally:
            its.close()
        self._began = time.monotonic()
        self._channel = Channel(mine)
        self._failed: Mapping[str, str] | None = None
        self.interrupted = False
        self._finalizer = weakref.finalize(self, _kill, self._child, self._channel)
        self._channel.send(setup, self._began + START_SECONDS)

    @property
    def id(self) -> int:
        return self._child.pid

    def ready(self, deadline: float) -> Mapping[str, str]:
        """Wait for the process's first message: which backends failed to load."""
        if self._failed is None:
            given_up = self._began + START_SECONDS
            if not self._channel.wait(min(deadline, given_up)):
                late = time.monotonic() >= given_up
                raise _FailedError("the solver process was not ready by the deadline", starting=not late)
            message = self._receive(math.inf if deadline == math.inf else max(deadline, self._began + 1.0))
            if not isinstance(message, Ready):
                raise _FailedError("the solver process did not say that it is ready")
            self._failed = message.failed
        return self._failed

    def ask(self, request: Request, latest: float, memory_limit_bytes: int | None) -> Answer:
        """Send a request and wait for its answer until ``latest``."""

        def check() -> None:
            size, most = self._resident_bytes(), memory_limit_bytes
            if most is not None and size > most:
                raise _FailedError(f"the solver process grew to {size} bytes; the limit is {most}")

        try:
            self._channel.send(request, latest)
        except ChannelClosedError as error:
            raise _FailedError("the solver process died") from error
        except ChannelTimeoutError as error:
            raise _FailedError("the solver process did not take the programme by the deadline") from error
        every = math.inf if memory_limit_bytes is None else _MEMORY_POLL_SECONDS
        if not self._channel.wait(latest, every, check):
            raise _FailedError(f"{request.backend} gave no answer by the deadline")
        message = self._receive(latest)
        if not isinstance(message, Answer):
            raise _FailedError("the solver process answered something else")
        return message

    def interrupt(self) -> None:
        """Wake whoever waits for this process, in any thread, and end it; returns at once."""
        self.interrupted = True
        self._channel.shut()
        self._child.kill()

    def end(self) -> None:
        """Kill the process, wait for it and give the channel back."""
        self._finalizer()

    def reason(self, error: _FailedError) -> str:
        """Why the process is given up, with what it died of."""
        if self.interrupted:
            return "the call was cancelled"
        code = self._child.poll()
        if code is None:
            return str(error)
        died = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"{error} ({died})"

    def _receive(self, deadline: float) -> object:
        try:
            return self._channel.receive(deadline)
        except ChannelClosedError as error:
            self._linger(deadline)
            raise _FailedError("the solver process died") from error
        except ChannelTimeoutError as error:
            raise _FailedError("the solver process's answer was not complete by the deadline") from error

    def _linger(self, deadline: float) -> None:
        """Give a process whose socket is closed a moment to be gone, so that its exit code is known."""
        if not self.interrupted:
            left = min(_LONGEST_END_SECONDS, deadline - time.monotonic())
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(max(_SHORTEST_END_SECONDS, left))

    def _resident_bytes(self) -> int:
        try:
            pages = int(Path(f"/proc/{self._child.pid}/statm").read_text(encoding="ascii").split()[1])
        except (OSError, IndexError, ValueError):
            return 0  # gone; the channel will tell
        return pages * os.sysconf("SC_PAGE_SIZE")


def _kill(child: subprocess.Popen[bytes], channel: Channel) -> None:
    child.kill()
    child.wait()
    channel.close()
