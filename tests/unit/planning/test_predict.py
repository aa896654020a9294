"""The predictor of durations: what it must say whatever was learned, and how right it is."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.job import Component, Job, TaskGroup
from gangplan.domain.quantiles import Quantiles
from gangplan.planning.predict.errors import Foreseen, errors_of
from gangplan.planning.predict.predictor import LEAST_JOBS, PROBABILITIES, Predictor, Ran, _kaplan_meier
from gangplan.planning.predict.traits import Traits, traits_of

users = st.sampled_from(["", "ada", "ben"])
traits = st.builds(
    Traits, users, st.sampled_from(["train-#", "tune-#"]), st.sampled_from([1000, 8000]), st.just(())
)
ends = st.lists(st.builds(Ran, traits, st.floats(1.0, 1e6)), max_size=25)


def alike(*seconds: float, user: str = "ada", kind: str = "train-#") -> list[Ran]:
    return [Ran(Traits(user, kind, 1000, ()), one) for one in seconds]


def median(said: Quantiles | None) -> float:
    assert said is not None
    return said.values[PROBABILITIES.index(0.5)]


@given(ends, ends, traits, st.floats(0.0, 1e9))
def test_predictions_are_finite_and_above_0_however_long_a_job_runs(
    past: list[Ran], running: list[Ran], asked: Traits, done: float
) -> None:
    said = Predictor().learned(past).beside(running).left(asked, done)
    if len(past) < LEAST_JOBS:
        assert said is None
        return
    assert said is not None
    assert said.probabilities == PROBABILITIES
    assert list(said.values) == sorted(said.values)
    assert said.values[0] > 0.0
    assert math.isfinite(said.values[-1])


@given(st.lists(st.floats(1.0, 1e6), min_size=LEAST_JOBS, max_size=15))
def test_who_outlives_everybody_is_expected_to_run_the_longer_the_longer_it_has(seconds: list[float]) -> None:
    """The smallest cliff: an estimate of nothing left, the moment that it is outlived."""
    known = Predictor().learned(alike(*seconds))
    beyond = [max(seconds) * factor for factor in (1.0, 1.5, 4.0, 100.0)]
    left = [median(known.left(alike(1.0)[0].traits, done)) for done in beyond]
    assert left == sorted(left)
    assert all(0.3 * done < one < 9.0 * done for one, done in zip(left, beyond, strict=True))


@given(ends, traits, st.floats(0.0, 1e5))
def test_the_same_past_gives_the_same_prediction(past: list[Ran], asked: Traits, done: float) -> None:
    at_once = Predictor().learned(past)
    one_by_one = Predictor()
    for ended in past:
        one_by_one = one_by_one.learned([ended])
    assert at_once == one_by_one
    assert at_once.left(asked, done) == one_by_one.left(asked, done)


def test_the_narrow_group_counts_when_it_has_members_and_the_wide_one_when_not() -> None:
    known = Predictor().learned(
        [
            *alike(*[1_000.0] * 30),
            *alike(*[50_000.0] * 30, user="ben"),
            *alike(*[4_000.0] * 30, kind="tune-#"),
        ]
    )
    assert median(known.left(Traits("ada", "train-#", 1000, ()), 0.0)) == pytest.approx(1_000.0, rel=0.05)
    assert median(known.left(Traits("ada", "tune-#", 1000, ()), 0.0)) == pytest.approx(4_000.0, rel=0.05)
    assert median(known.left(Traits("ben", "train-#", 1000, ()), 0.0)) == pytest.approx(50_000.0, rel=0.05)
    stranger = median(known.left(Traits("cay", "train-#", 1000, ()), 0.0))
    assert 1_000.0 <= stranger <= 50_000.0
    # All of ada's have ended by then: others who had run so long tell more.
    assert median(known.left(Traits("ada", "train-#", 1000, ()), 10_000.0)) > 20_000.0


def test_it_is_calibrated_on_jobs_that_it_has_not_seen() -> None:
    """Log-normal times by user; every job is predicted before it is learned from."""
    rng = random.Random(7)
    known, seen, blind = Predictor(), [], []
    for number in range(1_200):
        user = rng.randrange(6)
        seconds = math.exp(rng.gauss(5.0 + user, 0.7))
        one = Ran(Traits(f"user-{user}", "job-#", 1000, ()), seconds)
        said = known.left(one.traits, 0.0)
        everybody = known.left(Traits("", "job-#", 1000, ()), 0.0)
        if number >= 200:
            assert said is not None
            assert everybody is not None
            seen.append(Foreseen(said, seconds))
            blind.append(Foreseen(everybody, seconds))
        known = known.learned([one])
    errors, without = errors_of(seen), errors_of(blind)
    assert errors is not None
    assert without is not None
    assert errors.jobs == 1_000
    for probability, part in errors.coverage.items():
        assert part == pytest.approx(probability, abs=0.05)
    # Whoever knows the true distributions has the median of |exp(0.7 z) - 1| over a standard normal z: 0.445.
    assert 0.36 < errors.median_relative_error < 0.52
    assert errors.pinball < 0.6 * without.pinball


def test_a_young_history_counts_who_has_not_ended() -> None:
    """Everybody comes at once, and after an hour those below it have ended: half of all, the shorter half.

    What is said of a new job must be right for all, not for those that have ended.
    """
    rng = random.Random(5)
    hour = 3_600.0
    times = [math.exp(rng.gauss(math.log(hour), 1.0)) for _ in range(400)]
    one = Traits("ada", "job-#", 1000, ())
    short = Predictor().learned([Ran(one, t) for t in times if t <= hour])
    right = short.beside([Ran(one, hour) for t in times if t > hour])
    blind, said = short.left(one, 0.0), right.left(one, 0.0)
    assert blind is not None
    assert said is not None
    lower = [p for p in PROBABILITIES if p < 0.5]
    for probability, seen in zip(said.probabilities, said.values, strict=True):
        part = sum(t <= seen for t in times) / len(times)
        if probability in lower:
            assert part == pytest.approx(probability, abs=0.04)
        else:
            assert seen >= 0.95 * hour
    assert sum(t <= blind.values[-1] for t in times) / len(times) < 0.6


@given(st.lists(st.tuples(st.floats(1.0, 100.0), st.booleans()), min_size=1, max_size=12))
def test_the_estimator_shares_out_everything(observed: list[tuple[float, bool]]) -> None:
    """Against Efron's way to the same figures: who goes on hands its part to all that ran longer."""
    ordered = sorted(observed, key=lambda one: (one[0], not one[1]))
    part = [1.0 / len(ordered)] * len(ordered)
    beyond = 0.0
    for i, (_, ended) in enumerate(ordered):
        if not ended:
            rest = len(ordered) - i - 1
            if rest:
                for k in range(i + 1, len(ordered)):
                    part[k] += part[i] / rest
            else:
                beyond = part[i]
            part[i] = 0.0
    mass, left = _kaplan_meier(
        np.array([t for t, ended in ordered if ended]), np.array([t for t, ended in ordered if not ended])
    )
    assert mass.tolist() == pytest.approx([p for p, (_, ended) in zip(part, ordered, strict=True) if ended])
    assert left == pytest.approx(beyond, abs=1e-12)


