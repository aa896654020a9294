"""A difference leaves out what goes on, and nothing that says anything else."""

from __future__ import annotations

import random

import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from hypothesis import strategies as st

from gangplan.service.wire.difference import difference
from gangplan.v1 import plan_pb2, round_pb2

KEEP, PLACE, EVICT = plan_pb2.ACTION_KIND_KEEP, plan_pb2.ACTION_KIND_PLACE, plan_pb2.ACTION_KIND_EVICT
TOLD_AGAIN = sorted(
    {field.name for field in plan_pb2.Action.DESCRIPTOR.fields} - {"action_id", "cost_by_term"}
)


def answer_of(*actions: plan_pb2.Action) -> round_pb2.PlanRoundResponse:
    return round_pb2.PlanRoundResponse(plan=plan_pb2.Plan(actions=actions))


def said(before: plan_pb2.Action, after: plan_pb2.Action) -> list[plan_pb2.Action]:
    """What of ``after`` is in the difference from ``before``."""
    return list(difference(answer_of(before), answer_of(after)).plan.actions)


def start() -> plan_pb2.Action:
    action = plan_pb2.Action(action_id="p", kind=PLACE, job="j", scope="rack", throughput=2.0)
    action.placements.add(group="g", node="n", tasks=1, devices=[0, 1])
    action.preconditions.add(kind="job", name="j", revision="1")
    action.cost_by_term["throughput"] = 1.0
    return action


def going_on() -> plan_pb2.Action:
    action = start()
    action.action_id, action.kind = "keep/j", KEEP
    action.cost_by_term["throughput"] = 3.0
    return action


def change(action: plan_pb2.Action, name: str, rng: random.Random) -> None:
    """Give a field another value."""
    field = plan_pb2.Action.DESCRIPTOR.fields_by_name[name]
    value = getattr(action, name)
    if field.is_repeated and field.message_type is not None:
        if value and rng.random() < 0.5:
            del value[-1]
        else:
            value.add()
    elif field.is_repeated:
        value.append("other")
    elif field.message_type is not None:
        value.SetInParent()
    elif field.type == FieldDescriptor.TYPE_ENUM:
        number = rng.choice([each.number for each in field.enum_type.values if each.number != value])
        setattr(action, name, number)
    else:
        setattr(action, name, "other" if field.type == FieldDescriptor.TYPE_STRING else value + 1.0)


def test_what_goes_on_is_not_said_again() -> None:
    assert said(start(), going_on()) == []
    stop = start()
    stop.kind = EVICT
    assert said(stop, going_on()) == [going_on()]


@pytest.mark.parametrize("name", TOLD_AGAIN)
def test_whatever_else_an_action_says_is_said(name: str) -> None:
    """Field by field of the contract, so that a new one is not forgotten."""
    action = going_on()
    change(action, name, random.Random(0))
    assert said(start(), action) == [action]


@given(st.lists(st.sampled_from(TOLD_AGAIN), max_size=2), st.integers(0, 10_000))
def test_only_the_keep_that_follows_is_left_out(names: list[str], seed: int) -> None:
    """Beside the definition: what follows is a KEEP of the same job there, as fast, and no more."""
    rng, action = random.Random(seed), going_on()
    for name in names:
        change(action, name, rng)
    follows = plan_pb2.Action()
    follows.CopyFrom(action)
    for name in ("action_id", "cost_by_term"):
        follows.ClearField(name)
    goes_on = going_on()
    for name in ("action_id", "cost_by_term"):
        goes_on.ClearField(name)
    assert (said(start(), action) == []) == (follows == goes_on)
