"""What a round leaves to the next: arrays and facts made with it are those made anew."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.columns import Columns, columns_of
from gangplan.domain.cluster import Node, NodeHealth
from gangplan.domain.job import OPEN, DeadlineKind, Gate, Job
from gangplan.domain.plan import Plan
from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.kept import Kept, KeptRound
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.order import PlanWriter, make_plan
from gangplan.model.verifier import starts
from gangplan.model.verifier.facts import round_facts
from gangplan.testing.strategies import rounds

_JOB_EDITS: list[Callable[[Job, random.Random], Job]] = [
    lambda job, rng: dataclasses.replace(job, weight=rng.choice([0.5, 1.0, 3.0])),
    lambda job, _: dataclasses.replace(job, running=None),
    lambda job, rng: dataclasses.replace(job, work_left=rng.choice([None, 10.0, 5000.0])),
    lambda job, _: (
        job
        if job.running is None
        else dataclasses.replace(job, running=dataclasses.replace(job.running, stopping=True))
    ),
    lambda job, _: dataclasses.replace(job, component=dataclasses.replace(job.component)),
    lambda job, rng: dataclasses.replace(job, priority=rng.choice([0, 1, 2])),
    lambda job, _: dataclasses.replace(job, queue=None),
    lambda job, rng: dataclasses.replace(job, submit_time=rng.choice([None, 0.0, 50.0])),
    lambda job, rng: dataclasses.replace(job, deadline=rng.choice([None, 1_000.0, 1e9])),
    lambda job, rng: dataclasses.replace(job, deadline_kind=rng.choice(list(DeadlineKind))),
    lambda job, rng: dataclasses.replace(job, gate=rng.choice([OPEN, Gate(held=True), Gate(not_before=1e6)])),
    lambda job, rng: dataclasses.replace(job, disrupted_at=rng.choice([(), (0.0,)])),
    lambda job, rng: dataclasses.replace(job, checkpoint_seconds=rng.choice([0.0, 30.0])),
    lambda job, rng: dataclasses.replace(
        job, capabilities=dataclasses.replace(job.capabilities, movable=rng.random() < 0.5)
    ),
    lambda job, rng: (
        job
        if job.running is None
        else dataclasses.replace(
            job, running=dataclasses.replace(job.running, started_at=rng.choice([None, 0.0, 100.0]))
        )
    ),
]
_POLICY_EDITS: list[Callable[[Policy, random.Random], Policy]] = [
    lambda policy, rng: dataclasses.replace(policy, priority_weights={1: rng.choice([1.0, 4.0])}),
    lambda policy, rng: dataclasses.replace(policy, fairness_power=rng.choice([0.0, 1.0, 2.0])),
    lambda policy, rng: dataclasses.replace(policy, minimum_run_seconds=rng.choice([0.0, 1e7])),
    lambda policy, rng: dataclasses.replace(policy, fairness_quantile=rng.choice([0.5, 0.9])),
]
_NODE_EDITS: list[Callable[[Node, random.Random], Node]] = [
    lambda node, _: dataclasses.replace(node, health=NodeHealth.UNHEALTHY),
    lambda node, _: dataclasses.replace(node, cordoned=not node.cordoned),
    lambda node, rng: dataclasses.replace(node, drain_time=rng.choice([None, 0.0, 1e12])),
    lambda node, rng: dataclasses.replace(node, unhealthy_devices=frozenset(range(rng.randint(0, 2)))),
]


def _edited(round_: Round, first: Round, rng: random.Random) -> Round:
    """A small change, some of it back to what was at first; nothing else is another object than before."""
    jobs = {job.name: job for job in round_.jobs}
    nodes = {node.name: node for node in round_.cluster.nodes}
    now = round_.now + rng.choice([0.0, 60.0, 100_000.0])
    for _ in range(rng.randint(0, 3)):
        if jobs:
            name = rng.choice(sorted(jobs))
            edit = rng.choice([*_JOB_EDITS, None])
            if edit is None:
                del jobs[name]
            else:
                jobs[name] = edit(jobs[name], rng)
                if rng.random() < 0.2:  # a job like it arrives, before it or after it
                    new = f"{rng.choice(['0', 'z'])}{name}"
                    jobs[new] = dataclasses.replace(jobs[name], name=new, running=None)
        if first.jobs and rng.random() < 0.5:
            back = rng.choice(first.jobs)
            jobs[back.name] = back
    if rng.random() < 0.4:
        name = rng.choice(sorted(nodes))
        if len(nodes) > 1 and rng.random() < 0.3:
            del nodes[name]
        else:
            nodes[name] = rng.choice(_NODE_EDITS)(nodes[name], rng)
        back_node = rng.choice(first.cluster.nodes)
        nodes[back_node.name] = back_node
        cluster = dataclasses.replace(round_.cluster, nodes=tuple(nodes.values()))
    else:
        cluster = round_.cluster
    policy = round_.policy
    if rng.random() < 0.2:
        policy = rng.choice(_POLICY_EDITS)(policy, rng)
    listed = list(jobs.values())
    if rng.random() < 0.2:
        rng.shuffle(listed)
    return dataclasses.replace(round_, now=now, jobs=tuple(listed), cluster=cluster, policy=policy)


def _history(round_: Round, seed: int) -> Iterator[Round]:
    rng = random.Random(seed)
    yield round_
    here = round_
    for _ in range(4):
        here = _edited(here, round_, rng)
        yield here


def _differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two results differ, down to every array."""
    if type(one) is not type(other):
        yield f"{path}: {type(one).__name__}, not {type(other).__name__}"
    elif isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape or one.tobytes() != other.tobytes():
            yield f"{path}: {one}, not {other}"
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            if not field.name.startswith("_"):
                yield from _differences(
                    getattr(one, field.name), getattr(other, field.name), f"{path}.{field.name}"
                )
    elif isinstance(one, Mapping):
        if list(one) != list(other):
            yield f"{path}: keys {list(one)}, not {list(other)}"
        else:
            for key in one:
                yield from _differences(one[key], other[key], f"{path}[{key!r}]")
    elif isinstance(one, tuple | list):
        if len(one) != len(other):
            yield f"{path}: {len(one)} entries, not {len(other)}"
        else:
            for place, (a, b) in enumerate(zip(one, other, strict=True)):
                yield from _differences(a, b, f"{path}[{place}]")
    elif isinstance(one, Kept | Columns):
        return  # what is kept may differ; what is made of it may not
    elif isinstance(one, functools.partial):
        yield from _differences(one(), other(), f"{path}()")  # what is computed when it is asked for
    elif type(one).__module__.startswith("gangplan.model.verifier.throughput"):
        return  # a lookup; what was looked up is compared
    elif one != other and not (one != one and other != other):  # noqa: PLR0124 - NaN
        yield f"{path}: {one!r}, not {other!r}"


