"""A round becomes a scenario that expands to the same round, but for what a scenario has no words for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from gangplan.domain.job import Job, Running
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.planning.scenario import dumps, expand, load, loads
from gangplan.planning.scenario.from_round import scenario_of
from gangplan.service.capture.differences import round_differences
from gangplan.testing.strategies import rounds

SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml"))


def free_of_contradictions(job: Job) -> Job:
    """No run is longer than the job's life, no checkpoint older than its run; nothing waits for the past."""
    quantiles = job.left_quantiles
    if quantiles is not None and not any(quantiles.values):
        quantiles = None
    running = job.running
    if running is not None:
        running = Running(running.placements, stopping=running.stopping)
    gate = replace(job.gate, not_before=None)
    return replace(job, disrupted_at=(), left_quantiles=quantiles, running=running, gate=gate)


def sayable(round_: Round) -> Round:
    """Without what a scenario has no words for."""
    names = {job.name for job in round_.jobs}
    return replace(
        round_,
        claims=(),
        outlook=None,
        jobs=tuple(free_of_contradictions(job) for job in round_.jobs),
        reservations=tuple(each for each in round_.reservations if each.job in names),
    )


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_worked_scenario_comes_back(path):
    round_ = expand(load(path), folder=path.parent)
    assert round_differences(round_, expand(loads(dumps(scenario_of(round_))))) == ()


@settings(max_examples=30)
@given(rounds("tiny"))
def test_any_round_comes_back(round_):
    round_ = sayable(round_)
    assert round_differences(round_, expand(scenario_of(round_))) == ()


def test_how_it_was_solved_comes_along():
    how = PlanParameters(pipeline="greedy", solver="highs", time_budget_seconds=2.5, seed=3)
    solve = scenario_of(expand(load(SCENARIOS[0])), how).solve
    assert (solve.pipeline, solve.solver, solve.time_limit, solve.seed) == ("greedy", "highs", 2.5, 3)
