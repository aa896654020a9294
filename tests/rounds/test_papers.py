"""Examples of the kind that the papers argue with: our decisions are theirs.

The papers are cited for their argument. The figures are our own, small enough for a hand, but for Gavel's
three jobs on two types, which are the paper's: where a paper's figures differ, what it argues from them is
the same. ``benchmarks/results/2026-11-30-fairness.md`` has the figures that ``pytest -rP`` prints.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from gangplan.domain.plan import ActionKind
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.presets import PRESETS
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.facts import round_facts
from gangplan.testing.builders import at, job, node, round_of

from .test_fair_shares import ENDLESS, D, next_round, policy, told

# Themis (Mahajan et al., NSDI 2020, sections 2 and 3): shares of the moment against finish-time fairness


def two_apps(policy: Policy) -> Round:
    """Four devices, two apps, three jobs, all submitted 1,200 s ago.

    x is the one job of the first app: a gang of four, half done, which has run ever since. y1 and y2 are the
    second app's: two devices each, of half the work, and they have got nothing so far.

    A third of four devices makes 4/3 units per second, for the gang by turns. x: 4800 done, 4800 left, its
    fair self has done 1600; r = (4800 + 4/3 x 300) / 1500 = 52/15, f = 300 + 4800 / r = 1684.6;
    rho = (1200 + 1684.6) / (1200 + 8000 / (4/3)) = 0.40. y: r = 400 / 1500, f = 300 + 18000,
    rho = 19500 / (1200 + 3200 / (4/3)) = 5.42.
    """
    fields = {"submit_time": 0.0, "fair_progress": 1_600.0}
    x = job(
        "x", gpus=4, work_done=4_800.0, work_left=4_800.0, running=at("n", range(4)), started=0.0, **fields
    )
    x = dataclasses.replace(x, running=dataclasses.replace(x.running, checkpoint_age_seconds=0.0))
    ys = [job(name, gpus=2, work_left=4_800.0, **fields) for name in ("y1", "y2")]
    return round_of(
        [node("n", "H100", 4)], [x, *ys], now=1_200.0, round_seconds=D, horizon_seconds=12 * D, policy=policy
    )


def actions(round_: Round) -> dict[str, ActionKind]:
    plan = plan_round(round_, PlanParameters(time_budget_seconds=60.0, solver="highs")).plan
    return {one.job: one.kind for one in plan.actions}


def worst_ratio(round_: Round) -> float:
    """Largest real finish over finish with a fair share, when all is done."""
    alone = {one.name: (one.work_done + one.work_left) / (4 / 3) for one in round_.jobs}
    ratios: dict[str, float] = {}
    while round_.jobs:
        progress = {one.name: one.fair_progress + D * 4 / 3 for one in round_.jobs}
        round_ = next_round(round_)
        done = {one.name for one in round_.jobs if one.work_left == 0.0}
        ratios |= {name: round_.now / alone[name] for name in done}
        left = [one for one in round_.jobs if one.name not in done]
        jobs = tuple(dataclasses.replace(one, fair_progress=progress[one.name]) for one in left)
        round_ = dataclasses.replace(round_, jobs=jobs)
    return max(ratios.values())


def test_themis_who_is_furthest_from_its_fair_finish_gets_the_devices():
    facts = round_facts(two_apps(Policy())).jobs
    assert facts["x"].rho == pytest.approx(0.4006, abs=1e-4)
    assert facts["y1"].rho == pytest.approx(19_500 / 3_600)
    fair = two_apps(PRESETS["finish-time-fair"].policy)
    assert actions(fair) == {"x": ActionKind.EVICT, "y1": ActionKind.PLACE, "y2": ActionKind.PLACE}
    loss = dataclasses.replace(Policy(), fairness_forms={FairnessForm.NEGATIVE_POWER: 1.0})
    assert actions(two_apps(loss)) == actions(fair)
    assert actions(two_apps(PRESETS["efficiency"].policy)) == {"x": ActionKind.KEEP}


def test_themis_sharing_is_no_loss_under_finish_time_fairness_and_is_one_without():
    """y1 and y2 from 1200 to 3600, their fair finish; x again until 4800, its own is 7200. Without fairness x
    ends at 2400 and they at 4800: 4/3."""
    got = [worst_ratio(two_apps(PRESETS[name].policy)) for name in ("finish-time-fair", "efficiency")]
    told("Themis: worst finish over fair finish, with and without", got, (1.0, 4 / 3))
    assert got == pytest.approx([1.0, 4 / 3])


# Gavel (Narayanan et al., OSDI 2020, sections 3 and 4): time shares against effective throughput

FAST, SLOW = "V100", "K80"
SPEEDS = {"resnet": {FAST: 4.0, SLOW: 1.0}, "a3c": {FAST: 2.0, SLOW: 1.0}}


def two_types(power: float) -> Round:
    """One device of each of two types; one job gains by the fast one more than the other."""
    jobs = [job(name, profile=name, submit_time=0.0, work_left=ENDLESS) for name in SPEEDS]
    return round_of(
        [node("v", FAST, 1), node("k", SLOW, 1)],
        jobs,
        types={FAST: 1.0, SLOW: 0.25},
        profiles={name: {(kind, 1, "node"): x for kind, x in by.items()} for name, by in SPEEDS.items()},
        now=0.0,
        round_seconds=D,
        horizon_seconds=D,
        policy=policy(FairnessForm.EFFECTIVE_THROUGHPUT, power),
    )


@pytest.mark.parametrize(("power", "least"), [(1.0, 0.84), (2.0, 0.91)])
def test_gavel_the_job_that_gains_more_gets_more_of_the_fast_device(power, least):
    """With a part y of the fast device resnet does 1 + 3 y and a3c 2 - y, against 2.5 and 1.5 with equal
    shares. Gavel's least ratio is greatest at y = 1/2, where both are 1; the weights' p-fair y lies above,
    and comes nearer as p grows. Both devices are always in use.
    """
    y = np.linspace(0.0, 0.999, 4_000)
    ratios = np.array([(1 + 3 * y) / 2.5, (2 - y) / 1.5])
    weights = np.array([[2.5 / 4], [1.5 / 2]])
    bent = np.log(ratios) if power == 1 else -1 / ratios
    best = float(y[(weights * bent).sum(axis=0).argmax()])
    round_ = two_types(power)
    assert plan_round(round_).quality.objective == pytest.approx(1.0 + 0.5), "both run, the better way round"
    for _ in range(60):
        round_ = next_round(round_)
    rate = {one.name: one.work_done / round_.now for one in round_.jobs}
    got = [rate["resnet"], rate["a3c"]]
    told(f"Gavel, two jobs: rates at power {power:g}", got, (1 + 3 * best, 2 - best))
    assert got == pytest.approx([1 + 3 * best, 2 - best], rel=0.03)
    assert best > 0.5
    assert min(rate["resnet"] / 2.5, rate["a3c"] / 1.5) >= least


PAPER = {
    # Throughput on a V100 and on a K80, and the shares of their time that Gavel gives: section 4.1.
    "j0": ({FAST: 40.0, SLOW: 10.0}, (0.45, 0.0)),
    "j1": ({FAST: 12.0, SLOW: 4.0}, (0.45, 0.09)),
    "j2": ({FAST: 100.0, SLOW: 50.0}, (0.09, 0.91)),
}


def test_gavel_the_three_jobs_of_the_paper_share_the_devices_as_there():
    """Gavel's own figures. Its allocation is max-min and gives each job 1.08 times an isolated share, a third
    of the time of both devices. Ours goes by weights of isolated over best throughput, .417, .444 and .5,
    times the logarithm of the ratio: the first two share the fast device as .417 to .444 and have 1.16 times
    theirs, the third has the slow one alone, which is 1 exactly. Who runs where is the same but for a
    twelfth of the time, and nobody is worse off than alone.
    """
    speeds = {name: by for name, (by, _) in PAPER.items()}
    given = {
        name: [by[FAST] * v + by[SLOW] * k, sum(by.values()) / 3] for name, (by, (v, k)) in PAPER.items()
    }
    assert min(one / alone for one, alone in given.values()) == pytest.approx(1.08, abs=0.005)
    round_ = round_of(
        [node("v", FAST, 1), node("k", SLOW, 1)],
        [job(name, profile=name, submit_time=0.0, work_left=ENDLESS) for name in PAPER],
        types={FAST: 1.0, SLOW: 0.3},
        profiles={name: {(kind, 1, "node"): x for kind, x in by.items()} for name, by in speeds.items()},
        now=0.0,
        round_seconds=D,
        horizon_seconds=D,
        policy=policy(FairnessForm.EFFECTIVE_THROUGHPUT, 1.0),
    )
    rounds, held = 60, dict.fromkeys([(name, where) for name in PAPER for where in "vk"], 0)
    for _ in range(rounds):
        round_ = next_round(round_)
        for one in round_.jobs:
            if one.running is not None:
                held[one.name, one.running.placements[0].node] += 1
    for name, (_, (fast, slow)) in PAPER.items():
        got = [held[name, where] / rounds for where in "vk"]
        told(f"Gavel, three jobs: parts of V100 and K80 of {name}", got, (fast, slow))
        assert got == pytest.approx([fast, slow], abs=0.1)
    assert held["j0", "v"] / rounds == pytest.approx(0.417 / (0.417 + 0.444), abs=0.03)
    ratios = [one.work_done / round_.now / given[one.name][1] for one in round_.jobs]
    told("Gavel, three jobs: over an isolated share", ratios, (one / alone for one, alone in given.values()))
    assert min(ratios) >= 0.97


# Shockwave (Zheng et al., NSDI 2023, sections 1 and 2): reacting to a change of speed against planning for it


def speeding_up(form: FairnessForm, rounds_left: float) -> Round:
    """Two jobs on one device, half a device each: six rounds old, three rounds served, fair selves likewise.

    Both work one unit in a round, so all is in rounds, and r = (3 + 1/2) / (6 + 1) = 1/2. a has 6 left: its
    rho when it waits is (6 + 1 + 6 r) / (6 + 6 / (1/2)) = 19/18. c has 12 epochs left, one of which takes a
    round now and a quarter of one soon, when it enlarges its batches.

    Who reacts goes by the present speed: 12 rounds, rho = (6 + 1 + 24) / (6 + 24) = 31/30, below a's.
    Who plans knows of 3: rho = (6 + 1 + 6) / (6 + 6) = 13/12, above it.
    As a loss, a round of service takes 1 / (r alone) from rho: 2/18 for a, against 2/30 or 2/12.
    """
    fields = {"submit_time": 0.0, "work_done": 3 * D, "fair_progress": 3 * D}
    jobs = [job("a", work_left=6 * D, **fields), job("c", work_left=rounds_left * D, **fields)]
    return round_of(
        [node("n", "H100", 1)],
        jobs,
        now=6 * D,
        round_seconds=D,
        horizon_seconds=D,
        policy=policy(form),
    )


@pytest.mark.parametrize("form", [FairnessForm.WEIGHTS, FairnessForm.NEGATIVE_POWER])
def test_shockwave_who_reacts_keeps_the_job_that_speeds_up_waiting_and_who_plans_does_not(form):
    assert actions(speeding_up(form, rounds_left=12.0)) == {"a": ActionKind.PLACE}
    assert actions(speeding_up(form, rounds_left=3.0)) == {"c": ActionKind.PLACE}


def test_shockwave_the_one_that_waited_is_late_for_its_fair_finish():
    """c's fair finish is at 6 + 3 / (1/2) = 12 rounds. As long as it is thought to need 12 more it is served
    less than every other round; three of the next six would do.
    """

    def finish(believed: float) -> int:
        round_ = speeding_up(FairnessForm.NEGATIVE_POWER, believed)
        still = 3
        while still:
            told = believed if still > 1 else 1.0
            told_left = {"c": told * D}
            jobs = tuple(
                dataclasses.replace(one, work_left=told_left.get(one.name, one.work_left))
                for one in round_.jobs
            )
            round_ = next_round(dataclasses.replace(round_, jobs=jobs))
            jobs = tuple(
                dataclasses.replace(one, fair_progress=one.fair_progress + D / 2)
                for one in round_.jobs
                if one.work_left != 0.0 or one.name == "c"
            )
            still -= any(one.name == "c" and one.running is not None for one in round_.jobs)
            round_ = dataclasses.replace(round_, jobs=jobs)
        return round(round_.now / D)

    planned, reacted = finish(3.0), finish(12.0)
    told("Shockwave: rounds to the end, planned and reacted", (planned, reacted), (12,))
    assert planned <= 12 < reacted


def test_nash_welfare_serves_who_has_had_least():
    """log: a round is worth log(1 + 1 / F). With F of 3 1/2 rounds and 1/2 the newcomer goes first, whatever
    is believed of what is left."""
    for left in (3.0, 12.0):
        round_ = speeding_up(FairnessForm.LOG, left)
        new = dataclasses.replace(round_.jobs[0], work_done=0.0)
        assert actions(dataclasses.replace(round_, jobs=(new, round_.jobs[1]))) == {"a": ActionKind.PLACE}
