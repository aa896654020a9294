"""The engine with its warm solver workers, as the service uses it."""

from __future__ import annotations

import importlib
import threading
from typing import TYPE_CHECKING

from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.runner import Cancellation
from gangplan.engine.worker_pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable

    from gangplan.domain.plan import RoundResult, Stage
    from gangplan.domain.round import Round
    from gangplan.observe.metrics import Metrics

_PRACTICE_SECONDS = 10.0


class EnginePlanner:
    """Plans rounds with :func:`gangplan.engine.round.plan_round`.

    Args:
        workers: solver processes, one for each round planned at a time.
        metrics: where replaced workers are counted; None: nowhere.
        worker_memory_bytes: resident size at which a solver process is ended and replaced; None: no limit.
    """

    def __init__(
        self, workers: int, metrics: Metrics | None = None, worker_memory_bytes: int | None = None
    ) -> None:
        self._pool = WorkerPool(workers, memory_limit_bytes=worker_memory_bytes)
        self._metrics = metrics
        self._counted = 0
        self._count = threading.Lock()

    def start(self) -> None:
        """Load the engine here and start the solver processes; does not wait until they are ready.

        Raises:
            WorkerError: no process can be started.
        """
        self._pool.start()
        importlib.import_module("gangplan.engine.round")

    def plan(
        self,
        round_: Round,
        parameters: PlanParameters,
        budget: Budget,
        cancellation: Cancellation,
        on_stage: Callable[[Stage], None] | None = None,
        on_better: Callable[[RoundResult], None] | None = None,
    ) -> RoundResult:
        """Plan a round within the budget.

        Raises:
            UnknownProposerError: there is no such proposer.
            UnknownSolverError: there is no such solver.
        """
        from gangplan.engine.round import plan_round

        try:
            return plan_round(
                round_,
                parameters,
                runner=self._pool,
                budget=budget,
                cancellation=cancellation,
                on_stage=on_stage,
                on_better=on_better,
            )
        finally:
            self._count_replaced()

    def warm(self) -> None:
        """Load the engine here and the solvers in their processes, and plan a round for practice.

        Raises:
            WorkerError: a process does not become ready.
        """
        from gangplan.engine.practice import PRACTICE, compile_loops

        self.start()
        compile_loops()
        self._pool.wait_until_ready()
        self.plan(PRACTICE, PlanParameters(pipeline="full"), Budget(_PRACTICE_SECONDS), Cancellation())

    def close(self) -> None:
        """End the solver processes."""
        self._pool.close()

    def _count_replaced(self) -> None:
        if self._metrics is None:
            return
        with self._count:
            replaced = self._pool.replaced
            self._metrics.worker_restarts.inc(replaced - self._counted)
            self._counted = replaced
