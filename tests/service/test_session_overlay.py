"""What is in flight, held against what the caller says meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gangplan.domain.cluster import DeviceReporting
from gangplan.domain.job import DeviceShare, Running, TaskPlacement
from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.service.session_overlay import under_way
from gangplan.service.sessions.content import Content
from gangplan.service.sessions.in_flight import InFlight
from gangplan.service.sessions.record import Record
from gangplan.v1 import plan_pb2


def start_of(job: str, node: str, devices: tuple[int, ...], part: int = 0) -> Record:
    """A session in which ``job`` is about to start."""
    action = plan_pb2.Action(kind=plan_pb2.ACTION_KIND_PLACE, job=job)
    place = action.placements.add(group="worker", node=node, tasks=1, devices=devices)
    if part:
        place.shares.add(mode=1, compute_milli=part)
    entry = InFlight(
        "p1", "a", ActionKind.PLACE, job, action.SerializeToString(), (node,), (), 0.0, float("inf")
    )
    return Record(session_id="s", caller="me", content=Content.of({}), in_flight=(entry,))


def runs(round_: Round, job: str) -> bool:
    return next(each for each in round_.jobs if each.name == job).running is not None


def test_a_start_on_devices_that_the_node_no_longer_has_does_not_count(
    make_round: Callable[..., Round],
) -> None:
    round_, record = make_round(jobs=2), start_of("job-1", "node-1", (2, 3))
    assert runs(under_way(round_, record), "job-1")
    first, second = round_.cluster.nodes
    for other in (
        replace(second, device_count=3),
        replace(second, device_reporting=DeviceReporting.COUNT_ONLY),
    ):
        changed = replace(round_, cluster=replace(round_.cluster, nodes=(first, other)))
        assert not runs(under_way(changed, record), "job-1")
    gone = replace(round_, cluster=replace(round_.cluster, nodes=(first,)))
    assert runs(under_way(gone, record), "job-1")  # and is evicted, as whatever ran there


@pytest.mark.parametrize(("mine", "others", "counts"), [(500, 0, False), (0, 500, False), (500, 500, True)])
def test_all_of_a_device_and_a_part_of_it_exclude_each_other(
    make_round: Callable[..., Round],
    mine: int,
    others: int,
    counts: bool,  # noqa: FBT001
) -> None:
    round_ = make_round(jobs=2)
    shares = (DeviceShare(others),) if others else ()
    there = Running((TaskPlacement("worker", "node-0", 1, (2,), shares),))
    held = replace(round_, jobs=(replace(round_.jobs[0], running=there), round_.jobs[1]))
    assert runs(under_way(held, start_of("job-1", "node-0", (2,), mine)), "job-1") is counts
