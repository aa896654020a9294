"""Every form of fairness: the model's arithmetic is the verifier's, and what a form promises holds.

The rounds here are drawn for their numbers, over many orders of magnitude, not for their placements.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.columns import Columns
from gangplan.domain.job import Job
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.quantiles import Quantiles
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.model.forms import forms
from gangplan.model.instance.entitlement import Entitlement
from gangplan.model.instance.standing import build_standings
from gangplan.model.instance.throughput import build_speeds
from gangplan.model.instance.weights import Weights, base_weights, build_weights
from gangplan.model.verifier.claims import Claim
from gangplan.model.verifier.facts import round_facts
from gangplan.testing.builders import group, job, node, round_of

from .planned import drawn, in_depth

RANGE = 1e5
"""Decision 11: coefficients per GPU stay within it, base weights apart."""
POWERS = st.sampled_from([1.0, 2.0, 0.5, 1.5, 0.1])
SECONDS = st.one_of(st.just(0.0), st.floats(1e-3, 1e8))
WORK = st.one_of(st.just(0.0), st.floats(1e-6, 1e9))
NOW = 2e8


@in_depth
def depth():
    """Quick or deep."""


@st.composite
def one_job(draw: st.DrawFn, name: str, queues: list[str | None]) -> Job:
    maybe = draw(st.integers(0, 9))
    shape = draw(st.sampled_from(["one", "elastic", "pair", "cpu"]))
    tasks = {
        "one": [group(count=draw(st.sampled_from([1, 2, 8])), profile=draw(st.sampled_from([None, "p"])))],
        "elastic": [group(count=2, counts=[1, 2, 4])],
        "pair": [group("a", 2, types=["T0"]), group("b", 1, gpus=2)],
        "cpu": [group(gpus=0, cpu=2)],
    }[shape]
    built = job(
        name,
        *tasks,
        queue=draw(st.sampled_from(queues)),
        weight=draw(st.sampled_from([1.0, 1.0, 3.0, 0.2])),
        submit_time=None if maybe == 0 else NOW - draw(SECONDS),
        work_done=draw(WORK),
        work_left=None if maybe in (1, 2) else draw(WORK),
        fair_progress=draw(WORK),
        fair_finish_age=draw(SECONDS) if maybe == 3 else None,
    )
    received = None if draw(st.integers(0, 3)) == 0 else draw(SECONDS)
    predicted = draw(st.sampled_from([None, Quantiles((0.5,), (900.0,)), Quantiles((0.1, 0.9), (0.0, 1e6))]))
    return replace(built, service_received_device_seconds=received, left_quantiles=predicted)


@st.composite
def standing_rounds(draw: st.DrawFn) -> Round:
    queues: list[Queue] = []
    for i in range(draw(st.integers(0, 4))):
        parent = draw(st.sampled_from([None, *(q.name for q in queues)]))
        received = draw(st.one_of(st.none(), st.just(0.0), st.floats(1.0, 1e9)))
        weight = draw(st.sampled_from([1.0, 3.0, 0.1]))
        queues.append(Queue(f"q{i}", parent, weight=weight, service_received=received))
    names = [None, *(queue.name for queue in queues)]
    jobs = [draw(one_job(f"j{i}", names)) for i in range(draw(st.integers(1, 7)))]
    cells = {("T0", c, "node"): 3.0 * c for c in (1, 2, 8)} | {("T1", c, "node"): 2.5 * c for c in (1, 2)}
    nodes = [node("a", "T0", draw(st.integers(1, 8))), node("b", "T1", draw(st.integers(0, 8)) or 1)]
    parts = draw(
        st.one_of(
            st.sampled_from(FairnessForm).map(lambda form: {form: 1.0}),
            st.lists(st.sampled_from(FairnessForm), min_size=1, max_size=3, unique=True).map(
                lambda several: dict.fromkeys(several, 0.3)
            ),
        )
    )
    return round_of(
        nodes,
        jobs,
        types={"T0": 1.0, "T1": 0.4, "T2": 9.0},
        profiles={"p": cells},
        queues=queues,
        now=NOW,
        round_seconds=draw(st.sampled_from([300.0, 1.0, 7_200.0])),
        policy=Policy(
            fairness_power=draw(POWERS),
            fairness_forms=parts,
            queue_fairness_power=draw(st.sampled_from([1.0, 0.0, 2.0])),
            fairness_quantile=draw(st.sampled_from([0.5, 0.05, 0.3])),
            service_quantiles=draw(st.sampled_from([None, Quantiles((0.2, 0.3, 0.9), (60.0, 60.0, 9e4))])),
        ),
    )


def models(round_: Round) -> tuple[list[str], Weights]:
    """The model's weights, with what the instance would give them."""
    jobs = tuple(sorted(round_.jobs, key=lambda one: one.name))
    facts = round_facts(round_)
    speeds = build_speeds(round_)
    fleet: dict[int, int] = {}
    for each in round_.cluster.nodes:
        type_ = speeds.type_index[each.accelerator_type or ""]
        fleet[type_] = fleet.get(type_, 0) + each.usable_device_count
    base = base_weights(round_, Columns(jobs))
    fair_rate = np.array([facts.jobs[one.name].isolated for one in jobs])
    reference = np.array([facts.jobs[one.name].reference for one in jobs])
    entitlement = Entitlement(round_, jobs, base, speeds, fleet)
    standings = build_standings(round_, Columns(jobs), fair_rate, reference, entitlement)
    return [one.name for one in jobs], build_weights(round_.policy, base, standings)


