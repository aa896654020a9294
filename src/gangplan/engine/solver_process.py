"""The other side of a solver worker: a process with its libraries loaded that solves what it is sent.

It is a fresh interpreter, never a fork. Its standard output is the null device from the start, it leaves
Ctrl-C to its parent, and it ends when the parent does, even in the middle of a solve.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gangplan.engine.budget import Budget
from gangplan.engine.channel import Channel, ChannelClosedError
from gangplan.engine.runner import call
from gangplan.errors import BackendError, GangplanError, UnknownSolverError
from gangplan.model.program import FloatArray, Program, SolveParameters


@dataclass(frozen=True, slots=True)
class Setup:
    """What a new process is told first.

    Attributes:
        preload: backends to load before it reports ready.
        extra: more backends, ``module:attribute`` by name.
    """

    preload: tuple[str, ...]
    extra: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ready:
    """The process can solve.

    Attributes:
        failed: backends that could not be preloaded, with the reason.
    """

    failed: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """One call; ``deadline`` is a reading of the monotonic clock, which all processes share."""

    backend: str
    program: Program
    parameters: SolveParameters
    start: FloatArray | None
    deadline: float


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What came of it: the backend's answer, unchecked, or its failure.

    Attributes:
        solution: whatever the backend returned.
        error: why there is none; empty when there is one.
        unknown: the error is that there is no such backend.
    """

    solution: object = None
    error: str = ""
    unknown: bool = False


def main(descriptor: int) -> None:
    """Serve requests on the socket ``descriptor`` until its other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end = socket.socket(fileno=descriptor)
    threading.Thread(target=_end_with_parent, args=(end.fileno(),), daemon=True).start()
    channel = Channel(end)
    try:
        setup = channel.receive()
        if not isinstance(setup, Setup):
            return
        channel.send(Ready(_preload(setup)))
        while isinstance(request := channel.receive(), Request):
            _reply(channel, _answer(request, setup.extra))
            del request
    except ChannelClosedError:
        return


def _reply(channel: Channel, answer: Answer) -> None:
    try:
        channel.send(answer)
    except (AttributeError, TypeError, pickle.PicklingError) as error:  # nothing was sent yet
        channel.send(Answer(error=f"the backend's answer cannot be sent: {error}"))


def _answer(request: Request, extra: Mapping[str, str]) -> Answer:
    budget = Budget(deadline=request.deadline)
    try:
        return Answer(
            call(request.backend, request.program, request.parameters, request.start, budget, extra)
        )
    except UnknownSolverError as error:
        return Answer(error=str(error), unknown=True)
    except GangplanError as error:
        return Answer(error=str(error))


def _preload(setup: Setup) -> dict[str, str]:
    """Solve a programme of one column with each backend, which loads its library; failures by name."""
    one = np.ones(1)
    program = Program(one, 0 * one, one, np.array([True]), np.array([0, 1]), np.array([0]), one, 0 * one, one)
    failed = {}
    for name in setup.preload:
        try:
            call(name, program, SolveParameters(), None, Budget(), setup.extra)
        except (BackendError, UnknownSolverError) as error:
            failed[name] = str(error)
    return failed


def _end_with_parent(descriptor: int) -> None:
    """End this process, whatever it does, when the socket's other end is closed."""
    poll = select.poll()
    poll.register(descriptor, select.POLLRDHUP | select.POLLHUP)
    poll.poll()
    os._exit(0)
