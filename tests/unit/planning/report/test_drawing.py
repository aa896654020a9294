"""What is written in pictures: an axis that can be read, and names that do not cover each other."""

from __future__ import annotations

import itertools
from importlib.util import find_spec

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gangplan.planning.report.drawing import figure, logarithmic, name_points

pytestmark = pytest.mark.skipif(
    find_spec("matplotlib") is None, reason="the libraries of the extra `report` are not installed"
)
PLACES = st.floats(0.0, 1.0, allow_subnormal=False)


@given(st.floats(1e-3, 1e4), st.floats(1.02, 1e6))
@example(0.88, 1.74 / 0.88)  # had one number, 1
@example(0.42, 1.72 / 0.42)
def test_a_logarithmic_axis_has_numbers_enough_and_each_is_where_it_says(low: float, times: float) -> None:
    _, axes = figure()
    axes.step([low, low * times], [0.0, 1.0])
    logarithmic(axes)
    left, right = axes.get_xlim()
    places = [float(place) for place in axes.xaxis.get_majorticklocs() if left <= place <= right]
    labels = axes.xaxis.get_major_formatter().format_ticks(places)
    assert 3 <= len(places) <= 14
    assert len(set(labels)) == len(labels)
    assert [float(label) for label in labels] == pytest.approx(places, rel=1e-4)


@settings(max_examples=10)  # each lays a figure out twice
@given(st.lists(st.tuples(PLACES, PLACES, st.sampled_from(["cost", "finish-time-fair"])), max_size=5))
@example([(0.5, 0.5, "interactive"), (0.52, 0.49, "finish-time-fair")])  # were written over each other
def test_names_of_points_do_not_cover_each_other(named: list[tuple[float, float, str]]) -> None:
    drawn, axes = figure()
    axes.scatter([0.0, 1.0], [0.0, 1.0])
    name_points(drawn, axes, named)
    texts = list(axes.texts)
    assert [text.get_text() for text in texts] == [name for *_, name in named]
    drawn.draw_without_rendering()
    for one, other in itertools.combinations(texts, 2):
        assert not one.get_window_extent().overlaps(other.get_window_extent())
