"""A round is gone when it is planned: Python looks for cycles only while nothing is planned."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given, settings

from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.planning.generate import generate_named
from gangplan.testing.strategies import leaving, promising, rounds

FEW = 50
"""Objects in cycles that libraries leave behind, of thousands that a round has."""


def left_behind(round_: Round, parameters: PlanParameters) -> int:
    """Objects of a planned round that only the collector finds."""
    plan_round(round_, parameters)  # what is made once in a process
    gc.collect()
    gc.disable()
    try:
        plan_round(round_, parameters)
        return gc.collect()
    finally:
        gc.enable()


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_nothing_is_left_for_the_collector(share: float) -> None:
    parameters = PlanParameters(pipeline="greedy", time_budget_seconds=30.0, look_ahead_share=share)
    assert left_behind(generate_named("M/steady/85/seed0"), parameters) < FEW


@settings(max_examples=8)
@given(rounds() | promising() | leaving())
def test_nor_of_any_other_round(round_: Round) -> None:
    assert left_behind(round_, PlanParameters(pipeline="greedy", time_budget_seconds=30.0)) < FEW
