"""WhatIf over gRPC on loopback: a round without and with edits, and nothing is changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangplan.client import AsyncClient, Client
from gangplan.domain.queue import Queue
from gangplan.errors import ServiceError
from gangplan.service.planner import EnginePlanner
from gangplan.service.wire import read_plan, write_round
from gangplan.v1.placement_service_pb2 import RoundEdit


class Greedy(EnginePlanner):
    """The engine, without solver processes."""

    def __init__(self) -> None:
        super().__init__(workers=1)

    def warm(self) -> None:
        """Nothing to get ready."""


def running(answer: Any) -> set[str]:
    return {action.job for action in read_plan(answer).actions if action.placements}


async def test_each_edit_does_what_it_says(serving: Any, make_round: Any) -> None:
    """Two nodes of four devices, jobs of two, and a queue that may hold four devices."""
    round_ = replace(make_round(jobs=5, nodes=2), queues=(Queue("lab", device_limit=4),))
    jobs = [round_.jobs[0], *(replace(job, queue="lab") for job in round_.jobs[1:])]
    round_ = replace(round_, jobs=tuple(jobs))
    written = write_round(make_round(jobs=2, nodes=3))
    more = RoundEdit(add_node=written.cluster.nodes[2])
    less = RoundEdit(remove_node="node-1")
    extra = RoundEdit(add_job=written.jobs[1])
    extra.add_job.name = "extra"
    wider = RoundEdit(set_queue={"name": "lab", "device_limit": 8})
    async with serving(Greedy()) as server, AsyncClient(server.address) as client:

        async def ask(*edits: RoundEdit) -> Any:
            answer = await client.what_if(round_, edits, pipeline="greedy", time_budget=40.0)
            assert answer.before.verified
            assert answer.after.verified
            assert running(answer.before) == {"job-0", "job-1", "job-2"}
            assert answer.objective_difference == pytest.approx(
                answer.after.quality.objective - answer.before.quality.objective
            )
            return running(answer.after), list(answer.affected_jobs)

        assert await ask(wider) == ({"job-0", "job-1", "job-2", "job-3"}, ["job-3"])
        assert await ask(wider, more) == ({f"job-{n}" for n in range(5)}, ["job-3", "job-4"])
        after, affected = await ask(RoundEdit(remove_job="job-1"))
        assert after == {"job-0", "job-2", "job-3"}
        assert "job-3" in affected
        assert "job-1" not in affected
        after, affected = await ask(less)
        assert after == {"job-0", "job-1"}
        assert "job-2" in affected
        after, affected = await ask(extra)  # outside the queue
        assert after == {"job-0", "job-1", "job-2", "extra"}
        assert "extra" not in affected


@pytest.mark.parametrize(
    ("edit", "field"),
    [
        (RoundEdit(), "edits[0]"),
        (RoundEdit(remove_node="nowhere"), "edits[0].remove_node"),
        (RoundEdit(remove_job="nobody"), "edits[0].remove_job"),
        (RoundEdit(set_queue={"name": "none"}), "edits[0].set_queue.name"),
        (RoundEdit(add_node={"name": "n", "device_count": -1}), "edits[0].add_node.device_count"),
        (RoundEdit(add_job={"name": "j", "queue": "none"}), "edits[0].add_job.queue"),
        (RoundEdit(add_job={"labels": {"a": "b"}}), 'edits[0].add_job.labels["a"]'),
    ],
)
def test_a_wrong_edit_is_refused_at_its_place(make_round: Any, edit: RoundEdit, field: str) -> None:
    with Client.in_process(start=False) as client, pytest.raises(ServiceError) as caught:
        client.what_if(make_round(), [edit], pipeline="greedy")
    assert caught.value.code == "INVALID_ARGUMENT"
    assert field in [violation.field for violation in caught.value.violations]


def test_a_wrong_round_is_refused_at_its_place(make_round: Any) -> None:
    with Client.in_process(start=False) as client:
        with pytest.raises(ServiceError) as caught:
            client.what_if(make_round(), [RoundEdit(remove_job="job-1")], seed=-1)
        assert [violation.field for violation in caught.value.violations] == ["round.parameters.seed"]
        with pytest.raises(ServiceError) as caught:
            client.what_if(make_round(), [])
        assert [violation.field for violation in caught.value.violations] == ["edits"]
        alike = client.what_if(make_round(jobs=4), [RoundEdit(remove_job="job-2")], pipeline="greedy")
        assert "job-2" not in running(alike.after)
