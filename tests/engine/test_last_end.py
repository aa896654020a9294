"""Who ends last: with a weight for the makespan, jobs that put it off by every round are not passed by."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.tracking import make
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import play
from gangplan.testing.builders import job, node, round_of

D = 300.0
AHEAD = PlanParameters(pipeline="greedy", look_ahead_share=0.5)
SOON = Policy(fairness_power=0.0)


def crowd(shorts: int, policy: Policy, long: float = 20.0) -> Round:
    """A job of so many rounds and short ones of two, for two devices."""
    jobs = [job("long", work_left=long * D), *(job(f"s{n}", work_left=2 * D) for n in range(shorts))]
    return round_of([node("a", "H", 2)], jobs, round_seconds=D, policy=policy)


def told(round_: Round) -> dict[str, tuple[float, float]]:
    """Target and worth by job."""
    outlook = plan_round(round_, AHEAD).outlook
    assert outlook is not None
    return {entry.job: (entry.target, entry.worth) for entry in outlook.jobs}


def test_who_has_no_slack_against_the_end_of_all_is_asked_for_in_full():
    """Six short jobs: all devices would be busy for 16 rounds, the long one needs 20."""
    without, weighed = told(crowd(6, SOON)), told(crowd(6, replace(SOON, makespan_weight=6.0)))
    assert without["long"] == (0.0, pytest.approx(0.31, abs=0.1))
    assert weighed["long"] == (1.0, 6.0)
    assert {name: weighed[name] for name in weighed if name != "long"} == {
        name: without[name] for name in without if name != "long"
    }


def test_who_has_slack_waits():
    """Fourteen short jobs: busy for 24 rounds; the long one may wait for two more than two rounds."""
    assert told(crowd(14, replace(SOON, makespan_weight=6.0))) == told(crowd(14, SOON))


def test_a_worth_above_the_weight_stays():
    """One long job alone has no slack, a worth that is above the weight anyway stays."""
    ((target, worth),) = told(crowd(0, replace(SOON, makespan_weight=0.5))).values()
    assert (target, worth) == (1.0, 1.0)


@pytest.mark.parametrize(("weight", "rounds"), [(0.0, 26), (8.0, 20)])
def test_the_last_job_ends_as_soon_as_it_can(weight, rounds):
    """20 rounds are the least for the long job; without the weight all short ones go first."""
    policy = replace(SOON, makespan_weight=weight)
    there = crowd(6, policy)
    arrivals = [
        Arrival(replace(one, work_left=None, submit_time=0.0), one.work_left or 0.0) for one in there.jobs
    ]
    template = replace(there, jobs=())
    played = play(History(template, tuple(arrivals)), make(How(pipeline="greedy")))
    ends = [state.finished for state in played.state.jobs.values()]
    assert max(ends) == pytest.approx(rounds * D)
