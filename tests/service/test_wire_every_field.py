"""No field of a request is silently ignored.

Every field of ``PlanRoundRequest`` is set, alone, on a valid request that has everything (a message that is
there already is taken away). A planned field must be refused under its exact path; any other must change what
is read, or be refused because it does not go with the rest: under its exact path, or where the rest is, in
words that name the field or its value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from gangplan.errors import InvalidInputError, UnsupportedFieldError
from gangplan.service.files import load_message
from gangplan.service.wire import planned_names, read_round_request
from gangplan.v1 import options_pb2
from gangplan.v1.placement_service_pb2 import ValidatePlanRequest
from gangplan.v1.round_pb2 import PlanRoundRequest

DATA = Path(__file__).parent / "data"
Edit = Callable[[PlanRoundRequest], Message]
"""Goes to the message that holds the field, making what is missing on the way."""


def full_request() -> PlanRoundRequest:
    """A valid request that has one of everything that is built."""
    request = load_message(DATA / "everything.json", PlanRoundRequest)
    nodes = request.cluster.node_classes.add(names=["c0", "c1"], revisions=["1", "2"])
    nodes.template.CopyFrom(request.cluster.nodes[0])
    nodes.template.ClearField("name")
    nodes.template.ClearField("revision")
    jobs = request.job_classes.add(names=["k0", "k1"], revisions=["1", "2"])
    jobs.template.CopyFrom(request.jobs[0])
    for name in ("name", "revision", "running"):
        jobs.template.ClearField(name)
    group = jobs.template.components[0].task_groups[0]
    group.ClearField("allowed_counts")
    group.count_range.minimum, group.count_range.maximum, group.count_range.step = 2, 7, 2
    action = request.previous_plan.actions.add(action_id="a0", kind="ACTION_KIND_MIGRATE", job="train")
    action.placements.add(group="trainer", node="n0", tasks=1, devices=[0, 1])
    action.preconditions.add(kind="Node", name="n0", revision="41")
    action.reservation.CopyFrom(request.reservations[0])
    request.outlook.reservations[0].placements.add(group="trainer", node="n0", tasks=1, devices=[0, 1])
    request.parameters.steps.programmes.add(options=7, share=0.5)
    claim = request.previous_plan.claims.add(job="wait", freed_by=["a0"])
    claim.placements.add(group="worker", node="n0", tasks=1, devices=[3])
    claim.expires_at.seconds = request.now.seconds + 300
    return request


def copy_of(request: PlanRoundRequest) -> PlanRoundRequest:
    copy = PlanRoundRequest()
    copy.CopyFrom(request)
    return copy


BASE = full_request()
MEANING = read_round_request(BASE)


class Case:
    """One field at one place: where it is, whether it is planned, and requests with it set."""

    def __init__(self, path: str, field: FieldDescriptor, go: Edit, *, planned: bool) -> None:
        self.path = path
        self.field = field
        self.go = go
        self.planned = planned

    def requests(self) -> Iterator[tuple[str, PlanRoundRequest, bool]]:
        """The exact path, the request with the field set there, and whether the value itself is planned."""
        for key, value, planned in values_of(self.field):
            request = copy_of(BASE)
            holder = self.go(request)
            if self.field.is_repeated and key is None:
                target = getattr(holder, self.field.name)
                if self.field.message_type is not None:
                    target.add()
                else:
                    target.append(value)
                at = self.path if self.field.message_type is None else f"{self.path}[{len(target) - 1}]"
            elif key is not None:
                entry = getattr(holder, self.field.name)
                if self.field.message_type.fields_by_name["value"].message_type is not None:
                    entry[key].SetInParent()
                else:
                    entry[key] = value
                at = f'{self.path}["{key}"]' if isinstance(key, str) else f"{self.path}[{key}]"
            elif self.field.message_type is not None:
                if value is not None:
                    getattr(holder, self.field.name).CopyFrom(value)
                elif holder.HasField(self.field.name):
                    holder.ClearField(self.field.name)
                else:
                    getattr(holder, self.field.name).SetInParent()
                at = self.path
            else:
                setattr(holder, self.field.name, value)
                at = self.path
            meaningless = self.planned and not any(field == self.field for field, _ in holder.ListFields())
            if request != BASE and not meaningless:
                yield at, request, self.planned or planned

    def words(self, request: PlanRoundRequest) -> set[str]:
        """What a refusal elsewhere may call this field: its name, or its value before or after."""
        words = {self.field.name}
        for value in (getattr(self.go(one), self.field.name) for one in (copy_of(BASE), request)):
            if self.field.enum_type is not None:
                name = self.field.enum_type.values_by_number[value].name
                words.add(name.removeprefix(self.field.enum_type.values[0].name.removesuffix("UNSPECIFIED")))
            elif isinstance(value, str) and value:
                words.add(repr(value))
        return words


def values_of(field: FieldDescriptor) -> list[tuple[Any, Any, bool]]:
    """(map key, value, whether the value is planned) to try for a field."""
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        keys = (
            [1, 2] if kind.fields_by_name["key"].cpp_type != FieldDescriptor.CPPTYPE_STRING else ["k", "zone"]
        )
        inner = kind.fields_by_name["value"]
        return [(key, value, False) for key in keys for _, value, _ in values_of(inner)]
    if kind is not None and kind.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
        from google.protobuf.message_factory import GetMessageClass

        return [(None, GetMessageClass(kind)(seconds=seconds, nanos=5), False) for seconds in (7, 100_000)]
    if kind is not None:
        return [(None, None, False)]
    if field.enum_type is not None:
        return [
            (None, value.number, value.GetOptions().Extensions[options_pb2.planned_value])
            for value in field.enum_type.values
            if value.number
        ]
    by_type: dict[int, tuple[Any, ...]] = {
        FieldDescriptor.CPPTYPE_BOOL: (True, False),
        FieldDescriptor.CPPTYPE_STRING: ("other", "node", "train"),
        FieldDescriptor.CPPTYPE_DOUBLE: (0.625, 1e12),
        FieldDescriptor.CPPTYPE_FLOAT: (0.625,),
    }
    if field.type == FieldDescriptor.TYPE_BYTES:
        return [(None, b"state", False)]
    return [(None, value, False) for value in by_type.get(field.cpp_type, (3, 5, 1, 9))]


def is_planned(field: FieldDescriptor) -> bool:
    return bool(field.GetOptions().Extensions[options_pb2.planned])


def cases(
    kind: Descriptor, path: str, go: Edit, inside: tuple[Descriptor, ...] = (), *, planned: bool = False
) -> Iterator[Case]:
    """Every field of a message type and of the messages in it, down to where a type holds itself."""
    for field in kind.fields:
        here = planned or is_planned(field)
        at = f"{path}{field.name}"
        yield Case(at, field, go, planned=here)
        inner = field.message_type
        if inner is None or inner in (kind, *inside) or inner.file.package != "gangplan.v1":
            continue
        if inner.GetOptions().map_entry:
            continue
        at = f"{at}[0]" if field.is_repeated else at
        if not here and refused_whole(at, field, go):
            continue
        yield from cases(inner, f"{at}.", inner_go(field, go), (kind, *inside), planned=here)


def inner_go(field: FieldDescriptor, go: Edit) -> Edit:
    """Goes on to the first message in ``field``."""

    def further(request: PlanRoundRequest) -> Message:
        value = getattr(go(request), field.name)
        if not field.is_repeated:
            value.SetInParent()
            return value
        return value[0] if value else value.add()

    return further


def refused_whole(path: str, field: FieldDescriptor, go: Edit) -> bool:
    """Whether a message may not be set at this place at all, e.g. ``running`` in the template of a class."""
    request = copy_of(BASE)
    inner_go(field, go)(request)
    return request != BASE and path in refusals(request)


def refusals(request: PlanRoundRequest) -> dict[str, str]:
    """What is said against a request, by path; empty when it is read."""
    try:
        read_round_request(request)
    except InvalidInputError as error:
        return {violation.field: violation.description for violation in error.violations}
    return {}


EVERY = list(cases(PlanRoundRequest.DESCRIPTOR, "", lambda request: request))


def test_the_walk_goes_everywhere() -> None:
    """Every message type that a request can hold is walked into, at least where it is met first."""
    met: set[Descriptor] = set()
    todo = [PlanRoundRequest.DESCRIPTOR]
    while todo:
        kind = todo.pop()
        for field in kind.fields:
            inner = field.message_type
            if inner is not None and inner not in met and inner.file.package == "gangplan.v1":
                met.add(inner)
                todo.append(inner)
    walked = {case.field.containing_type for case in EVERY}
    empty = {kind for kind in met if not kind.fields or kind.GetOptions().map_entry}
    # A round on a session is read by another reader, and that refuses what is the session's.
    assert {kind.full_name for kind in met - walked - empty} == {"gangplan.v1.SessionRound"}
    assert len(EVERY) > 400


@pytest.mark.parametrize("case", EVERY, ids=[case.path for case in EVERY])
def test_a_field_is_used_or_refused_by_name(case: Case) -> None:
    tried = list(case.requests())
    assert tried, "no value differs from the base request"
    used = False
    for path, request, planned in tried:
        said = refusals(request)
        if planned:
            assert "not supported yet" in said.get(path, ""), f"{path} is planned, and not refused: {said}"
            continue
        assert not any("not supported yet" in why for why in said.values()) or path in said, said
        if said:
            used |= any(re.match(re.escape(path) + r"($|[.\[])", refused) for refused in said)
            used |= any(word in why for why in said.values() for word in case.words(request))
            used |= (
                bool(said) and case.field.message_type is not None and request.ByteSize() < BASE.ByteSize()
            )
        else:
            used |= read_round_request(request) != MEANING
    if not all(planned for _, _, planned in tried):
        assert used, f"{case.path} is neither used nor refused"


def test_the_walk_would_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a reader that ignores a field, or does not refuse a planned one, the test above fails."""
    reader = read_round_request

    def careless(request: PlanRoundRequest) -> Any:
        request = copy_of(request)
        request.jobs[0].ClearField("revision")
        request.ClearField("warm_start")
        request.cluster.nodes[0].ClearField("taints")
        return reader(request)

    monkeypatch.setitem(globals(), "read_round_request", careless)
    monkeypatch.setitem(globals(), "MEANING", careless(BASE))
    by_path = {case.path: case for case in EVERY}
    for path in ("jobs[0].revision", "warm_start", "cluster.nodes[0].taints[0].key"):
        with pytest.raises(AssertionError):
            test_a_field_is_used_or_refused_by_name(by_path[path])
    test_a_field_is_used_or_refused_by_name(by_path["jobs[0].queue"])


