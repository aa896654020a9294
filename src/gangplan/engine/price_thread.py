"""Prices are found in a thread of their own while the first plan is made, written and verified.

The walk of the search is compiled and holds no lock of the interpreter (``model.prices.walk``), so that on a
second core its time passes unseen. What it finds does not depend on when: it always takes the same steps,
unless the round gets short of time. Of a large round the prices are good long before the best are found, and
the search tells them on its way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gangplan.engine.budget import Budget
from gangplan.engine.warm_start import improve
from gangplan.model.prices.lagrangian import PriceSearch

if TYPE_CHECKING:
    from gangplan.model.instance.instance import Instance
    from gangplan.model.prices.names import Name
    from gangplan.model.prices.prices import Prices

_LOOK_SECONDS = 0.01


class Searching:
    """A search on its way.

    Args:
        future: of the search.
        stop: ends its walk.
        early: of the prices that it tells on its way.
    """

    def __init__(
        self, future: Future[PriceSearch], stop: threading.Event, early: Future[Prices] | None = None
    ) -> None:
        self._future, self._stop = future, stop
        self._early = early or Future()

    def result(self, hurried: Callable[[], bool]) -> PriceSearch:
        """The search when it has ended; when ``hurried``, it ends with the prices that it has."""
        while True:
            if hurried():
                self._stop.set()
            try:
                return self._future.result(_LOOK_SECONDS)
            except NotYet:
                if self._future.done():  # by now, or with a failure of its own of the same kind
                    return self._future.result()

    def early(self, hurried: Callable[[], bool]) -> Prices | None:
        """The prices told on the way, or the best where the search ends before; None when ``hurried``."""
        while not (self._early.done() or self._future.done() or hurried()):
            either: list[Future[Any]] = [self._early, self._future]
            wait(either, _LOOK_SECONDS, FIRST_COMPLETED)
        return self._early.result() if self._early.done() else None


@contextmanager
def search_prices(
    instance: Instance, warm: Mapping[Name, float], budget: Budget, early: int = 0, stretch: float = 1.0
) -> Iterator[Searching]:
    """Search in a thread while within; it has ended, one way or the other, when this is left.

    Args:
        instance: the round as arrays.
        warm: prices and rents to begin with, by name.
        budget: of the round; the walk ends when it is exhausted.
        early: evaluations after which the prices so far are told, or at the end of a shorter walk, as it is
            from warm prices; 0: never. The walk goes on as if it had not been asked.
        stretch: how bold the first steps of a cold start are.
    """
    stop = threading.Event()
    told: Future[Prices] = Future()

    def search() -> PriceSearch:
        found = PriceSearch.of(instance)

        def tell() -> None:
            if early and not told.done():
                told.set_result(found.prices())

        def ended() -> bool:
            if found.evaluations >= early:
                tell()
            return stop.is_set() or budget.exhausted

        improve(found, warm, ended, look=early, stretch=stretch)
        if not (stop.is_set() or budget.exhausted):
            tell()
        return found

    with ThreadPoolExecutor(1, "gangplan-prices") as threads:
        try:
            yield Searching(threads.submit(search), stop, told)
        finally:
            stop.set()
