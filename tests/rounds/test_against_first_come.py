"""Stopping jobs must pay: beside first come, first served, which stops nobody, our default loses little."""

from __future__ import annotations

import inspect
import statistics
from pathlib import Path

import pytest

from gangplan.cli.simulate import simulate
from gangplan.planning import histories, policies, sources
from gangplan.planning.metrics import Metrics, measure
from gangplan.planning.policies import How
from gangplan.planning.rounds.history import History
from gangplan.planning.rounds.loop import Settings, play

SCENARIOS = Path(__file__).parents[2] / "scenarios"
DEFAULT = str(inspect.signature(simulate).parameters["policy"].default)
MARGIN = 0.05
"""Mean completion that fairness and deadlines may cost over histories; over the first 24 it was .5 %."""


def lived(history: History, name: str) -> Metrics:
    played = play(history, policies.make(name, How(pipeline="greedy")), Settings(most_rounds=300))
    assert played.finished, name
    return measure(played)


def test_a_gang_and_single_jobs_do_not_stop_each_other_for_ever() -> None:
    """In every other round all were stopped, before a checkpoint, and after 300 rounds nobody had ended."""
    history = sources.read(str(SCENARIOS / "rush-hour.yaml")).history().history
    ours, first = lived(history, DEFAULT), lived(history, "fifo")
    assert ours.completion_mean is not None
    assert first.completion_mean is not None
    assert ours.completion_mean <= first.completion_mean * (1 + MARGIN)
    assert ours.evictions <= 2 * ours.jobs


@pytest.mark.deep
def test_over_drawn_histories_little_is_lost_by_stops() -> None:
    means = {
        name: statistics.fmean(
            lived(histories.small(seed), name).completion_mean or 0.0 for seed in range(40)
        )
        for name in (DEFAULT, "fifo")
    }
    assert means[DEFAULT] <= means["fifo"] * (1 + MARGIN)
