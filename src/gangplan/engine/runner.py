"""Where a solver runs: one interface, in this process or in a warm one of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from gangplan.engine.budget import Budget
from gangplan.engine.recheck import recheck
from gangplan.errors import BackendError, GangplanError, WorkerError
from gangplan.model.program import FloatArray, Program, Solution, SolveParameters
from gangplan_solvers import catalog

_REPLY_SECONDS, _REPLY_SECONDS_PER_NONZERO = 0.01, 1e-7
"""Time kept back from the library's limit to read its answer out, hand it over and check it."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


class Cancellation:
    """A request to stop, from any thread. Once given it stays given."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hooks: list[Callable[[], None]] = []
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Stop whatever runs under this cancellation, at once."""
        with self._lock:
            self._cancelled = True
            hooks = tuple(self._hooks)
        for hook in hooks:
            hook()

    @contextmanager
    def hooked(self, hook: Callable[[], None]) -> Iterator[None]:
        """Have ``hook`` called on :meth:`cancel` while within; at once when it was called before."""
        with self._lock:
            self._hooks.append(hook)
            late = self._cancelled
        try:
            if late:
                hook()
            yield
        finally:
            with self._lock:
                self._hooks.remove(hook)


class Runner(Protocol):
    """Solves programmes with a named backend by a deadline, and believes no answer unchecked."""

    def solve(
        self,
        backend: str,
        program: Program,
        parameters: SolveParameters,
        start: FloatArray | None,
        budget: Budget,
        cancellation: Cancellation | None = None,
    ) -> Solution:
        """Solve ``program``.

        Args:
            backend: a name of the catalogue.
            program: what to solve.
            parameters: how; its time limit is lowered to what the budget leaves.
            start: a complete feasible solution, shape (columns,), or None. The answer is never worse.
            budget: when to be back at the latest.
            cancellation: to stop earlier, from another thread.

        Raises:
            UnknownSolverError: there is no such backend, or it cannot be used here.
            BackendError: it failed, refused the programme, or a claim of its answer is false.
            WorkerError: no answer in time, the solver process died, or the call was cancelled.
        """
        ...

    def close(self) -> None:
        """End what was started; no call may follow."""
        ...


class InProcessRunner:
    """Solves in the calling thread. A library that overruns its limit or crashes takes the caller along.

    Args:
        extra: more backends, ``module:attribute`` by name.
    """

    def __init__(self, extra: Mapping[str, str] = _NOTHING) -> None:
        self._extra = dict(extra)

    def solve(
        self,
        backend: str,
        program: Program,
        parameters: SolveParameters,
        start: FloatArray | None,
        budget: Budget,
        cancellation: Cancellation | None = None,
    ) -> Solution:
        """See :meth:`Runner.solve`. A cancellation is seen only before and after the library's call."""
        _refuse_cancelled(cancellation)
        solution = call(backend, program, parameters, start, budget, self._extra)
        _refuse_cancelled(cancellation)
        if budget.exhausted:
            raise WorkerError(f"{backend} came back after the deadline")
        return recheck(solution, program, parameters, start)

    def close(self) -> None:
        """Nothing to end."""


def call(
    backend: str,
    program: Program,
    parameters: SolveParameters,
    start: FloatArray | None,
    budget: Budget,
    extra: Mapping[str, str] = _NOTHING,
) -> object:
    """Call the backend within what the budget leaves; its answer is not checked.

    Raises:
        UnknownSolverError: there is no such backend, or it cannot be used here.
        BackendError: it failed, whatever it raised.
    """
    if budget.limited:
        reserve = _REPLY_SECONDS + _REPLY_SECONDS_PER_NONZERO * program.nonzeros
        left = max(0.0, budget.remaining - reserve)
        limit = left if parameters.time_limit_seconds is None else min(left, parameters.time_limit_seconds)
        parameters = replace(parameters, time_limit_seconds=limit)
    try:
        return catalog.usable(backend, extra).solve(program, parameters, start)
    except GangplanError:
        raise
    except Exception as error:  # a third party's library may raise anything
        raise BackendError(f"{backend} raised {type(error).__name__}: {error}") from error


def _refuse_cancelled(cancellation: Cancellation | None) -> None:
    if cancellation is not None and cancellation.cancelled:
        raise WorkerError("the call was cancelled")
