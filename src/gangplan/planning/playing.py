"""One simulation in a process of its own, for services: history in, progress and figures out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from gangplan.planning import policies
from gangplan.planning.metrics import JobReport, job_reports, measure
from gangplan.planning.policies import How
from gangplan.planning.pool import Tell
from gangplan.planning.rounds.history import History
from gangplan.planning.rounds.loop import RoundRecord, Settings, play
from gangplan.planning.study.figures import figures

_TELL_SECONDS = 0.2
"""Between two reports of progress, at least."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """What is played, and how.

    Attributes:
        history: all that is given.
        policy: name of who decides.
        how: how gangplan's own policies plan.
        settings: how it is played.
    """

    history: History
    policy: str
    how: How
    settings: Settings


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of it.

    Attributes:
        figures: by name.
        jobs: every one that arrived, in order of submission.
    """

    figures: dict[str, float | None]
    jobs: tuple[JobReport, ...]


def simulate(base: Any, simulation: Simulation, tell: Tell) -> Simulated:
    """Play it; ``tell`` gets the part of the jobs that has ended, or of the rounds that are over."""
    arrivals = max(1, len(simulation.history.arrivals))
    told = time.monotonic()

    def on_round(record: RoundRecord) -> None:
        nonlocal told
        if time.monotonic() - told >= _TELL_SECONDS:
            told = time.monotonic()
            rounds = record.after.totals.rounds / simulation.settings.most_rounds
            tell(min(0.999, max(len(record.after.ended) / arrivals, rounds)))

    decides = policies.make(simulation.policy, simulation.how)
    played = play(simulation.history, decides, simulation.settings, on_round=on_round)
    reports = job_reports(played)
    return Simulated(figures(played, measure(played, reports), reports), reports)
