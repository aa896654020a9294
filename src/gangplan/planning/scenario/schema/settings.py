"""How rounds are set up and solved."""

from __future__ import annotations

from typing import Literal

from gangplan.planning.scenario.quantities import Instant, Name, PositiveDuration, Whole
from gangplan.planning.scenario.schema.part import Part


class Settings(Part):
    """Time: decision 10.

    Attributes:
        now: start of the scenario.
        round: length of a round.
        horizon: expected time to the next change, over which switching costs are spread (decision 13).
    """

    now: Instant = 1_767_225_600.0
    round: PositiveDuration = 300.0
    horizon: PositiveDuration = 3600.0


class Solve(Part):
    """How to solve, where the command line does not say.

    Attributes:
        pipeline: which steps run (decision 36).
        solver: backend; None: whichever suits.
        time_limit: wall time.
        seed: of everything random.
    """

    pipeline: Literal["auto", "full", "greedy"] = "auto"
    solver: Name | None = None
    time_limit: PositiveDuration | None = None
    seed: Whole = 0
