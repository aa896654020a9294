"""The three gaps of an answer, by hand."""

from __future__ import annotations

import pytest

from gangplan.domain.plan import gaps


@pytest.mark.parametrize(
    ("objective", "bound", "keep_and_fill", "expected"),
    [
        pytest.param(90.0, 100.0, 80.0, (10.0, 0.1, 0.5), id="half of what planning can gain"),
        pytest.param(100.0, 100.0, 100.0, (0.0, 0.0, 0.0), id="nothing to gain"),
        pytest.param(-10.0, -8.0, -12.0, (2.0, 0.25, 0.5), id="below zero"),
        pytest.param(-5.0, 0.0, -5.0, (5.0, 5e9, 1.0), id="a bound of 0 closes no gap"),
        pytest.param(0.0, 1e-9, 0.0, (1e-9, 0.0, 0.0), id="a bound of 0 rounded outward"),
        pytest.param(100.0, 99.0, 90.0, (0.0, 0.0, 0.0), id="a bound that was beaten"),
    ],
)
def test_gaps(objective, bound, keep_and_fill, expected):
    assert gaps(objective, bound, keep_and_fill) == pytest.approx(expected)
