"""The rows of a load: the capacity is measured first, then half of it, all of it and twice as much is asked.

``options`` may set ``minutes``, all together; ``callers``; ``slots`` of the service; ``capacity``, requests
per second, when it is known. The capacity is the highest rate at which nothing is late or lost, hardly
anything is rejected and quality is kept (:func:`gangplan.bench.load.figures.holds`), measured against that of
the same rounds with nobody else about, which are asked first: doubled from :data:`FIRST_RATE` until it does
not hold, then halved in between :data:`BISECTIONS` times. A load beyond what can be served has the rejections
that it must have, and none of its answers may be late or worse for it.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from gangplan.bench import machine
from gangplan.bench.load.drive import Outcome, drive, watched
from gangplan.bench.load.figures import growth, holds, missed, quality, reach_by_instance, row
from gangplan.bench.load.mix import BUDGETS, arrivals, one_by_one, requests
from gangplan.bench.runs import Row, Run, Status
from gangplan.bench.serving import Service, service

LOADS = (0.5, 1.0, 2.0)
MINUTES = 10.0
CALLERS = 64
SLOTS = 2
FIRST_RATE, LAST_RATE = 1.0, 256.0
"""Requests per second."""
BISECTIONS = 3
_PROBE_SHARE = 0.04
_SEARCH_SHARE = 0.4
_WARM_SECONDS = 3.0

Load = Callable[[float, float], tuple[list[Outcome], float]]
"""Asks at a rate (requests per second) for so many seconds; what became of it, and the seconds."""


def measure(run: Run) -> list[Row]:
    """The rows of a run, one for each load and size."""
    seconds = 60.0 * float(run.options.get("minutes", MINUTES))
    callers, slots = int(run.options.get("callers", CALLERS)), int(run.options.get("slots", SLOTS))
    rng = random.Random(run.seed)
    prepared = requests(run.seed)
    with service("--slots", str(slots)) as served:

        def load(rate: float, lasting: float) -> tuple[list[Outcome], float]:
            asks = arrivals(rate, lasting, callers, rng)
            return drive(served.address, asks, prepared, callers), lasting

        load(FIRST_RATE, _WARM_SECONDS)
        calibration = [machine.calibrate()]
        given = run.options.get("capacity")
        alone = [] if given else drive(served.address, one_by_one(), prepared, 1)
        reach = reach_by_instance(alone)
        probes: list[tuple[float, bool]] = []

        def borne(rate: float) -> bool:
            outcomes, _ = load(rate, seconds * _PROBE_SHARE)
            probes.append((rate, holds(outcomes, alone=reach)))
            return probes[-1][1]

        capacity = float(given) if given else _capacity(borne)
        left = seconds * (1.0 if given else 1.0 - _SEARCH_SHARE) / len(LOADS)
        rows = [each for share in LOADS for each in _rows(served, share, capacity, left, load)]
        calibration.append(machine.calibrate())
    alone_reached, alone_of = quality(alone)
    common = {
        "capacity_rps": capacity,
        "probes": probes,
        "alone_reached": alone_reached,
        "alone_of": alone_of,
        "slots": slots,
        "callers": callers,
    }
    return [each | common | {"calibration_s": calibration} for each in rows]


def _capacity(borne: Callable[[float], bool]) -> float:
    """The highest rate that is borne, requests per second; half of the first where none is."""
    low, high = 0.0, FIRST_RATE
    while high < LAST_RATE and borne(high):
        low, high = high, 2.0 * high
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if borne(middle) else (low, middle)
    return low or FIRST_RATE / 2.0


def _rows(served: Service, share: float, capacity: float, lasting: float, load: Load) -> list[Row]:
    with watched(served.process) as memory:
        outcomes, seconds = load(share * capacity, lasting)
    found = []
    for size in BUDGETS:
        mine = [each for each in outcomes if each.ask.size == size]
        figures = row(mine, seconds) | {
            "rss_bytes": memory.looks[-1],
            "rss_growth_bytes": growth(memory.looks),
        }
        wrong = missed(figures)
        found.append(
            {
                "name": f"{share:.0%} {size}",
                "status": Status.FEASIBLE.value,
                "load": share,
                "size": size,
                **figures,
                "missed": wrong,
                "seconds": seconds,
                "load_average": machine.load_average(),
            }
        )
    return found
