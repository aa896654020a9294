"""A round for practice: the first round of a process takes many times as long as any later one."""

from __future__ import annotations

import logging
import threading
from functools import cache

import numpy as np

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.choose import best_on, copies_on, first_on, pack_on
from gangplan.model.packing.exchange import Exchange
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.occupancy import Occupancy
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch

_log = logging.getLogger(__name__)
_PATIENCE_SECONDS = 3.0
_COMPILING = "compiling loops for this machine: once after each installation, about 15 seconds"

PRACTICE = Round(
    cluster=Cluster(nodes=(Node("node", accelerator_type="type", device_count=2),)),
    accelerators=(AcceleratorType("type"),),
    jobs=(Job("job-1"), Job("job-2"), Job("job-3")),
)


@cache
def compile_loops() -> None:
    """Have all compiled loops ready: from the cache within a second, else ten seconds or more, once.

    Who waits long is told why, as a warning in the log.
    """
    patience = threading.Timer(_PATIENCE_SECONDS, _log.warning, args=(_COMPILING,))
    patience.daemon = True
    patience.start()
    try:
        instance = build_instance(PRACTICE)
        keep_and_fill(instance)
        search = PriceSearch.of(instance)
        search.improve(steps=1)
        placed = dict(price_greedy(instance, search.prices()).placed)
        Exchange(Occupancy(instance, ()), placed).make_room(0)
        free, nodes = np.ones((1, 3), np.int64), np.zeros(1, np.int64)
        copies_on(free, nodes, free[0].copy(), 1)
        for choose in (first_on, best_on, pack_on):
            choose(free, nodes, np.ones(3, np.int64), 1, 1)
    finally:
        patience.cancel()
