"""Nodes that fail at random, independently of each other and of what runs."""

from __future__ import annotations

import random
from collections.abc import Sequence

from gangplan.domain.cluster import Node
from gangplan.planning.rounds.history import Failure


def breakdowns(
    nodes: Sequence[Node], start: float, span: float, between: float, repair: float, seed: int
) -> tuple[Failure, ...]:
    """Failures of nodes within a span of time.

    The times from the end of one repair to the next failure, and those of repairs, are exponential (the
    memoryless model of machine availability, e.g. Ross, *Introduction to Probability Models*, section 6.6):
    each node is up ``between / (between + repair)`` of the time. A node's failures depend on the seed and
    its name alone, so that another cluster or a longer span does not change them.

    Args:
        nodes: that may fail.
        start: seconds since the epoch.
        span: seconds.
        between: mean time to a failure, seconds, positive.
        repair: mean time until it runs again, seconds, positive.
        seed: of all of it.
    """
    found = []
    for node in nodes:
        rng = random.Random(f"{seed}/{node.name}")
        at = rng.expovariate(1.0 / between)
        while at < span:
            lasts = max(1.0, rng.expovariate(1.0 / repair))
            found.append(Failure(node.name, start + at, start + at + lasts))
            at += lasts + rng.expovariate(1.0 / between)
    return tuple(sorted(found, key=lambda failure: (failure.begins, failure.node)))
