"""A difference leaves out what goes on, and nothing that says anything else."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.job import TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import (
    Action,
    ActionKind,
    ForcedReason,
    Plan,
    Precondition,
    Quality,
    RoundResult,
    TerminationLimit,
    TerminationReason,
    Verdict,
    VerdictKind,
)
from gangplan.service.wire import write_result
from gangplan.service.wire.difference import Said, difference, expand
from gangplan.v1 import plan_pb2

PLACES = (TaskPlacement("g", "n", 1, (0, 1)),)
OTHER: dict[str, list[Any]] = {
    "kind": [kind for kind in ActionKind if kind is not ActionKind.KEEP],
    "job": ["other"],
    "placements": [(), (*PLACES, TaskPlacement("h", "n", 1)), (TaskPlacement("g", "n", 1, (0, 2)),)],
    "scope": ["other"],
    "throughput": [3.0],
    "depends_on": [("other",)],
    "beneficiaries": [("other",)],
    "forced": list(ForcedReason),
    "preconditions": [(), (Precondition("job", "j", "2"),)],
    "not_before": [5.0],
    "reservation": [Reservation("j", None, 1.0, 2.0)],
}
"""By field: what an action that goes on may say instead."""


def result_of(*actions: Action, verdicts: tuple[Verdict, ...] = ()) -> RoundResult:
    return RoundResult(
        Plan(actions),
        verdicts,
        (),
        Quality(0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        TerminationReason.FEASIBLE,
        TerminationLimit.NONE,
        pipeline="greedy",
    )


def said(before: Action, after: Action) -> list[Action]:
    """What of ``after`` is in the difference from ``before``."""
    return list(difference(Said.by(result_of(before)), result_of(after)).plan.actions)


def start() -> Action:
    return Action(
        "p",
        ActionKind.PLACE,
        "j",
        PLACES,
        "rack",
        2.0,
        cost_by_term={"throughput": 1.0},
        preconditions=(Precondition("job", "j", "1"),),
    )


def going_on() -> Action:
    return dataclasses.replace(start(), id="keep/j", kind=ActionKind.KEEP, cost_by_term={"throughput": 3.0})


def test_what_goes_on_is_not_said_again() -> None:
    assert said(start(), going_on()) == []
    stop = dataclasses.replace(start(), kind=ActionKind.EVICT)
    assert said(stop, going_on()) == [going_on()]


def test_every_field_is_said_when_it_is_other() -> None:
    """So that a new one is not forgotten."""
    assert OTHER.keys() == {each.name for each in dataclasses.fields(Action)} - {"id", "cost_by_term"}


@pytest.mark.parametrize("name", sorted(OTHER))
def test_whatever_else_an_action_says_is_said(name: str) -> None:
    for other in OTHER[name]:
        action = dataclasses.replace(going_on(), **{name: other})
        assert said(start(), action) == [action]


@given(st.lists(st.sampled_from(sorted(OTHER)), max_size=2), st.integers(0, 10_000))
def test_only_the_keep_that_follows_is_left_out(names: list[str], seed: int) -> None:
    """Beside the definition: what follows is a KEEP of the same job there, as fast, and no more."""
    rng, action = random.Random(seed), going_on()
    for name in names:
        action = dataclasses.replace(action, **{name: rng.choice(OTHER[name])})
    follows = plan_pb2.Action()
    follows.CopyFrom(write_result(result_of(action)).plan.actions[0])
    goes_on = write_result(result_of(going_on())).plan.actions[0]
    for each in (follows, goes_on):
        each.ClearField("action_id")
        each.ClearField("cost_by_term")
    assert (said(start(), action) == []) == (follows == goes_on)


def actions_of(job: str) -> st.SearchStrategy[list[Action]]:
    """What a plan may say of a job, a promise beside it or alone."""
    kinds = [ActionKind.KEEP, ActionKind.PLACE, ActionKind.EVICT, ActionKind.MIGRATE]
    some = st.builds(
        lambda kind, node, speed: Action(
            f"{kind.value}/{job}",
            kind,
            job,
            () if kind is ActionKind.EVICT else (TaskPlacement("g", node, 1, (0,)),),
            "" if kind is ActionKind.EVICT else "node",
            0.0 if kind is ActionKind.EVICT else speed,
        ),
        st.sampled_from(kinds),
        st.sampled_from(["n", "m"]),
        st.sampled_from([1.0, 2.0]),
    )
    promised = Action(f"r/{job}", ActionKind.RESERVE, job, reservation=Reservation(job, None, 1.0, 2.0))
    return st.tuples(st.lists(some, max_size=1), st.lists(st.just(promised), max_size=1)).map(
        lambda both: [*both[0], *both[1]]
    )


@st.composite
def results(draw: st.DrawFn) -> RoundResult:
    """Of jobs a to c: an action each, or a verdict, or a stop with both."""
    actions: list[Action] = []
    verdicts: list[Verdict] = []
    for job in "abc":
        mine = draw(actions_of(job))
        actions += mine
        if all(each.kind in (ActionKind.EVICT, ActionKind.RESERVE) for each in mine):
            code = draw(st.sampled_from(["x", "y"]))
            verdicts.append(Verdict(job, VerdictKind.NOT_CHOSEN, code, code))
    return result_of(*actions, verdicts=tuple(verdicts))


@given(results(), results())
def test_a_difference_leads_back_to_the_whole_answer(last: RoundResult, result: RoundResult) -> None:
    short = write_result(difference(Said.by(last), result))
    again = expand(write_result(last), short, {"a", "b", "c"})
    whole = write_result(result)
    assert sorted(map(_place, again.plan.actions)) == sorted(map(_place, whole.plan.actions))
    assert list(again.verdicts) == list(whole.verdicts)


def _place(action: plan_pb2.Action) -> tuple[str, int, str, float]:
    return action.job, action.kind, str(action.placements), action.throughput
