"""Crowds: what is alike is sent as a class, read once, and means what it means written out one by one."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz import fields_level

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Component, Job, TaskGroup, ThroughputProfile
from gangplan.domain.round import Round
from gangplan.errors import InvalidInputError
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.planning.generate import generate_named
from gangplan.service.wire import planned, read_job, read_round_request, write_job, write_round
from gangplan.service.wire.columns import nearest
from gangplan.testing.strategies import rounds
from gangplan.v1.round_pb2 import PlanRoundRequest

SUFFIXES = ("a", "b", "ⵣ", "x" * 65, "y" * 65, "v" * 128, "w" * 128)
"""Of profiles' names: of equal lengths, and too long for a length of one byte on the wire."""


@st.composite
def crowds(draw: st.DrawFn, size: Any = "small") -> Round:
    """A round with copies of nodes and waiting jobs, under other names, profiles and revisions."""
    round_ = draw(rounds(size))
    profiles = list(round_.profiles)
    for profile in round_.profiles:
        names = draw(st.lists(st.sampled_from(SUFFIXES), unique=True))
        share = draw(st.floats(0.25, 4.0))
        cells = {cell: value * share for cell, value in profile.throughput.items()}
        profiles += [ThroughputProfile(f"{profile.name}-{name}", cells) for name in names]
    known = st.none() | st.sampled_from([profile.name for profile in profiles]) if profiles else st.none()
    jobs = list(round_.jobs)
    for job in round_.jobs:
        if job.running is not None:
            continue
        for number in range(draw(st.integers(0, 3))):
            component = job.component
            if draw(st.booleans()):
                groups = tuple(
                    replace(group, profile=draw(known)) if group.devices_per_task else group
                    for group in component.task_groups
                )
                component = replace(component, task_groups=groups)
            revision = draw(st.sampled_from(("", "7")))
            jobs.append(replace(job, name=f"{job.name}+{number}", component=component, revision=revision))
    nodes = [
        replace(node, name=f"{node.name}+{number}", revision=draw(st.sampled_from(("", "3"))))
        for node in round_.cluster.nodes
        for number in range(draw(st.integers(0, 2)))
    ]
    nodes += round_.cluster.nodes
    cluster = replace(round_.cluster, nodes=tuple(nodes))
    return replace(round_, cluster=cluster, jobs=tuple(jobs), profiles=tuple(profiles))


def in_order(round_: Round) -> Round:
    """``round_`` with nodes and jobs sorted by name: classes read back in another order."""
    nodes = tuple(sorted(round_.cluster.nodes, key=lambda node: node.name))
    jobs = tuple(sorted(round_.jobs, key=lambda job: job.name))
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes), jobs=jobs)


def through_bytes(round_: Round, *, compact: bool) -> Round:
    encoded = write_round(round_, compact=compact).SerializeToString()
    return read_round_request(PlanRoundRequest.FromString(encoded))[0]


def differences(one: Any, other: Any, path: str = "") -> list[str]:
    """Where two values differ, arrays and private fields included; the order of a round's lists aside."""
    if isinstance(one, Round):
        return [] if in_order(one) == in_order(other) else [path]
    if isinstance(one, np.ndarray):
        return [] if one.dtype == other.dtype and np.array_equal(one, other) else [path]
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if one.keys() != other.keys():
            return [path]
        return [found for key in one for found in differences(one[key], other[key], f"{path}[{key!r}]")]
    if type(one) is not type(other):
        return [path]
    if is_dataclass(one):
        return [
            found
            for field in dataclass_fields(one)
            if field.compare
            for found in differences(
                getattr(one, field.name), getattr(other, field.name), f"{path}.{field.name}"
            )
        ]
    if isinstance(one, tuple | list):
        if len(one) != len(other):
            return [path]
        pairs = enumerate(zip(one, other, strict=True))
        return [found for i, pair in pairs for found in differences(*pair, f"{path}[{i}]")]
    return [] if one == other else [path]


@given(crowds())
def test_a_crowd_reads_back_as_written(round_: Round) -> None:
    assert through_bytes(round_, compact=False) == round_
    assert in_order(through_bytes(round_, compact=True)) == in_order(round_)


@given(crowds())
def test_a_crowd_in_classes_is_the_same_instance(round_: Round) -> None:
    instance = build_instance(round_)
    for compact in (False, True):
        assert differences(instance, build_instance(through_bytes(round_, compact=compact))) == []