def different_somewhere(round_: Round, seed: int) -> list[str]:
    """Differences in any round of a history between what was kept and what is made anew."""
    kept = KeptRound.empty()
    found: list[str] = []
    for here in _history(round_, seed):
        found += _differences(build_instance(here, kept.model), build_instance(here), "instance")
        found += _differences(*_plans(here, kept.model), "plan")
        facts, anew = round_facts(here, kept.verifier), round_facts(here)
        found += _differences(facts, anew, "facts")
        with patch.object(starts, "FEW", 0):  # as where many jobs run
            for columns in (starts.single_columns, starts.present):
                found += _differences(facts.once(columns), anew.once(columns), columns.__name__)
    return found


def _plans(round_: Round, kept: Kept) -> tuple[Plan, Plan]:
    """The plan that keeps and fills, with what was kept and made anew."""
    instance = build_instance(round_)
    assignment = keep_and_fill(instance)
    known = PlanWriter(build_instance(round_, kept), kept)
    return known.plan(assignment), make_plan(instance, assignment)


@settings(max_examples=15)
@given(rounds(), st.integers(0, 10_000))
def test_what_is_kept_is_what_would_be_made_anew(round_: Round, seed: int) -> None:
    assert different_somewhere(round_, seed) == []


def test_only_what_is_new_is_made() -> None:
    """Job by job: alike is not enough, it has to be the same object; and only of the last round."""
    made: list[str] = []
    one, two, twin = ["one"], ["two"], ["one"]

    def make(thing: list[str]) -> str:
        made.append(thing[0])
        return thing[0]

    kept = Kept()
    assert kept.each("name", [one, two], make) == ["one", "two"]
    assert kept.each("name", [two, one, twin], make) == ["two", "one", "one"]
    assert made == ["one", "two", "one"]
    kept.each("name", [two], make)
    kept.each("name", [one], make)
    assert made[3:] == ["one"]  # it was not in the round between


def test_results_are_made_anew_where_what_they_look_up_is_another() -> None:
    made: list[str] = []
    jobs = [("a", "n1"), ("b", "n2"), ("c", "n3")]
    nodes = {"n1": object(), "n2": object()}

    def places(among: Mapping[str, object]) -> list[str]:
        def make(job: tuple[str, str]) -> str:
            made.append(job[0])
            return "there" if job[1] in among else "gone"

        return kept.each("places", jobs, make, among=among, looks_up=lambda job: [job[1]])

    kept = Kept()
    assert places(nodes) == ["there", "there", "gone"]
    assert places({**nodes, "n1": object()}) == ["there", "there", "gone"]
    assert places({"n2": nodes["n2"], "n3": object()}) == ["gone", "there", "there"]
    assert made == ["a", "b", "c", "a", "a", "c"]


def test_other_numbers_beside_make_all_results_anew() -> None:
    kept = Kept()
    assert kept.once("sum", (1, 2.0), lambda: "first") == "first"
    assert kept.once("sum", (1, 2.0), lambda: "again") == "first"
    assert kept.once("sum", (1, 3.0), lambda: "other") == "other"
    assert kept.once("sum", ([1],), lambda: "a list") == "a list"
    assert kept.once("sum", ([1],), lambda: "another list") == "another list"


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.booleans())), max_size=6), st.data())
def test_columns_are_what_would_be_read_anew(
    histories: list[list[tuple[int, bool]]], data: st.DataObject
) -> None:
    """Whatever things come, go, change places, or are others with the same number."""
    known = {n: [float(n)] for n in range(6)}
    kept = Kept()
    for history in histories:
        things = [list(known[n]) if other else known[n] for n, other in history]
        for n, other in history:
            if other and data.draw(st.booleans()):
                known[n] = [data.draw(st.sampled_from([float(n), -1.0]))]
        columns = columns_of(kept, "things", things)
        for beside in data.draw(st.lists(st.sampled_from([1.0, 2.0]), max_size=2)):
            found = columns.of("first", lambda some, by=beside: np.array([by * t[0] for t in some]), beside)
            assert found.tolist() == [beside * thing[0] for thing in things]


def test_only_other_things_are_read_again() -> None:
    read: list[float] = []

    def first(some: Sequence[list[float]]) -> np.ndarray[Any, np.dtype[np.float64]]:
        read.extend(thing[0] for thing in some)
        return np.array([thing[0] for thing in some])

    one, two, three, twin = [1.0], [2.0], [3.0], [1.0]
    kept = Kept()
    for things in ([one, two], [one, two], [two, one, three], [twin, one], []):
        assert columns_of(kept, "name", things).of("first", first).tolist() == [thing[0] for thing in things]
    assert read == [1.0, 2.0, 3.0, 1.0]
