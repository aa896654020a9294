"""Whether jobs share the parts that they are made of, as those read from the wire do, changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from gangplan.domain.job import Job, TaskGroup
from gangplan.domain.round import Round
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.order import make_plan
from gangplan.model.verifier.verify import verify
from gangplan.planning.generate import generate_named
from gangplan.service.wire import read_round_request, write_round
from gangplan.testing.strategies import rounds


def with_shared_parts(round_: Round) -> Round:
    """As it is read: alike components have their parts in common, alike profiles their cells."""
    return read_round_request(write_round(round_))[0]


def with_own_parts(round_: Round) -> Round:
    """The same, and nobody has any part in common with another."""
    return replace(
        round_,
        jobs=tuple(_job(job) for job in round_.jobs),
        profiles=tuple(replace(one, throughput=dict(one.throughput)) for one in round_.profiles),
    )


def _job(job: Job) -> Job:
    groups = tuple(_group(group) for group in job.component.task_groups)
    return replace(job, component=replace(job.component, task_groups=groups))


def _group(group: TaskGroup) -> TaskGroup:
    return replace(
        group,
        allowed_counts=(*group.allowed_counts,),
        accelerator_types=(*group.accelerator_types,),
        resources_per_task=replace(group.resources_per_task),
        tolerations=(*group.tolerations,),
        device_share=None if group.device_share is None else replace(group.device_share),
    )


def said_alike(round_: Round) -> None:
    shared = with_shared_parts(round_)
    own = with_own_parts(shared)
    assert own == shared
    one, other = build_instance(shared), build_instance(own)
    assert one.classes == other.classes
    assert one.distinct == other.distinct
    for name in ("option", "option_class", "members", "gain", "keep_gain", "weight"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    plan = make_plan(one, keep_and_fill(one))
    assert plan == make_plan(other, keep_and_fill(other))
    judged = verify(shared, plan)
    assert judged.valid
    assert judged == verify(own, plan)


@settings(max_examples=40, deadline=None)
@given(rounds("small"))
def test_a_round_means_the_same_whoever_shares_what(round_: Round) -> None:
    said_alike(round_)


@pytest.mark.parametrize("name", ["S/steady/85/seed0", "M/steady/50/seed1"])
def test_a_whole_cluster_means_the_same_whoever_shares_what(name: str) -> None:
    said_alike(generate_named(name))
