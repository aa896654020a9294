"""Prices are found in a thread of their own while the first plan is made, written and verified.

The walk of the search is compiled and holds no lock of the interpreter (``model.prices.walk``), so that on a
second core its time passes unseen. What it finds does not depend on when: it always takes the same steps,
unless the round gets short of time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gangplan.engine.budget import Budget
from gangplan.engine.warm_start import improve
from gangplan.model.prices.lagrangian import PriceSearch

if TYPE_CHECKING:
    from gangplan.model.instance.instance import Instance
    from gangplan.model.prices.names import Name

_LOOK_SECONDS = 0.01


class Searching:
    """A search on its way.

    Args:
        future: of the search.
        stop: ends its walk.
    """

    def __init__(self, future: Future[PriceSearch], stop: threading.Event) -> None:
        self._future, self._stop = future, stop

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


@contextmanager
def search_prices(instance: Instance, warm: Mapping[Name, float], budget: Budget) -> Iterator[Searching]:
    """Search in a thread while within; it has ended, one way or the other, when this is left.

    Args:
        instance: the round as arrays.
        warm: prices and rents to begin with, by name.
        budget: of the round; the walk ends when it is exhausted.
    """
    stop = threading.Event()

    def search() -> PriceSearch:
        found = PriceSearch.of(instance)
        improve(found, warm, stop=lambda: stop.is_set() or budget.exhausted)
        return found

    with ThreadPoolExecutor(1, "gangplan-prices") as threads:
        try:
            yield Searching(threads.submit(search), stop)
        finally:
            stop.set()
