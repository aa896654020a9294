"""With a frozen clock nothing moves twice, at every size (decision 14, property P7).

After a finished solve the next one takes no voluntary action; after one that was cut short (the greedy at
prices asks no solver) only actions of proved gain. Both also with one job more that fits nowhere, so that no
memory of the round before can pass for it; it counts in everybody's fair share.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangplan.domain.job import Component, Job, TaskGroup
from gangplan.domain.plan import Action, ActionKind, RoundResult, TerminationReason
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.verify import verify
from gangplan.planning.generate import generate_named
from gangplan.testing.apply import apply

DISRUPTIONS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
deep = [pytest.mark.deep, pytest.mark.timeout(3_000)]


def voluntary(result: RoundResult) -> list[Action]:
    return [action for action in result.plan.actions if action.kind in DISRUPTIONS and action.forced is None]


def next_rounds(round_: Round, result: RoundResult) -> tuple[Round, Round]:
    """The round after the plan at the same moment; and with a job that fits nowhere."""
    after = apply(round_, result.plan)
    hopeless = Job("hopeless", Component((TaskGroup("worker", 200_000, (200_000,), 1),)))
    return after, replace(after, jobs=(*after.jobs, hopeless))


@pytest.mark.parametrize(
    "name",
    [
        "S/steady/50/seed0",
        "S/steady/85/seed0",
        "S/random/85/seed1",
        "M/steady/50/seed0",
        "M/steady/85/seed0",
        pytest.param("L/steady/50/seed0", marks=deep),
        pytest.param("L/steady/85/seed0", marks=deep),
    ],
)
def test_after_a_finished_solve_nobody_is_disrupted(name: str) -> None:
    round_ = generate_named(name)
    how = PlanParameters(time_budget_seconds=600.0, pipeline="full")
    first = plan_round(round_, how)
    assert first.reason is TerminationReason.OPTIMAL or first.statistics["taken_back_actions"], first.detail
    assert voluntary(first), "a round that says nothing"
    for after in next_rounds(round_, first):
        again = plan_round(after, how)
        if first.statistics["taken_back_actions"]:  # around what was taken back something may pay after all
            assert_proved(after, again)
        else:
            assert voluntary(again) == []


@pytest.mark.parametrize(
    "name",
    [
        *(f"{size}/steady/{occupied}/seed0" for size in "SM" for occupied in (50, 85)),
        "L/steady/50/seed0",
        "L/steady/85/seed1",  # with seed 0 the greedy's exchanges do not pay, and all are taken back
        *(pytest.param(f"{size}/steady/{n}/seed0", marks=deep) for size in ("XL", "XXL") for n in (50, 85)),
    ],
)
def test_after_one_cut_short_only_what_is_proved_to_gain(name: str) -> None:
    round_ = generate_named(name)
    how = PlanParameters(time_budget_seconds=600.0, pipeline="greedy")
    first = plan_round(round_, how)
    assert voluntary(first), "a round that says nothing"
    for after in next_rounds(round_, first):
        again = plan_round(after, how)
        print(len(voluntary(first)), len(voluntary(again)))
        assert len(voluntary(again)) < len(voluntary(first))
        assert_proved(after, again)


def assert_proved(round_: Round, result: RoundResult) -> None:
    """Whoever is disrupted, the plan is worth more than keeping everybody, by the verifier's word."""
    if voluntary(result):
        judged = verify(round_, result.plan)
        assert judged.valid
        assert judged.objective > result.quality.keep_and_fill + 1e-9
