"""The Gittins index against its definition, summed up step by step, and where it has a closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.job import Job
from gangplan.domain.quantiles import Quantiles
from gangplan.model.forms import gittins
from gangplan.model.verifier.standing import standing


def index(quantiles: Quantiles | None, held: float, round_seconds: float = 300.0) -> float:
    """The verifier's."""
    one = standing(
        Job("j", service_received_device_seconds=held),
        0.0,
        round_seconds,
        left=None,
        isolated=1.0,
        reference=1.0,
        rho=1.0,
        devices=lambda: 1.0,
        equal=lambda: 1.0,
        service_quantiles=quantiles,
    )
    return gittins.urgency(one, 1.0)


def by_definition(quantiles: Quantiles, held: float) -> float:
    """The greatest chance over time, over a fine grid of trials far beyond the last quantile."""
    last = quantiles.values[-1]
    corners = np.array([0.0, *quantiles.values])
    mass = np.array([0.0, *quantiles.probabilities])
    grid = np.unique(np.concatenate([np.linspace(held, held + 40 * last, 400_001), corners[corners > held]]))
    within = np.interp(grid, corners, mass)
    tail = 1.0 - (1.0 - mass[-1]) * np.exp(-(grid - last).clip(0.0) / last)
    gone = np.where(grid <= last, within, tail)
    alive = 1.0 - gone
    chance = (gone[1:] - gone[0]) / alive[0]
    time = np.cumsum(np.diff(grid) * (alive[:-1] + alive[1:]) / 2.0) / alive[0]
    return float((chance / time).max())


@st.composite
def distributions(draw: st.DrawFn) -> Quantiles:
    count = draw(st.integers(1, 6))
    at = sorted(draw(st.lists(st.integers(1, 99), min_size=count, max_size=count, unique=True)))
    steps = draw(st.lists(st.integers(1, 1_000), min_size=count, max_size=count))
    return Quantiles(tuple(p / 100 for p in at), tuple(float(x) for x in np.cumsum(steps)))


@given(distributions(), st.floats(0.0, 3.0))
def test_it_is_what_its_definition_says(quantiles: Quantiles, part: float) -> None:
    held = part * quantiles.values[-1]
    assert index(quantiles, held) == pytest.approx(by_definition(quantiles, held), rel=2e-3)


def test_who_is_at_the_gate_of_many_ends_goes_first() -> None:
    """Nine in ten end by 100, the others by 10,000: at 100 a job falls back behind new ones, not before."""
    two_kinds = Quantiles((0.001, 0.9, 0.901, 0.999), (90.0, 100.0, 9_990.0, 10_000.0))
    new, nearly, after, late = (index(two_kinds, held) for held in (0.0, 90.0, 101.0, 9_990.0))
    assert nearly > new > after
    assert late > new


def test_a_constant_chance_of_ending_knows_no_age() -> None:
    rate = 1 / 500.0
    at = tuple(p / 1000 for p in range(1, 633))
    quantiles = Quantiles(at, tuple(-math.log(1 - p) / rate for p in at))
    # The last quantile is at 500, and beyond it the chance is the same.
    found = [index(quantiles, held) for held in (0.0, 100.0, 400.0, 700.0)]
    assert found == pytest.approx([rate] * 4, rel=0.01)


def test_without_a_distribution_the_least_attained_goes_first() -> None:
    assert index(None, 0.0) == 1 / 300
    assert index(None, 700.0) == pytest.approx(1 / 1000)


@given(distributions(), st.floats(1.0, 1e9))
def test_who_outlives_all_history_keeps_a_chance(quantiles: Quantiles, factor: float) -> None:
    last = quantiles.values[-1]
    assert index(quantiles, factor * last) == 1 / last
