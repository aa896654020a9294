"""Large rounds: read off the event loop, and what is alike in them only once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import grpc
import pytest

from gangplan.domain.job import ThroughputProfile
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.planning.generate import generate_named
from gangplan.service import answering, placement
from gangplan.service.answering import Answering
from gangplan.service.wire import (
    read_cluster,
    read_component,
    read_round_request,
    read_throughput,
    write_round,
)
from gangplan.v1.round_pb2 import PlanRoundResponse

MEBIBYTE = 2**20


def plan(address: str, request: bytes) -> PlanRoundResponse:
    """PlanRound on ready bytes, so that the caller does not hold the interpreter while the server reads."""
    sizes = ("grpc.max_send_message_length", "grpc.max_receive_message_length")
    with grpc.insecure_channel(address, options=[(size, 64 * MEBIBYTE) for size in sizes]) as channel:
        call = channel.unary_unary("/gangplan.v1.PlacementService/PlanRound")
        return PlanRoundResponse.FromString(call(request, timeout=60.0))


async def longest_stall(address: str, request: bytes) -> tuple[float, float]:
    """Longest time for which the event loop did not run during a call, and how long reading took; seconds."""
    asked = asyncio.create_task(asyncio.to_thread(plan, address, request))
    longest, last = 0.0, time.perf_counter()
    while not asked.done():
        await asyncio.sleep(0.001)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest, asked.result().time_by_phase["read"].ToNanoseconds() / 1e9


@pytest.mark.parametrize("large", [True, False])
async def test_everything_but_the_call_itself_happens_off_the_loop(
    serving: Any, instant: Any, make_round: Any, monkeypatch: pytest.MonkeyPatch, *, large: bool
) -> None:
    """But that a small request is decoded on it, which takes less than to wait for a thread."""
    if large:
        monkeypatch.setattr(answering, "_AT_ONCE_BYTES", 0)
    threads: dict[str, int] = {}

    def noting(owner: Any, name: str) -> None:
        behind = getattr(owner, name)

        def noted(*arguments: Any, **options: Any) -> Any:
            threads[name] = threading.get_ident()
            return behind(*arguments, **options)

        monkeypatch.setattr(owner, name, noted)

    noting(placement, "parsed")
    noting(placement, "read_round_request")
    noting(placement, "write_result")
    noting(Answering, "encode")
    request = write_round(make_round(), PlanParameters()).SerializeToString()
    async with serving(instant) as server:
        await asyncio.to_thread(plan, server.address, request)
    assert set(threads) == {"parsed", "read_round_request", "write_result", "encode"}
    here = {name for name, thread in threads.items() if thread == threading.get_ident()}
    assert here == (set() if large else {"parsed"})


async def test_the_loop_runs_on_while_a_large_round_is_read(
    serving: Any, instant: Any, make_round: Any
) -> None:
    """On the loop, reading would stall it all the while; the best of three, since others are at work."""
    round_ = make_round(jobs=20_000)
    jobs = tuple(replace(job, work_left=float(number)) for number, job in enumerate(round_.jobs))
    request = write_round(replace(round_, jobs=jobs), PlanParameters(time_budget_seconds=30.0))
    async with serving(instant) as server:
        seen = [await longest_stall(server.address, request.SerializeToString()) for _ in range(3)]
    assert min(stall / reading for stall, reading in seen) < 0.5, seen


@pytest.mark.deep
async def test_the_loop_runs_on_while_a_hundred_thousand_gpus_are_read(serving: Any, instant: Any) -> None:
    """protobuf parses and checks in C and keeps the interpreter meanwhile: tens of milliseconds each time."""
    round_ = generate_named("XXL/steady/50/seed0")
    request = write_round(round_, PlanParameters(time_budget_seconds=30.0), compact=True).SerializeToString()
    async with serving(instant) as server:
        seen = [await longest_stall(server.address, request) for _ in range(3)]
    assert min(stall for stall, _ in seen) < 0.5, seen


def alike(round_: Round, count: int) -> Round:
    """``count`` of each: the second job, the first node, and a profile for each of the jobs."""
    names = [f"p{number:03}" for number in range(count)]
    job, node = round_.jobs[1], round_.cluster.nodes[0]
    (group,) = job.component.task_groups
    return replace(
        round_,
        cluster=replace(
            round_.cluster, nodes=tuple(replace(node, name=f"n{number}") for number in range(count))
        ),
        jobs=tuple(
            replace(
                job,
                name=f"j{number}",
                component=replace(job.component, task_groups=(replace(group, profile=name),)),
                work_left=float(number),
            )
            for number, name in enumerate(names)
        ),
        profiles=tuple(
            ThroughputProfile(name, {("A100", 1, "node"): 1.0 + number}) for number, name in enumerate(names)
        ),
    )


@pytest.mark.parametrize("compact", [False, True])
def test_what_is_alike_is_read_once(
    make_round: Any, monkeypatch: pytest.MonkeyPatch, *, compact: bool
) -> None:
    calls: Counter[str] = Counter()

    def counting(owner: Any, name: str) -> None:
        behind = getattr(owner, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            calls[name] += 1
            return behind(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)

    counting(read_component, "_read_component")
    counting(read_cluster, "_read_node")
    counting(read_throughput._Grids, "_checked")
    round_ = alike(make_round(), 300)
    request = write_round(round_, compact=compact)
    assert len(request.cluster.node_classes) == int(compact)
    assert read_round_request(request)[0] == round_
    assert calls == {"_read_component": 1, "_read_node": 1, "_checked": 1}
