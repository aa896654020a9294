"""Several warm solver processes, for rounds that are solved at the same time."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from gangplan.engine.budget import Budget
from gangplan.engine.runner import Cancellation
from gangplan.engine.worker import PRELOAD, START_SECONDS, SolverWorker
from gangplan.errors import WorkerError
from gangplan.model.program import FloatArray, Program, Solution, SolveParameters

_NOTHING: Mapping[str, str] = MappingProxyType({})


class WorkerPool:
    """A fixed number of solver workers; a call takes a free one, or waits for one until its deadline.

    Args:
        size: how many, at least 1.
        preload: backends to load before a process counts as ready.
        extra: more backends, ``module:attribute`` by name.
        memory_limit_bytes: resident size at which a process is ended; None: no limit.
    """

    def __init__(
        self,
        size: int = 1,
        *,
        preload: tuple[str, ...] = PRELOAD,
        extra: Mapping[str, str] = _NOTHING,
        memory_limit_bytes: int | None = None,
    ) -> None:
        if size < 1:
            raise ValueError(f"a pool of {size} workers; it must be 1 or more")
        self._workers = tuple(
            SolverWorker(preload=preload, extra=extra, memory_limit_bytes=memory_limit_bytes)
            for _ in range(size)
        )
        self._free = list(self._workers)
        self._changed = threading.Condition()
        self._closed = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def size(self) -> int:
        """How many workers there are."""
        return len(self._workers)

    @property
    def free(self) -> int:
        """How many workers take a call at once."""
        return len(self._free)

    @property
    def replaced(self) -> int:
        """How many processes had to be ended so far."""
        return sum(worker.replaced for worker in self._workers)

    def start(self) -> None:
        """Start all processes; does not wait until they are ready."""
        for worker in self._workers:
            worker.start()

    def wait_until_ready(self, budget: Budget | None = None) -> Mapping[str, str]:
        """Wait until all processes can solve, and say which preloaded backends failed and why.

        Raises:
            WorkerError: one is not ready in time, or died.
        """
        budget = Budget(START_SECONDS) if budget is None else budget
        failed: dict[str, str] = {}
        for worker in self._workers:
            failed.update(worker.wait_until_ready(budget))
        return failed

    def solve(
        self,
        backend: str,
        program: Program,
        parameters: SolveParameters,
        start: FloatArray | None,
        budget: Budget,
        cancellation: Cancellation | None = None,
    ) -> Solution:
        """See :meth:`gangplan.engine.runner.Runner.solve`; waits for a free worker first."""
        cancellation = cancellation or Cancellation()
        worker = self._take(budget, cancellation)
        try:
            return worker.solve(backend, program, parameters, start, budget, cancellation)
        finally:
            with self._changed:
                self._free.append(worker)
                self._changed.notify()

    def close(self) -> None:
        """End all processes. Calls in other threads raise WorkerError at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for worker in self._workers:
            worker.close()

    def _take(self, budget: Budget, cancellation: Cancellation) -> SolverWorker:
        with cancellation.hooked(self._wake), self._changed:
            while not (self._free or self._closed or cancellation.cancelled or budget.exhausted):
                self._changed.wait(None if budget.remaining == math.inf else budget.remaining)
            if self._closed:
                raise WorkerError("the pool of solver workers is closed")
            if cancellation.cancelled:
                raise WorkerError("the call was cancelled")
            if not self._free:
                raise WorkerError("no solver worker was free by the deadline")
            return self._free.pop()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
