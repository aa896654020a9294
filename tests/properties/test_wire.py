"""What is written reads back the same, and whatever arrives is read or refused, never worse."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.job import TaskPlacement
from gangplan.domain.plan import (
    Action,
    ActionKind,
    ForcedReason,
    Notice,
    Plan,
    Precondition,
    Quality,
    RoundResult,
    Stage,
    TerminationLimit,
    TerminationReason,
    Verdict,
    VerdictKind,
)
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.steps import Integrality, Step, Steps
from gangplan.engine.warm_start import pack
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.service.files import load_message, load_round, save_message
from gangplan.service.wire import (
    read_plan,
    read_result,
    read_round_request,
    read_validate_plan_request,
    write_plan,
    write_result,
    write_round,
)
from gangplan.testing.strategies import guaranteed, rounds
from gangplan.v1.placement_service_pb2 import ValidatePlanRequest
from gangplan.v1.round_pb2 import PlanRoundRequest, PlanRoundResponse

M = TypeVar("M", bound=Message)

finite = st.floats(-1e9, 1e9)
seconds = st.integers(0, 10**12).map(lambda nanos: nanos / 10**9)
text = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=8)
parameters = st.builds(
    PlanParameters,
    request_id=st.text("abc-0", max_size=8),
    time_budget_seconds=st.integers(1, 10**13).map(lambda nanos: nanos / 10**9),
    pipeline=st.sampled_from(("auto", "full", "greedy")),
    solver=st.sampled_from(("auto", "highs")),
    seed=st.integers(0, 2**31 - 1),
    relative_gap=st.floats(0, 1),
    node_limit=st.none() | st.integers(0, 2**31 - 1),
    threads=st.integers(1, 256),
    steps=st.builds(
        Steps,
        fruitless=st.none() | st.integers(0, 1_000),
        branching_share=st.none() | st.floats(0, 1),
        sift=st.none() | st.floats(0, 1),
        enough=st.none() | st.floats(0, 1),
        programmes=st.lists(
            st.builds(
                Step,
                options=st.just(math.inf) | st.integers(0, 2**31 - 1).map(float),
                share=st.floats(1e-9, 1),
                integrality=st.sampled_from(Integrality),
            ),
            max_size=3,
        ).map(tuple),
    ),
)
name = st.sampled_from(("a", "b-1", "ns/c", "ⵣ"))
placements = st.lists(
    st.builds(
        TaskPlacement,
        group=name,
        node=name,
        tasks=st.integers(1, 9),
        devices=st.lists(st.integers(0, 9), max_size=3, unique=True).map(lambda found: tuple(sorted(found))),
    ),
    max_size=3,
    unique_by=lambda placement: (placement.group, placement.node),
).map(tuple)
plans = st.lists(
    st.builds(
        Action,
        id=name,
        kind=st.sampled_from([kind for kind in ActionKind if kind is not ActionKind.RESERVE]),
        job=name,
        placements=placements,
        scope=st.sampled_from(("", "node", "cluster")),
        throughput=st.floats(0, 1e9),
        depends_on=st.lists(name, max_size=2).map(tuple),
        beneficiaries=st.lists(name, max_size=2).map(tuple),
        forced=st.none() | st.sampled_from(ForcedReason),
        cost_by_term=st.dictionaries(name, finite, max_size=2),
        preconditions=st.lists(st.builds(Precondition, name, name, text), max_size=2).map(tuple),
    ),
    max_size=4,
).map(lambda actions: Plan(tuple(actions)))


warm_starts = st.dictionaries(
    st.tuples(st.sampled_from(("cpu", "memory")), name), st.floats(0, 1e9), max_size=3
).map(pack)
told = st.builds(
    replace,
    parameters,
    proposers=st.lists(name, max_size=2, unique=True).map(tuple),
    warm_start=st.just(b"") | warm_starts,
    previous_plan=st.none() | plans,
)


def in_order(round_: Round) -> Round:
    """``round_`` with nodes and jobs sorted by name: classes read back in another order."""
    nodes = tuple(sorted(round_.cluster.nodes, key=lambda node: node.name))
    jobs = tuple(sorted(round_.jobs, key=lambda job: job.name))
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes), jobs=jobs)


def in_bytes(message: M) -> M:
    """``message`` through its bytes."""
    return type(message).FromString(message.SerializeToString())


@given(st.one_of(rounds("medium"), guaranteed("medium")), told)
def test_a_round_reads_back_as_written(round_: Round, chosen: PlanParameters) -> None:
    assert read_round_request(in_bytes(write_round(round_, chosen))) == (round_, chosen)


@given(rounds("medium"))
def test_a_round_in_classes_is_the_same_round(round_: Round) -> None:
    found, _ = read_round_request(in_bytes(write_round(round_, compact=True)))
    assert in_order(found) == in_order(round_)


@given(round_=rounds("small"), suffix=st.sampled_from((".json", ".yaml", ".pb")), compact=st.booleans())
def test_a_round_file_reads_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, *, round_: Round, suffix: str, compact: bool
) -> None:
    path = tmp_path_factory.mktemp("round") / f"round{suffix}"
    save_message(path, write_round(round_, compact=compact))
    assert in_order(load_round(path)[0]) == in_order(round_)


results = st.builds(
    RoundResult,
    plan=plans,
    verdicts=st.tuples(
        st.builds(
            Verdict,
            job=text,
            kind=st.sampled_from(VerdictKind),
            code=text,
            message=text,
            resource=text,
            level=text,
            shortfall=st.none() | st.integers(0, 2**62),
            regret=st.none() | finite,
        )
    ),
    notices=st.tuples(st.builds(Notice, code=text, field=text, message=text)),
    quality=st.builds(
        Quality,
        finite,
        finite | st.just(float("inf")),
        finite,
        finite,
        finite,
        finite,
        st.dictionaries(name, finite, max_size=3),
    ),
    reason=st.sampled_from(TerminationReason),
    limit=st.sampled_from(TerminationLimit),
    detail=text,
    stages=st.tuples(st.builds(Stage, text, seconds, st.none() | finite, st.none() | finite)),
    seconds_by_phase=st.dictionaries(name, seconds, max_size=3),
    pipeline=st.sampled_from(("full", "greedy")),
    solver=text,
    statistics=st.dictionaries(name, finite, max_size=3),
    seed=st.integers(0, 2**31 - 1),
    warm_start=st.binary(max_size=20),
)


@given(rounds("tiny"), plans)
def test_a_plan_and_its_round_read_back_as_written(round_: Round, plan: Plan) -> None:
    request = ValidatePlanRequest(round=write_round(round_), plan=write_plan(plan))
    assert read_validate_plan_request(in_bytes(request)) == (round_, plan)
    assert read_plan(write_plan(plan)) == plan


@given(results)
def test_an_answer_reads_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, result: RoundResult
) -> None:
    message = write_result(result, "id-1", "gangplan 1")
    assert read_result(in_bytes(message)) == result
    assert read_plan(in_bytes(message)) == result.plan
    assert (message.request_id, message.version) == ("id-1", "gangplan 1")
    path = tmp_path_factory.mktemp("answer") / "answer.json"
    save_message(path, message)
    assert read_result(load_message(path, PlanRoundResponse)) == result


def read_or_refuse(request: PlanRoundRequest) -> None:
    """Fails unless ``request`` is read, or refused with a path and a reason for each violation."""
    refused: tuple[FieldViolation, ...] = ()
    try:
        round_, _ = read_round_request(request)
    except InvalidInputError as error:
        refused = error.violations
    else:
        assert read_round_request(write_round(round_))[0] == round_
        return
    assert refused
    assert all(violation.description for violation in refused)


@given(st.binary(max_size=200))
def test_garbage_is_read_or_refused(content: bytes) -> None:
    try:
        request = PlanRoundRequest.FromString(content)
    except DecodeError:
        return
    read_or_refuse(request)


@given(rounds("small"), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1, max_size=4))
def test_flipped_bytes_are_read_or_refused(round_: Round, flips: list[tuple[int, int]]) -> None:
    content = bytearray(write_round(round_, compact=True).SerializeToString())
    for position, value in flips:
        content[position % len(content)] = value
    try:
        request = PlanRoundRequest.FromString(bytes(content))
    except DecodeError:
        return
    read_or_refuse(request)


ODD: dict[int, tuple[Any, ...]] = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), -1, 0, 1, 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), -1, 0, 1, 2**63 - 1),
    FieldDescriptor.CPPTYPE_DOUBLE: (
        float("nan"),
        float("inf"),
        -float("inf"),
        -1.0,
        -0.0,
        0.0,
        5e-324,
        1e308,
    ),
    FieldDescriptor.CPPTYPE_STRING: ("", " ", "x" * 513, "a\0b", "T0", "node-0", "cluster", "ⵣ"),
    FieldDescriptor.CPPTYPE_BOOL: (True, False),
    FieldDescriptor.CPPTYPE_ENUM: (0, 1, 2, 3, 99, -1),
}


def spoil(message: Message, data: st.DataObject, depth: int = 0) -> None:
    """Set, clear, repeat or follow one field of ``message``."""
    if not message.DESCRIPTOR.fields:
        return
    field = data.draw(st.sampled_from(list(message.DESCRIPTOR.fields)))
    kind = field.message_type
    if field.type == FieldDescriptor.TYPE_BYTES or (kind is not None and kind.GetOptions().map_entry):
        message.ClearField(field.name)
    elif kind is not None:
        value = getattr(message, field.name)
        if not field.is_repeated:
            value.SetInParent()
            inner = value
        elif value and data.draw(st.booleans()):
            inner = value[data.draw(st.integers(0, len(value) - 1))]
            if data.draw(st.booleans()):
                value.add().CopyFrom(inner)
        else:
            inner = value.add()
        if depth < 6:
            spoil(inner, data, depth + 1)
    else:
        odd = data.draw(st.sampled_from(ODD[field.cpp_type]))
        if field.is_repeated:
            getattr(message, field.name).append(odd)
        else:
            setattr(message, field.name, odd)


@given(rounds("small"), st.integers(1, 3), st.data())
def test_spoiled_messages_are_read_or_refused(round_: Round, times: int, data: st.DataObject) -> None:
    request = write_round(round_, compact=True)
    for _ in range(times):
        spoil(request, data)
    read_or_refuse(request)


@given(rounds("small"))
def test_json_has_no_more_and_no_less_than_the_message(round_: Round) -> None:
    request = write_round(round_, PlanParameters())
    again = json_format.ParseDict(json_format.MessageToDict(request), PlanRoundRequest())
    assert again == request
