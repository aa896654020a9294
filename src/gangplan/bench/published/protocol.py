"""What a setting offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gangplan.planning.metrics import JobReport, Metrics
from gangplan.planning.rounds.history import History
from gangplan.planning.rounds.loop import Settings


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be played.

    Attributes:
        history: jobs and cluster.
        settings: how it is played.
        said: the setting in words: cluster, round, restarts, which jobs.
    """

    history: History
    settings: Settings
    said: str


class Setting(Protocol):
    """A module of this folder."""

    NAME: str
    """First part of the instances' names."""
    PAPER: str
    FIGURES: Mapping[str, Mapping[str, float]]
    """Published ones, by policy and measure."""

    def prepare(self, data: Path, parts: Sequence[str], policy: str) -> Prepared:
        """What is to be played.

        Args:
            data: the folder of data sets.
            parts: of the instance's name, the first one left out.
            policy: that will decide.

        Raises:
            InvalidInputError: there is no such instance, or its files cannot be read.
        """
        ...

    def measures(self, metrics: Metrics, reports: Sequence[JobReport]) -> Mapping[str, float | None]:
        """Ours, by measure; None: it has no value yet."""
        ...
