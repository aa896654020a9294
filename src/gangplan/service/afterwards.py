"""How long it takes from a round's plan to its answer, as far as was seen lately.

The answer is explained, written, encoded and sent from the event loop; on a session it is compared with the
last one and kept, too. All that takes longer the more calls share the machine's cores, by more than the time
in which the request was read can tell: on two cores with two rounds in progress and a solver for each, some
ten times its processor time. So what it took is kept back from the next rounds of that size, and forgotten
little by little.
"""

from __future__ import annotations

_FEWEST_JOBS = 500
"""Smaller rounds tell nothing of larger ones."""
_MEMORY = 0.9
"""Share of the past where it took less this time. Played on 155 answers of a crowded machine with budgets
five times as long, 11 are more than 100 ms late with nothing learned, 4 with .8, 3 with .9, 1 with .95, and
62, 85 and 106 ms more are kept from a plan in the mean."""


class Afterwards:
    """Seconds by the size of a round, sizes that differ by less than a factor of two being one.

    May be used from several threads at once.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._seconds_per_job = 0.0

    def expected(self, jobs: int) -> float:
        """Seconds that it will take for a round of so many jobs; 0 while nothing is known."""
        known = self._seconds.get(jobs.bit_length())
        return self._seconds_per_job * jobs if known is None else known

    def note(self, jobs: int, seconds: float) -> None:
        """It took so long."""
        size = jobs.bit_length()
        self._seconds[size] = _latest(self._seconds.get(size, 0.0), seconds)
        if jobs >= _FEWEST_JOBS:
            self._seconds_per_job = _latest(self._seconds_per_job, seconds / jobs)


def _latest(before: float, now: float) -> float:
    """The longest lately: more counts at once, less little by little."""
    return max(now, _MEMORY * before + (1 - _MEMORY) * now)


def seconds_after(planned: float, deadline: float, first: float, answered: float) -> float:
    """Seconds that would have to be kept back for an answer to be on its way when it should be.

    Args:
        planned: when the planner returned; these are readings of one clock, in seconds.
        deadline: by when it was to return. What it takes longer has to be kept back as well,
        first: unless that is since it had no plan before, which keeping back more would not change: when it
            had its first one.
        answered: when the answer was on its way.
    """
    return max(0.0, answered - min(planned, max(deadline, first)))
