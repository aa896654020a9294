"""Processes that play simulations: so many at a time, each ended when it is too late or no longer wanted.

A process is spawned, never forked: threads of solvers and of gRPC may run here. It gets what all its work
starts from once, ends with whoever started it, and leaves interrupts to it.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from gangplan.errors import GangplanError
from gangplan.planning import pickling

Tell = Callable[[Any], None]
Work = Callable[[Any, Any, Tell], Any]
"""Takes what all work starts from, one piece of it, and what tells of progress; gives the result."""

_JOIN_SECONDS = 5.0
_NO_TIME = float("inf")
_CONTEXT = multiprocessing.get_context("spawn")


@dataclass(frozen=True, slots=True)
class Event:
    """What a process says.

    Attributes:
        ticket: of the work.
        value: progress, or the result.
        done: whether that was all.
        error: why there is no result; None: there is one, or not yet. A :class:`GangplanError` of the work,
            or what became of the process.
    """

    ticket: Any
    value: Any = None
    done: bool = False
    error: GangplanError | str | None = None


@dataclass(slots=True)
class _Worker:
    process: Any
    pipe: Any
    ticket: Any = None
    until: float = _NO_TIME
    busy: bool = False


@dataclass(frozen=True, slots=True)
class _Waiting:
    ticket: Any
    task: Any
    seconds: float | None = field(default=None)


class Pool:
    """Processes for one kind of work; a context manager that ends them all.

    Args:
        work: done in the processes; a function of a module.
        base: what all work starts from; sent once to each process.
        workers: processes at a time, started when they are needed.
    """

    def __init__(self, work: Work, base: Any, workers: int) -> None:
        pickling.enable()
        self._work, self._base = work, base
        self._most = max(1, workers)
        self._workers: list[_Worker] = []
        self._waiting: deque[_Waiting] = deque()
        self._said: deque[Event] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def open(self) -> int:
        """Pieces of work that have no result yet."""
        return len(self._waiting) + sum(worker.busy for worker in self._workers) + len(self._said)

    def submit(self, ticket: Any, task: Any, seconds: float | None = None) -> None:
        """Hand in a piece of work.

        Args:
            ticket: by which its events are known.
            task: the work.
            seconds: wall time after which its process is ended; None: none.
        """
        self._waiting.append(_Waiting(ticket, task, seconds))
        self._feed()

    def events(self, timeout: float | None = None) -> Iterator[Event]:
        """What has been said since; waits no longer than ``timeout`` seconds for something if nothing has."""
        self._feed()
        if not self._said:
            self._listen(timeout)
        while self._said:
            yield self._said.popleft()

    def stop(self, ticket: Any) -> None:
        """Give up a piece of work; its process is ended, and nothing more is heard of it."""
        self._waiting = deque(one for one in self._waiting if one.ticket != ticket)
        for worker in [one for one in self._workers if one.busy and one.ticket == ticket]:
            self._end(worker)
        self._feed()

    def close(self) -> None:
        """End all processes."""
        self._waiting.clear()
        for worker in list(self._workers):
            self._end(worker)

    def _feed(self) -> None:
        while self._waiting:
            worker = next((one for one in self._workers if not one.busy), None)
            if worker is None and len(self._workers) >= self._most:
                return
            worker = worker or self._start()
            one = self._waiting.popleft()
            try:
                worker.pipe.send(one.task)
            except OSError:  # it died while it had nothing to do
                self._end(worker)
                self._waiting.appendleft(one)
                continue
            worker.busy, worker.ticket = True, one.ticket
            worker.until = _NO_TIME if one.seconds is None else time.monotonic() + one.seconds

    def _start(self) -> _Worker:
        here, there = _CONTEXT.Pipe()
        process = _CONTEXT.Process(target=_serve, args=(there, self._work, self._base), daemon=True)
        process.start()
        there.close()
        worker = _Worker(process, here)
        self._workers.append(worker)
        return worker

    def _listen(self, timeout: float | None) -> None:
        busy = [worker for worker in self._workers if worker.busy]
        if not busy:
            return
        now = time.monotonic()
        nearest = min(worker.until for worker in busy) - now
        wait = nearest if timeout is None else min(nearest, timeout)
        pipes = {worker.pipe: worker for worker in busy}
        ready = multiprocessing.connection.wait(list(pipes), None if wait == _NO_TIME else max(0.0, wait))
        for pipe in ready:
            self._hear(pipes[pipe])
        for worker in busy:
            if worker.busy and time.monotonic() >= worker.until:
                self._said.append(Event(worker.ticket, done=True, error="took too long"))
                self._end(worker)
        self._feed()

    def _hear(self, worker: _Worker) -> None:
        try:
            event: Event = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(_JOIN_SECONDS)
            code = worker.process.exitcode
            self._said.append(Event(worker.ticket, done=True, error=f"its process ended with {code}"))
            self._end(worker)
            return
        self._said.append(Event(worker.ticket, event.value, event.done, event.error))
        if event.done:
            worker.busy = False

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.busy = False
        worker.process.kill()
        worker.process.join(_JOIN_SECONDS)
        worker.pipe.close()


def _serve(pipe: Any, work: Work, base: Any) -> None:
    """A process's whole life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            result = Event(None, work(base, task, lambda value: pipe.send(Event(None, value))), done=True)
        except GangplanError as error:
            result = Event(None, done=True, error=error)
        except Exception as error:  # noqa: BLE001 (whoever waits gets it)
            result = Event(None, done=True, error=f"{type(error).__name__}: {error}")
        with contextlib.suppress(OSError):
            pipe.send(result)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
