"""A value made through its twin is the value that its constructor makes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from gangplan.domain.cluster import Node, Resources
from gangplan.domain.job import Component, Job, Running, TaskGroup, TaskPlacement, ThroughputProfile
from gangplan.domain.topology import Topology
from gangplan.twins import twin_maker

VALUES = [
    Job("j", queue="q", weight=2.0, work_left=5.0, revision="7"),
    Component((TaskGroup(count=2, allowed_counts=(1, 2)),), "rack", "node"),
    TaskGroup("g", devices_per_task=4, resources_per_task=Resources(1, 2), profile="p"),
    Running((TaskPlacement("g", "n", 1, (0,)),), 5.0),
    TaskPlacement("g", "n", 2, (1, 3)),
    ThroughputProfile("p", {("A", 1, "node"): 1.0}),
    Node("n", "d", "A", 8, Resources(3, 4), cordoned=True, revision="3"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_it_is_the_same_value(value: Any) -> None:
    fields = dataclasses.fields(value)
    made: Any = twin_maker(type(value))(*(getattr(value, field.name) for field in fields))
    assert type(made) is type(value)
    assert made == value
    assert repr(made) == repr(value)
    assert copy.copy(made) == value
    assert dataclasses.replace(made) == value
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, fields[0].name, "other")
    with pytest.raises(AttributeError):
        object.__setattr__(made, "anything", 1)


def test_it_hashes_and_pickles_as_the_same_value() -> None:
    resources: Any = twin_maker(Resources)(5, 6)
    assert hash(resources) == hash(Resources(5, 6))
    assert pickle.loads(pickle.dumps(resources)) == Resources(5, 6)


def test_it_takes_all_fields_and_no_more() -> None:
    for values in ((5,), (5, 6, 7)):
        with pytest.raises(TypeError):
            twin_maker(Resources)(*values)


def test_a_class_that_does_more_than_fill_slots_has_no_twin() -> None:
    @dataclasses.dataclass(frozen=True)
    class Open:
        name: str

    for kind in (Topology, Open):
        with pytest.raises(TypeError, match="no slots, or more to do"):
            twin_maker(kind)
