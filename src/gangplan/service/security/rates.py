"""How often each caller may call: token buckets.

A bucket holds up to ``burst`` tokens and fills with ``per_second``; a call takes one (J. Turner, "New
directions in communications (or which way to the information age?)", IEEE Communications Magazine 24(10),
1986, where it is the leaky bucket as a meter).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MOST_CALLERS = 4096
"""Buckets kept; who has not called for the longest is forgotten, and finds a full one again."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often.

    Attributes:
        per_second: calls in the long run.
        burst: calls at once after a pause.
    """

    per_second: float
    burst: int


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class Rates:
    """The buckets of all callers. Lives on one event loop.

    Args:
        clock: seconds that only go forward.
        most: buckets kept.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, most: int = MOST_CALLERS) -> None:
        self._clock = clock
        self._most = most
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str, rate: Rate) -> float:
        """Take a token.

        Returns:
            0 when there was one, else the seconds until there is.
        """
        now = self._clock()
        bucket = self._buckets.get(caller)
        if bucket is None:
            bucket = self._buckets[caller] = _Bucket(rate.burst, now)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(caller)
        bucket.tokens = min(rate.burst, bucket.tokens + (now - bucket.at) * rate.per_second)
        bucket.at = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) / rate.per_second
        bucket.tokens -= 1
        return 0.0

    def __len__(self) -> int:
        return len(self._buckets)