def test_planned_fields_alone_are_unsupported_and_not_invalid() -> None:
    request = full_request()
    request.jobs[0].interruption_cost.state_size_bytes = 5
    request.policy.overrides.add(queue="lab")
    request.jobs[1].components.add().CopyFrom(request.jobs[1].components[0])
    with pytest.raises(UnsupportedFieldError) as raised:
        read_round_request(request)
    assert {violation.field for violation in raised.value.violations} == {
        "jobs[0].interruption_cost.state_size_bytes",
        "policy.overrides[0].queue",
        "jobs[1].components[1]",
    }


def test_unknown_fields_are_refused_where_they_are() -> None:
    """A client of a later version sends what this one has never heard of."""
    request = full_request()
    tag = b"\xa2\x7d\x01x"  # field 2004, length-delimited
    request.jobs[1].MergeFromString(tag)
    request.MergeFromString(tag)
    said = refusals(request)
    assert set(said) == {"", "jobs[1]"}
    assert said["jobs[1]"] == "field number 2004 is not known to this version"


def test_planned_names_are_those_that_are_marked() -> None:
    names = planned_names()
    assert "gangplan.v1.PlanRoundRequest.reservations" not in names
    assert "gangplan.v1.PlanRoundRequest.warm_start" not in names
    assert "gangplan.v1.TaintEffect.TAINT_EFFECT_PREFER_NO_SCHEDULE" in names
    assert "gangplan.v1.Action.expires_at" in names
    assert "gangplan.v1.DeadlineKind.DEADLINE_KIND_STRICT" not in names
    assert "gangplan.v1.Job.name" not in names
    assert list(names) == sorted(set(names))


def test_planned_fields_of_a_plan_to_validate_are_refused() -> None:
    from gangplan.service.wire import read_validate_plan_request

    request = ValidatePlanRequest(round=full_request())
    action = request.plan.actions.add(action_id="a", kind="ACTION_KIND_RESERVE", job="train")
    action.expires_at.seconds = 5
    request.plan.groups.add(action_ids=["a"])
    request.round.parameters.memory_limit_bytes = 1
    with pytest.raises(InvalidInputError) as raised:
        read_validate_plan_request(request)
    assert {violation.field for violation in raised.value.violations} == {
        "plan.actions[0].expires_at",
        "plan.groups[0].action_ids",
        "round.parameters.memory_limit_bytes",
    }