@drawn
@given(standing_rounds(), st.lists(st.floats(1e-3, 4.0), min_size=1, max_size=4))
def test_the_model_s_worth_is_the_verifier_s(round_, ratios):
    names, weights = models(round_)
    facts = round_facts(round_)
    for j, name in enumerate(names):
        mine = facts.jobs[name]
        assert weights.weight[j] == pytest.approx(mine.weight, rel=1e-9)
        for relative in (0.0, 1.0, *ratios):
            theirs = mine.weight * relative if mine.claim is None else mine.claim.earns(relative)
            ours = weights.earned(np.array([j]), np.array([relative]))[0]
            assert ours == pytest.approx(theirs, rel=1e-8, abs=1e-12), (name, relative)


@drawn
@given(standing_rounds())
def test_shares_go_out_whole(round_):
    """What the jobs are owed is the whole cluster, no more and no less."""
    names, weights = models(round_)
    shares = weights.standings.entitlement.shares()
    assert shares.sum() == pytest.approx(1.0)
    assert (shares > 0.0).all()
    assert len(names) == len(shares)


@drawn
@given(standing_rounds(), st.floats(1e-3, 4.0), st.floats(1e-3, 4.0))
def test_waiting_earns_nothing_the_reference_all_and_more_speed_more(round_, one, other):
    _, weights = models(round_)
    slow, fast = sorted((one, other))
    standings = weights.standings
    for form in forms().values():
        ratios = np.array([0.0, slow, fast, 1.0])
        earned = np.array(
            [form.earned(standings, np.full(len(weights.base), r), weights.power) for r in ratios]
        )
        assert (earned[0] == 0.0).all()
        assert earned[3] == pytest.approx(np.ones(len(weights.base)), rel=1e-9)
        assert (earned[2] >= earned[1] * (1.0 - 1e-9)).all()
        assert (earned[1] > 0.0).all()
        if form.FORM is FairnessForm.LOG:
            assert (earned[2] * slow <= earned[1] * fast * (1.0 + 1e-9)).all(), "less and less is gained"


@drawn
@given(standing_rounds())
def test_coefficients_per_device_stay_in_range(round_):
    """Base weights and what queues are owed apart, at the reference throughput (decision 11)."""
    alike = tuple(replace(one, weight=1.0) for one in round_.jobs)
    policy = replace(round_.policy, queue_fairness_power=0.0)
    _, weights = models(replace(round_, jobs=alike, policy=policy))
    assert weights.weight.min() > 0.0
    assert weights.weight.max() / weights.weight.min() <= RANGE


@drawn
@given(standing_rounds())
def test_the_median_job_is_worth_what_it_is_to_the_throughput_term(round_):
    """Decision 1, whatever the form, where every job has an urgency of the form's own."""
    for form in forms().values():
        policy = replace(round_.policy, fairness_forms={form.FORM: 1.0})
        _, weights = models(replace(round_, policy=policy))
        if (form.urgencies(weights.standings, weights.power) > 0.0).all():
            assert np.median(weights.weight) == pytest.approx(1.0)


@drawn
@given(standing_rounds())
def test_power_0_switches_fairness_between_jobs_off(round_):
    policy = replace(round_.policy, fairness_power=0.0, queue_fairness_power=0.0)
    _, weights = models(replace(round_, policy=policy))
    assert weights.weight == pytest.approx(weights.base)
    assert weights.curved == ()


@drawn
@given(standing_rounds())
def test_a_job_that_ends_within_the_round_gains_at_least_its_share_under_negative_power(round_):
    """Where p is 1 nothing bends: the gain is the seconds saved, and none is saved beyond the end."""
    policy = Policy(fairness_power=1.0, fairness_forms={FairnessForm.NEGATIVE_POWER: 1.0})
    facts = round_facts(replace(round_, policy=policy))
    for one in round_.jobs:
        claim = facts.jobs[one.name].claim
        assert isinstance(claim, Claim)
        standing = claim.standing
        if standing.alone is None or standing.reference <= 0.0 or one.work_left is None:
            continue
        saved = claim.earns(1.0) / claim.weight
        assert saved == pytest.approx(1.0)
        half = claim.earns(0.5) / claim.weight
        if one.work_left > standing.reference * round_.round_seconds:
            assert half == pytest.approx(0.5)
        else:
            assert half <= 1.0 + 1e-9
