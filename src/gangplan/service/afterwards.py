"""How long it takes from the plan of a session's round to its answer, as far as was seen lately.

The answer is written, compared with the last one and kept with the session, while what was read for it, a few
changes, tells nothing of how large it is.
"""

from __future__ import annotations

_FEWEST_JOBS = 500
"""Smaller rounds tell nothing of larger ones, and take no time worth speaking of."""
_MEMORY = 0.8  # share of the past where it took less this time


class Afterwards:
    """Seconds for each job. May be used from several threads at once."""

    def __init__(self) -> None:
        self._seconds_per_job = 0.0

    def expected(self, jobs: int) -> float:
        """Seconds that it will take for a round of so many jobs; 0 while nothing is known."""
        return self._seconds_per_job * jobs

    def note(self, jobs: int, seconds: float) -> None:
        """It took so long."""
        if jobs >= _FEWEST_JOBS:
            now, before = seconds / jobs, self._seconds_per_job
            self._seconds_per_job = max(now, _MEMORY * before + (1 - _MEMORY) * now)