@given(crowds())
def test_each_job_is_read_as_if_it_were_alone(round_: Round) -> None:
    """What was read for one job never rubs off on another, however alike they are."""
    request = write_round(round_)
    together = read_round_request(request)[0].jobs
    for number in range(0, len(together), 3):
        alone = PlanRoundRequest()
        alone.CopyFrom(request)
        del alone.jobs[number + 1 :], alone.jobs[:number]
        assert read_round_request(alone)[0].jobs == (together[number],)


def read_or_refused(request: PlanRoundRequest, many: int) -> object:
    """What reading gives where so many jobs are read all at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_job, "MANY", many)
        try:
            return read_round_request(request)[0]
        except InvalidInputError as error:
            return [(violation.field, violation.description) for violation in error.violations]


@settings(max_examples=settings().max_examples // 2)
@given(crowds(), st.integers(0, 2**32))
def test_jobs_read_all_at_once_are_those_read_one_by_one(round_: Round, seed: int) -> None:
    """Sound ones, and with fields changed to what none should be: then the same is said in the same order."""
    rng = random.Random(seed)
    request = write_round(round_)
    for _ in range(3):
        assert read_or_refused(request, 0) == read_or_refused(request, 10**9)
        if request.jobs:
            fields_level.mutated(rng.choice(request.jobs), rng)


@settings(max_examples=settings().max_examples // 2)
@given(crowds(), st.sampled_from((0.0, -0.0, 1e-10, 0.9999999999, 1e12, 2.0**33)))
def test_jobs_written_all_at_once_are_those_written_one_by_one(round_: Round, number: float) -> None:
    jobs = [replace(job, work_done=number, checkpoint_seconds=abs(number)) for job in round_.jobs[:1]]
    round_ = replace(round_, jobs=(*jobs, *round_.jobs[1:]))
    for compact in (False, True):
        written = []
        for many in (0, 10**9):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(write_job, "MANY", many)
                written.append(write_round(round_, compact=compact).SerializeToString(deterministic=True))
        assert written[0] == written[1]


@given(st.integers(0, 2**33), st.integers(0, 10**9 - 1))
def test_a_time_in_columns_is_the_nearest_double(seconds: int, nanos: int) -> None:
    whole, rest = np.array([seconds]), np.array([nanos])
    total = seconds * 10**9 + nanos
    assert nearest(whole, rest, whole * 10**9 + rest)[0] == total / 10**9


def test_nearly_all_jobs_of_a_generated_round_are_read_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    request = write_round(generate_named("M/steady/85/seed0"))
    read = read_job._read_job
    alone: list[object] = []
    monkeypatch.setattr(read_job, "MANY", 0)
    monkeypatch.setattr(
        read_job, "_read_job", lambda message, *rest: alone.append(message) or read(message, *rest)
    )
    assert len(read_round_request(request)[0].jobs) == 400
    assert alone == []


def test_the_instance_would_differ() -> None:
    """The comparison sees arrays, tables and nested values."""
    round_ = Round(
        cluster=Cluster(nodes=(Node("n", accelerator_type="A", device_count=2),)),
        accelerators=(AcceleratorType("A"),),
        jobs=(Job("j", Component((TaskGroup(profile="p"),))),),
        profiles=(ThroughputProfile("p", {("A", 1, "node"): 1.0}),),
    )
    faster = replace(round_, profiles=(ThroughputProfile("p", {("A", 1, "node"): 2.0}),))
    found = differences(build_instance(round_), build_instance(faster))
    assert ".speeds.tables[0].values" in found
    assert isinstance(build_instance(round_), Instance)


def test_a_name_that_looks_like_a_profile_on_the_wire_is_none() -> None:
    """``B``, a length and the name is how a profile stands in the bytes: here the group is called so, too."""
    x, y = "x" * 65, "y" * 65
    names = [(f"B{chr(65)}{x}", x), (f"B{chr(65)}{x}", y), (f"B{chr(65)}{y}", x), (f"B{chr(65)}{y}", y)]
    round_ = Round(
        cluster=Cluster(nodes=(Node("n", accelerator_type="A", device_count=2),)),
        accelerators=(AcceleratorType("A"),),
        jobs=tuple(
            Job(f"j{number}", Component((TaskGroup(name=group, profile=profile),)))
            for number, (group, profile) in enumerate(names * 2)
        ),
        profiles=tuple(ThroughputProfile(name, {("A", 1, "node"): 1.0}) for name in (x, y)),
    )
    assert through_bytes(round_, compact=False) == round_


@pytest.mark.parametrize("spoil", ["profile", "type", "weight", "planned"])
def test_each_of_many_alike_wrong_jobs_is_told_of(spoil: str) -> None:
    """What is wrong in alike jobs, profiles and nodes is wrong in each of them, under its own path."""
    jobs = tuple(Job(f"j{number}", Component((TaskGroup(profile="p"),))) for number in range(5))
    request = write_round(
        Round(
            cluster=Cluster(nodes=(Node("n", accelerator_type="A", device_count=2),)),
            accelerators=(AcceleratorType("A"),),
            jobs=jobs,
            profiles=(ThroughputProfile("p", {("A", 1, "node"): 1.0}),),
        )
    )
    wrong = (1, 2, 4)
    for number in wrong:
        group = request.jobs[number].components[0].task_groups[0]
        if spoil == "profile":
            group.profile = "q"
        elif spoil == "type":
            group.accelerator_types.append("B")
        elif spoil == "weight":
            request.jobs[number].weight = -1.0
        else:
            group.minimum_device_memory_bytes = 1
    with pytest.raises(InvalidInputError) as raised:
        read_round_request(request)
    inside = {
        "profile": "components[0].task_groups[0].profile",
        "type": "components[0].task_groups[0].accelerator_types[0]",
        "weight": "weight",
        "planned": "components[0].task_groups[0].minimum_device_memory_bytes",
    }[spoil]
    assert [violation.field for violation in raised.value.violations] == [
        f"jobs[{number}].{inside}" for number in wrong
    ]


def test_alike_wrong_profiles_and_nodes_are_each_told_of() -> None:
    cells = {("A", 1, "node"): 1.0, ("A", 2, "node"): 2.0}
    request = write_round(
        Round(
            cluster=Cluster(
                nodes=tuple(Node(f"n{i}", accelerator_type="A", device_count=2) for i in range(4))
            ),
            accelerators=(AcceleratorType("A"),),
            profiles=tuple(ThroughputProfile(f"p{i}", cells) for i in range(6)),
        )
    )
    request.cluster.nodes[1].domain = request.cluster.nodes[2].domain = "nowhere"
    request.profiles[2].throughputs[1] = float("nan")
    request.profiles[3].throughputs[0] = -1.0
    request.profiles[4].throughputs[0] = float("inf")
    request.profiles[5].throughputs.append(1.0)
    with pytest.raises(InvalidInputError) as raised:
        read_round_request(request)
    assert {violation.field for violation in raised.value.violations} == {
        "cluster.nodes[1].domain",
        "cluster.nodes[2].domain",
        "profiles[2].throughputs[1]",
        "profiles[3].throughputs[0]",
        "profiles[4].throughputs[0]",
        "profiles[5].accelerator_types",
        "profiles[5].counts",
        "profiles[5].scopes",
    }


@given(rounds("tiny"), st.data())
def test_the_quick_look_for_planned_fields_finds_what_the_slow_one_finds(round_: Round, data: Any) -> None:
    """Any one field of any message set, planned or not: both looks agree whether there is something."""
    request = write_round(round_)
    holder: Any = request
    for _ in range(data.draw(st.integers(0, 5))):
        inner = [field for field in holder.DESCRIPTOR.fields if _is_ours(field)]
        if not inner:
            break
        field = data.draw(st.sampled_from(inner))
        value = getattr(holder, field.name)
        if field.is_repeated:
            holder = value[0] if value else value.add()
        else:
            value.SetInParent()
            holder = value
    scalars = [field for field in holder.DESCRIPTOR.fields if field.message_type is None]
    if scalars:
        field = data.draw(st.sampled_from(scalars))
        one = data.draw(st.sampled_from((1, 2, 3, 99))) if field.cpp_type != 9 else "x"
        one = b"x" if field.type == field.TYPE_BYTES else bool(one) if field.cpp_type == 7 else one
        if field.is_repeated:
            getattr(holder, field.name).append(one)
        else:
            setattr(holder, field.name, one)

    def violations() -> list[tuple[str, str]]:
        noted = planned.Fields()
        planned.refuse_planned(request, "", noted)
        return [(each.field, each.description) for each in (*noted.invalid, *noted.unsupported)]

    quick = violations()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planned, "sets_built_fields_only", lambda _: False)
        slow = violations()
    assert quick == slow


def _is_ours(field: Any) -> bool:
    kind = field.message_type
    return kind is not None and kind.file.package == "gangplan.v1" and not kind.GetOptions().map_entry
