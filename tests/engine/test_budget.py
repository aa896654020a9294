"""The budget: what is spent, what is left."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.engine.budget import Budget


@given(seconds=st.floats(0, 1e6), reserve=st.floats(0, 1e6))
def test_remaining_falls_and_is_never_negative(seconds: float, reserve: float) -> None:
    budget = Budget(seconds)
    first, second = budget.remaining, budget.remaining
    assert 0 <= second <= first <= seconds
    less = budget.less(reserve)
    assert less.deadline == pytest.approx(budget.deadline - reserve)
    assert 0 <= less.remaining <= max(0.0, seconds - reserve) + 1e-6
    assert budget.limited


def test_without_limit() -> None:
    budget = Budget()
    assert not budget.limited
    assert not budget.exhausted
    assert budget.remaining == budget.deadline == math.inf
    assert budget.less(1.0).remaining == math.inf


def test_nothing_left() -> None:
    assert Budget(0.0).exhausted
    assert Budget(deadline=time.monotonic() - 5).remaining == 0.0


def test_a_deadline_travels_between_processes() -> None:
    budget = Budget(10.0)
    assert Budget(deadline=budget.deadline).remaining == pytest.approx(budget.remaining, abs=0.5)


@pytest.mark.parametrize("seconds", [-1.0, math.nan])
def test_refuses_a_budget_without_meaning(seconds: float) -> None:
    with pytest.raises(ValueError, match="must be 0 or more"):
        Budget(seconds)


def test_takes_seconds_or_a_deadline() -> None:
    with pytest.raises(ValueError, match="not both"):
        Budget(1.0, deadline=5.0)


def test_phases_add_up_in_order() -> None:
    budget = Budget()
    with budget.phase("build"):
        time.sleep(0.01)
    with budget.phase("solve"):
        pass
    before = budget.seconds_by_phase["build"]
    with budget.phase("build"):
        time.sleep(0.01)
    assert list(budget.seconds_by_phase) == ["build", "solve"]
    assert budget.seconds_by_phase["build"] >= before + 0.01
    assert sum(budget.seconds_by_phase.values()) <= budget.elapsed


def test_a_phase_that_fails_is_counted() -> None:
    budget = Budget()
    with pytest.raises(ZeroDivisionError), budget.phase("solve"):
        raise ZeroDivisionError
    assert "solve" in budget.seconds_by_phase
