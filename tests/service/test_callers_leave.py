"""A caller may leave at any moment: its call is CANCELLED, once, and the log has no traceback.

Under overload callers leave just when they are refused, and the event loop hears of it late.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import logging
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_status import rpc_status
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.service.conftest import SlowPlanner, round_of, running_server, until

import gangplan.service
from gangplan.engine.parameters import PlanParameters
from gangplan.service.server import Server
from gangplan.service.wire import write_round
from gangplan.v1 import (
    placement_service_pb2,
    placement_service_pb2_grpc,
    planning_service_pb2,
    planning_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
)

BRIEF = write_round(round_of(), PlanParameters(time_budget_seconds=0.02))
LASTING = write_round(round_of(), PlanParameters(time_budget_seconds=100.0))
LONGEST_SECONDS = 0.03
REFUSED = (
    "refused",
    "refused, with an id",
    "refused stream",
    "unknown session",
    "wrong snapshot",
    "wrong simulation",
)


@dataclass(frozen=True, slots=True)
class Leaving:
    """A call whose caller leaves.

    Attributes:
        call: which of :func:`ways`.
        after: seconds that the caller waits.
        cancels: whether it cancels the call then; else that is its deadline.
        busy: seconds that the event loop is busy with others before the caller is told of a refusal.
    """

    call: str
    after: float
    cancels: bool
    busy: float


def ways(channel: grpc.aio.Channel) -> dict[str, Any]:
    """By name, calls of a service whose slots are taken, each a function of the timeout."""
    placement: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
    sessions: Any = session_service_pb2_grpc.SessionServiceStub(channel)
    planning: Any = planning_service_pb2_grpc.PlanningServiceStub(channel)
    stream = placement_service_pb2.StreamRoundRequest(round=BRIEF)
    with_id = write_round(round_of(), PlanParameters(time_budget_seconds=0.02, request_id="the same"))
    unknown = session_service_pb2.GetSessionRequest(session_id="unknown")
    chunk = session_service_pb2.OpenSessionRequest()
    empty = planning_service_pb2.SimulateRequest()
    return {
        "refused": lambda timeout: placement.PlanRound(BRIEF, timeout=timeout),
        "refused, with an id": lambda timeout: placement.PlanRound(with_id, timeout=timeout),
        "refused stream": lambda timeout: placement.StreamRound(stream, timeout=timeout),
        "unknown session": lambda timeout: sessions.GetSession(unknown, timeout=timeout),
        "wrong snapshot": lambda timeout: sessions.OpenSession(iter([chunk]), timeout=timeout),
        "wrong simulation": lambda timeout: planning.Simulate(empty, timeout=timeout),
        "answered": lambda timeout: placement.ListSolvers(
            placement_service_pb2.ListSolversRequest(), timeout=timeout
        ),
    }


class Records(logging.Handler):
    """Every line of the log."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record)


@contextlib.contextmanager
def logged() -> Iterator[list[logging.LogRecord]]:
    """What everybody logs meanwhile."""
    root, records = logging.getLogger(), Records()
    level = root.level
    root.addHandler(records)
    root.setLevel(logging.INFO)
    try:
        yield records.lines
    finally:
        root.removeHandler(records)
        root.setLevel(level)


@contextlib.contextmanager
def busy_before_refusals() -> Iterator[list[float]]:
    """The event loop is busy for so many seconds, which the test sets, before each refusal."""
    seconds, plain = [0.0], rpc_status.to_status

    def busy(status: Any) -> Any:
        time.sleep(seconds[0])
        return plain(status)

    rpc_status.to_status = busy
    try:
        yield seconds
    finally:
        rpc_status.to_status = plain


async def leave(channel: grpc.aio.Channel, leaving: Leaving) -> None:
    """Call, and leave or be told before."""
    made = ways(channel)[leaving.call](None if leaving.cancels else leaving.after)
    if leaving.cancels:
        asyncio.get_running_loop().call_later(leaving.after, made.cancel)
    with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError):
        if isinstance(made, grpc.aio.UnaryStreamCall):
            async for _ in made:
                pass
        else:
            await made


def counted(server: Server) -> Counter[str]:
    """Calls by code, of all methods."""
    (family,) = [each for each in server.metrics.registry.collect() if each.name == "gangplan_calls"]
    counts: Counter[str] = Counter()
    for sample in family.samples:
        if sample.name == "gangplan_calls_total":
            counts[sample.labels["code"]] += round(sample.value)
    return counts


async def codes_of(
    leavings: list[Leaving], each: Callable[[], None] = lambda: None
) -> tuple[Counter[str], list[logging.LogRecord]]:
    """Calls by code, and the log, when callers of a service without a free slot leave.

    Args:
        leavings: one after the other.
        each: called after each.
    """
    slow = SlowPlanner()
    with logged() as lines, busy_before_refusals() as busy:
        async with (
            running_server(slow, slots=1, queue=0) as server,
            grpc.aio.insecure_channel(server.address) as channel,
        ):
            server._answering.admission._early = 0
            observing = server._interceptor
            stub: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
            running = asyncio.ensure_future(stub.PlanRound(LASTING))
            await asyncio.to_thread(slow.begun.acquire)
            for leaving in leavings:
                busy[0] = leaving.busy
                await leave(channel, leaving)
                await until(lambda: observing._in_flight == 1)
                await asyncio.sleep(0.01)  # gRPC lets go of the call
                each()
            slow.let_go.set()
            await running
            await until(lambda: observing._in_flight == 0)
            return counted(server), lines


def judge(counts: Counter[str], lines: list[logging.LogRecord]) -> None:
    """No call is taken for an error of ours, each has one line, and none has a traceback."""
    wrong = [line.getMessage() for line in lines if line.exc_info or line.levelno >= logging.WARNING]
    assert not wrong, wrong[0]
    assert counts["INTERNAL"] == counts["UNKNOWN"] == 0
    told = Counter(
        line.msg["code"] for line in lines if isinstance(line.msg, dict) and line.msg.get("event") == "call"
    )
    assert told == +counts


leavings = st.lists(
    st.builds(
        Leaving,
        call=st.sampled_from([*REFUSED, "answered"]),
        after=st.floats(0.0, LONGEST_SECONDS),
        cancels=st.booleans(),
        busy=st.sampled_from([0.0, LONGEST_SECONDS / 3, LONGEST_SECONDS]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=20, deadline=None)
@given(leavings)
def test_whenever_a_caller_leaves_its_call_is_no_error(leavings: list[Leaving]) -> None:
    judge(*asyncio.run(codes_of(leavings)))


@pytest.mark.parametrize("call", REFUSED)
async def test_a_caller_that_left_while_it_was_refused_is_cancelled(call: str) -> None:
    counts, lines = await codes_of([Leaving(call, after=0.05, cancels=False, busy=0.15)])
    judge(counts, lines)
    assert counts == {"OK": 1, "CANCELLED": 1}


async def test_nothing_of_it_stays_behind(calls: weakref.WeakSet[Any]) -> None:
    seen: list[int] = []
    leaving = [Leaving(call, 0.02, cancels=False, busy=0.05) for call in ("refused", "refused stream")]
    await codes_of(leaving * 5, each=lambda: seen.append(len(calls)))
    assert seen == [1] * len(seen)  # the one that is planned


def test_nothing_else_aborts() -> None:
    """A call that is aborted past :mod:`gangplan.service.aborting` is taken for an error of ours."""
    service = Path(gangplan.service.__file__).parent
    aborting = {
        path.name
        for path in service.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in {"abort", "abort_with_status"}
    }
    assert aborting == {"aborting.py"}
