"""PlanningService: simulations in processes of their own, with progress, and gone with whoever asked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from gangplan.client import AsyncClient, Client
from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Component, Job, TaskGroup
from gangplan.domain.round import Round
from gangplan.errors import ServiceError
from gangplan.service.wire import write_round
from gangplan.service.wire.read_simulation import read_simulation
from gangplan.v1 import planning_service_pb2

NOW = 1_767_225_600.0


def day(jobs: int = 3, work: float = 3600.0) -> Round:
    """Jobs of an hour on one device, one every hour from the start on."""
    group = TaskGroup(count=1, allowed_counts=(1,))
    return Round(
        now=NOW,
        round_seconds=600.0,
        cluster=Cluster(nodes=(Node("n", accelerator_type="H", device_count=1),)),
        accelerators=(AcceleratorType("H"),),
        jobs=tuple(
            Job(
                f"j-{k}",
                Component((group,)),
                submit_time=NOW + 1800.0 * k,
                work_left=work,
                deadline=NOW + 7200,
            )
            for k in range(jobs)
        ),
    )


def request(**more: Any) -> planning_service_pb2.SimulateRequest:
    return planning_service_pb2.SimulateRequest(start=write_round(day()), policy="fifo", **more)


async def test_a_simulation_ends_with_its_metrics_and_jobs(serving: Any, instant: Any) -> None:
    """One device, an hour each, one more every half an hour: ends after 1, 2 and 3 hours, two in time."""
    async with serving(instant) as server, AsyncClient(server.address) as client:
        answers = [
            answer async for answer in client.simulate(day(), policy="fifo", with_jobs=True, timeout=100)
        ]
        fewer = planning_service_pb2.SimulateRequest()
        fewer.CopyFrom(request(told=planning_service_pb2.TOLD_UNKNOWN))
        fewer.length.seconds = 3600
        results = [answer async for answer in client.sweep([request(), fewer], timeout=100)]
        capabilities = await client.get_capabilities()
    last = answers[-1]
    assert [answer.progress < 1 for answer in answers] == [True] * (len(answers) - 1) + [False]
    assert last.metrics["makespan"] == pytest.approx(3 * 3600)
    assert last.metrics["deadlines_met"] == pytest.approx(2 / 3)
    assert [job.end_time.seconds - NOW for job in last.jobs] == [3600, 7200, 10800]
    assert [job.deadline_met for job in last.jobs] == [True, True, False]
    done = {answer.variant: answer.result for answer in results if answer.result.progress == 1}
    assert list(done) == [0, 1]
    assert done[0].metrics == last.metrics
    assert (done[1].metrics["unfinished"], len(done[1].jobs)) == (1, 0)
    assert {"gangplan.v1.PlanningService.Simulate", "gangplan.v1.PlanningService.Sweep"} <= set(
        capabilities.methods
    )


async def test_who_gives_up_ends_the_simulation_and_frees_its_slot(serving: Any, instant: Any) -> None:
    """A thousand jobs under the engine take minutes; the next call of the only slot need not wait."""
    long = day(jobs=1000, work=36_000.0)
    async with serving(instant, slots=1) as server, AsyncClient(server.address) as client:
        answers = client.simulate(long, policy="myopic", pipeline="greedy")
        first = await anext(answers)
        assert first.progress < 1
        await answers.aclose()
        began = time.monotonic()
        ends = [answer.progress async for answer in client.simulate(day(), policy="fifo", timeout=60)]
        assert ends[-1] == 1
        assert time.monotonic() - began < 60


async def test_a_call_that_runs_out_of_time_says_so(serving: Any, instant: Any) -> None:
    async with serving(instant) as server, AsyncClient(server.address) as client:
        with pytest.raises(ServiceError) as caught:
            async for _ in client.simulate(day(jobs=1000, work=36_000.0), policy="myopic", timeout=4):
                pass
    assert caught.value.code in {"DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"}


async def test_each_wrong_field_is_named(serving: Any, instant: Any) -> None:
    wrong = request(noise=1.5)
    wrong.policy = "nobody"
    del wrong.start.jobs[:]
    wrong.start.jobs.add(name="x")
    without_work = planning_service_pb2.SimulateRequest(
        start=write_round(replace(day(), jobs=(replace(day().jobs[0], work_left=None),)))
    )
    async with serving(instant) as server, AsyncClient(server.address) as client:
        for variants, fields in (
            ([], {"variants"}),
            ([request(), planning_service_pb2.SimulateRequest()], {"variants[1].start"}),
            ([without_work], {"variants[0].start.jobs[0].work.left_known"}),
        ):
            with pytest.raises(ServiceError) as caught:
                async for _ in client.sweep(variants, timeout=60):
                    pass
            assert caught.value.code == "INVALID_ARGUMENT"
            assert {violation.field for violation in caught.value.violations} == fields
        with pytest.raises(ServiceError) as caught:
            async for _ in client.sweep([wrong], timeout=60):
                pass
        assert all(each.field.startswith("variants[0].start.jobs[0]") for each in caught.value.violations)
        unknown = request()
        unknown.MergeFromString(b"\xa2\x7d\x01x")
        with pytest.raises(ServiceError, match="not known to this version"):
            async for _ in client.sweep([unknown], timeout=60):
                pass


async def test_the_service_answers_others_while_it_simulates(serving: Any, instant: Any) -> None:
    async with serving(instant, slots=1) as server, AsyncClient(server.address) as client:
        answers = client.simulate(day(jobs=1000, work=36_000.0), policy="myopic", pipeline="greedy")
        await anext(answers)
        assert (await client.get_capabilities(timeout=30)).version
        await asyncio.wait_for(answers.aclose(), 30)


def test_in_process_it_is_the_same() -> None:
    with Client.in_process() as client:
        answers = list(client.simulate(day(), policy="fifo"))
        swept = [answer.result for answer in client.sweep([request()])]
        with pytest.raises(ServiceError, match="no policy 'nobody'"):
            list(client.simulate(day(), policy="nobody"))
    assert answers[-1].metrics["makespan"] == pytest.approx(3 * 3600)
    assert swept[-1].metrics == answers[-1].metrics


def test_what_is_left_out_has_its_default() -> None:
    read = read_simulation(planning_service_pb2.SimulateRequest(start=write_round(day())))
    assert (read.policy, read.settings.telling.told.value, read.settings.most_rounds) == (
        "tracking",
        "exact",
        100_000,
    )
    assert read.history.arrivals[0].checkpoint_seconds is None