def test_errors_by_hand() -> None:
    said = Quantiles((0.25, 0.5), (10.0, 20.0))
    errors = errors_of([Foreseen(said, 30.0), Foreseen(said, 10.0)])
    assert errors is not None
    assert errors.coverage == {0.25: 0.5, 0.5: 1.0 - 0.5}
    # 30 came: 0.25 * 20 + 0.5 * 10 = 10; 10 came: 0 + 0.5 * 10 = 5; over 4 losses and a mean of 20.
    assert errors.pinball == pytest.approx(15.0 / 4 / 20)
    assert errors.median_relative_error == pytest.approx((1 / 3 + 1) / 2)
    assert errors_of([]) is None


def test_names_that_count_runs_are_one_kind() -> None:
    group = TaskGroup(count=2, devices_per_task=4, accelerator_types=("b", "a"))
    job = Job("train-0017.3", Component((group,)), user="ada")
    assert traits_of(job) == Traits("ada", "train-#.#", 8000, ("a", "b"))
    assert traits_of(Job("x")).groups() == ((), ("size", 1000, ()))
    assert len(traits_of(job).groups()) == 4


def test_service_is_time_times_devices() -> None:
    known = Predictor().learned([Ran(Traits("", "j", 2000, ()), 10.0)] * 5)
    said = known.service()
    assert said is not None
    assert set(said.values) == {20.0}
    assert Predictor().service() is None
