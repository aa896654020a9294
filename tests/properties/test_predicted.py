"""Predicted work left: a quantile of it counts like work that is known, on both sides."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.domain.job import DeadlineKind, Job
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.quantiles import Quantiles
from gangplan.domain.round import Round
from gangplan.model.instance.instance import build_instance
from gangplan.model.instance.left import counted_left
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.left import left_at
from gangplan.testing.builders import job, node, round_of
from gangplan.testing.strategies import rounds


@st.composite
def quantiles(draw: st.DrawFn) -> Quantiles:
    at = draw(st.lists(st.integers(1, 999), min_size=1, max_size=8, unique=True))
    work = draw(st.lists(st.floats(0.0, 1e18), min_size=len(at), max_size=len(at)))
    return Quantiles(tuple(p / 1000 for p in sorted(at)), tuple(sorted(work)))


@given(quantiles(), st.lists(st.floats(0.001, 0.999), min_size=2, max_size=9))
def test_both_sides_read_the_same_and_more_is_more(said: Quantiles, probabilities: list[float]) -> None:
    one = Job("j", left_quantiles=said)
    read = [left_at(one, p) for p in sorted(probabilities)]
    assert read == pytest.approx([counted_left(one, p) for p in sorted(probabilities)], rel=1e-12)
    known = [work for work in read if work is not None]
    assert len(known) == len(read)
    assert all(a <= b * (1 + 1e-12) for a, b in itertools.pairwise(known))
    for probability, work in zip(said.probabilities, said.values, strict=True):
        assert left_at(one, probability) == work == pytest.approx(counted_left(one, probability))


@given(quantiles(), st.floats(0.0, 1e18))
def test_what_is_known_wins(said: Quantiles, known: float) -> None:
    one = Job("j", work_left=known, left_quantiles=said)
    assert left_at(one, 0.5) == counted_left(one, 0.5) == known


def known_instead(round_: Round) -> Round:
    """The same round, with the quantile that counts told as if it were known."""
    probability = round_.policy.fairness_quantile
    jobs = [
        replace(one, work_left=left_at(one, probability), left_quantiles=None, user="") for one in round_.jobs
    ]
    return replace(round_, jobs=tuple(jobs))


def at_one(round_: Round, probability: float) -> Round:
    """The round with one probability for all that reads predictions, and without strict deadlines."""
    policy = replace(round_.policy, fairness_quantile=probability, deadline_quantile=probability)
    jobs = [
        replace(one, deadline_kind=DeadlineKind.TARGET) if one.deadline_kind is DeadlineKind.STRICT else one
        for one in round_.jobs
    ]
    return replace(round_, policy=policy, jobs=tuple(jobs))


@given(rounds("medium"), st.sampled_from([0.05, 0.5, 0.8]))
@settings(max_examples=40)
def test_a_prediction_counts_like_work_that_is_known(round_: Round, probability: float) -> None:
    predicted = at_one(round_, probability)
    known = known_instead(predicted)
    assert round_facts(predicted).jobs.keys() == round_facts(known).jobs.keys()
    for name, mine in round_facts(predicted).jobs.items():
        other = round_facts(known).jobs[name]
        for field in ("rho", "weight", "horizon", "lost_seconds", "doomed"):
            assert getattr(mine, field) == pytest.approx(getattr(other, field)), field
    ours, theirs = build_instance(predicted), build_instance(known)
    assert ours.weight == pytest.approx(theirs.weight)
    assert np.sort(ours.gain) == pytest.approx(np.sort(theirs.gain), rel=1e-9, abs=1e-9)


@given(rounds("medium"))
@settings(max_examples=40)
def test_without_predictions_the_policy_s_quantiles_mean_nothing(round_: Round) -> None:
    bare = replace(round_, jobs=tuple(replace(one, left_quantiles=None) for one in round_.jobs))
    other = replace(bare, policy=replace(bare.policy, fairness_quantile=0.123, deadline_quantile=0.456))
    assert build_instance(bare).gain.tolist() == build_instance(other).gain.tolist()


@given(rounds("medium"))
@settings(max_examples=40)
def test_no_prediction_makes_a_strict_deadline_lost(round_: Round) -> None:
    jobs = [
        replace(
            one,
            work_left=None,
            left_quantiles=Quantiles((0.5,), (1e15,)),
            deadline=round_.now + 60.0,
            deadline_kind=DeadlineKind.STRICT,
            deadline_decay_seconds=0.0,
        )
        for one in round_.jobs
    ]
    facts = round_facts(replace(round_, jobs=tuple(jobs)))
    assert not any(mine.doomed for mine in facts.jobs.values())


@given(st.floats(0.0, 1e6), st.floats(1.0, 10.0))
@settings(max_examples=20)
def test_the_gittins_index_reads_nothing_of_the_work_left(held: float, factor: float) -> None:
    policy = Policy(fairness_forms={FairnessForm.GITTINS: 1.0})
    short = replace(job("a", submit_time=0.0, work_left=100.0), service_received_device_seconds=held)
    long = replace(short, name="b", work_left=100.0 * factor)
    facts = round_facts(round_of([node("n", "T", 4)], [short, long], types={"T": 1.0}, policy=policy))
    assert facts.jobs["a"].weight == facts.jobs["b"].weight
