"""The figures of tables."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.bench.report.numbers import (
    median_interval,
    near_seconds,
    performance_profile,
    shifted_geometric_mean,
    solve_seconds,
)

times = st.lists(st.floats(0, 1e4), min_size=1, max_size=9)


def test_the_shifted_geometric_mean_by_hand() -> None:
    assert shifted_geometric_mean([0.0, 3.0], 1.0) == pytest.approx(1.0)
    assert shifted_geometric_mean([5.0, 5.0, 5.0], 1.0) == pytest.approx(5.0)


@given(times)
def test_it_lies_between_the_least_and_the_mean(values: list[float]) -> None:
    found = shifted_geometric_mean(values)
    assert min(values) - 1e-6 <= found <= statistics.fmean(values) * (1 + 1e-9) + 1e-6


def test_five_values_cover_their_median_with_fifteen_sixteenths() -> None:
    assert median_interval([3, 1, 2, 5, 4]) == (1, 5, pytest.approx(0.9375))


def test_more_values_narrow_the_interval() -> None:
    low, high, coverage = median_interval(list(range(1, 12)))
    assert (low, high) == (2, 10)
    assert 0.95 <= coverage < 1


@given(times)
def test_the_interval_holds_the_median(values: list[float]) -> None:
    low, high, _ = median_interval(values)
    assert low <= statistics.median(values) <= high


def test_unsolved_counts_at_its_limit(row) -> None:
    assert solve_seconds(row(status="TIMEOUT", time_limit_s=9.0)) == 9.0
    assert solve_seconds(row(status="FEASIBLE", time_limit_s=9.0, wall_s=1.0)) == 9.0
    assert solve_seconds(row(status="OPTIMAL", time_limit_s=9.0, wall_s=1.0)) == 1.0
    assert near_seconds(row(to_1_percent_s=None, time_limit_s=9.0)) == 9.0
    assert near_seconds(row(to_1_percent_s=0.5, time_limit_s=9.0)) == 0.5


def test_a_performance_profile_by_hand() -> None:
    profile = performance_profile({"a": {"x": 1.0, "y": 4.0}, "b": {"x": 2.0, "y": math.inf}})
    assert profile["a"] == [(1.0, 0.0), (1.0, 0.5), (1.0, 1.0)]
    assert profile["b"] == [(1.0, 0.0), (2.0, 0.5)]
