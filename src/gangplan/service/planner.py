"""The engine with its warm solver workers, as the service uses it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gangplan.engine.worker_pool import WorkerPool

if TYPE_CHECKING:
    from gangplan.domain.plan import RoundResult
    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters
    from gangplan.observe.metrics import Metrics


class EnginePlanner:
    """Plans rounds with :func:`gangplan.engine.round.plan_round`.

    Args:
        workers: solver processes, one for each round planned at a time.
        metrics: where replaced workers are counted; None: nowhere.
    """

    def __init__(self, workers: int, metrics: Metrics | None = None) -> None:
        self._pool = WorkerPool(workers)
        self._metrics = metrics
        self._counted = 0
        self._count = threading.Lock()

    def plan(self, round_: Round, parameters: PlanParameters, cancelled: Callable[[], bool]) -> RoundResult:
        """Plan a round within the parameters' time budget, from now."""
        from gangplan.engine.round import plan_round

        try:
            return plan_round(round_, parameters, solver=self._pool, cancelled=cancelled)
        finally:
            self._count_replaced()

    def warm(self) -> None:
        """Load the engine here and the solvers in their processes.

        Raises:
            WorkerError: a process does not become ready.
        """
        self._pool.start()
        import gangplan.engine.round

        del gangplan
        self._pool.wait_until_ready()

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
