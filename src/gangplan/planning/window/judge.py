"""What was played, in the window's own measures, so that it can be held against the programme's values."""

from __future__ import annotations

from dataclasses import dataclass

from gangplan.planning.rounds.loop import Played
from gangplan.planning.window.ways import Window, round_of


@dataclass(frozen=True, slots=True)
class Judged:
    """A played history of which every job has ended.

    Attributes:
        weighted_rounds: sum over jobs of weight times rounds from arrival to end: what
            :attr:`Goal.COMPLETION` makes least.
        worst_rho: by the window's denominators, whole rounds counted: what :attr:`Goal.WORST_RHO` makes
            least.
    """

    weighted_rounds: float
    worst_rho: float


def judge(window: Window, played: Played) -> Judged:
    """Measure what was played.

    Args:
        window: of the same history, however many rounds it has.
        played: a history of which every job has ended.

    Raises:
        ValueError: a job has not ended.
    """
    template = played.history.template
    total, worst = 0.0, 0.0
    for job in window.jobs:
        finished = played.state.jobs[job.name].finished
        if finished is None:
            raise ValueError(f"{job.name} has not ended")
        rounds = round_of(template, finished) + 1 - job.arrives
        total += job.weight * rounds
        worst = max(worst, (job.waits_seconds + rounds * window.round_seconds) / job.fair_seconds)
    return Judged(total, worst)
