"""Gaps over time: by hand, and the properties that any curve has."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.bench.curve import (
    Point,
    as_lists,
    at,
    from_lists,
    gaps_at,
    incumbents,
    primal_integral,
    time_to,
)

CURVE = incumbents([Point(0.2, 80.0, None), Point(0.4, 70.0, 120.0), Point(1.0, 99.5, 100.0)])

points = st.lists(
    st.builds(
        Point,
        st.floats(0, 10),
        st.none() | st.floats(0, 100),
        st.none() | st.floats(100, 200),
    ),
    max_size=8,
)


def test_the_best_plan_and_the_least_bound_so_far_count() -> None:
    expected = [Point(0.2, 80.0, None), Point(0.4, 80.0, 120.0), Point(1.0, 99.5, 100.0)]
    assert expected == CURVE


def test_gaps_at_moments_against_the_bound_of_the_end_and_the_one_known_then() -> None:
    found = gaps_at(CURVE, 100.0, 80.0, (0.1, 0.5, 1.0))
    assert set(found["0.1"].values()) == {None}
    assert found["0.5"]["relative"] == pytest.approx(0.2)
    assert found["0.5"]["of_gain"] == pytest.approx(1.0)
    assert found["0.5"]["relative_then"] == pytest.approx(40 / 120)
    assert found["0.5"]["absolute_then"] == pytest.approx(40.0)
    assert found["1"]["of_gain"] == pytest.approx(0.5 / 20)


def test_time_to_a_gap() -> None:
    assert time_to(CURVE, 100.0, 0.01) == 1.0
    assert time_to(CURVE, 100.0, 0.3) == 0.2
    assert time_to(CURVE, 100.0, 0.001) is None


def test_the_primal_integral_by_hand() -> None:
    # 0.2 s without a plan, 0.8 s at 20 %, 1 s at 0.5 %.
    assert primal_integral(CURVE, 100.0, 2.0) == pytest.approx(0.2 + 0.8 * 0.2 + 1.0 * 0.005)
    assert primal_integral([], 100.0, 2.0) == 2.0


@given(points, st.floats(0.1, 10))
def test_the_integral_lies_between_nothing_and_the_whole_time(some: list[Point], until: float) -> None:
    area = primal_integral(incumbents(some), 200.0, until)
    assert 0.0 <= area <= until + 1e-9


@given(points, st.floats(0, 10))
def test_an_incumbent_never_gets_worse(some: list[Point], moment: float) -> None:
    curve = incumbents(some)
    early, late = at(curve, moment), at(curve, math.inf)
    if early is not None and early.objective is not None:
        assert late is not None
        assert late.objective is not None
        assert late.objective >= early.objective


@given(points)
def test_a_curve_survives_its_row(some: list[Point]) -> None:
    curve = incumbents(some)
    assert from_lists(as_lists(curve)) == curve
