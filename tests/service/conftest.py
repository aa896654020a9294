"""Planners, rounds and servers for tests of the service."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from gangplan.domain.cluster import AcceleratorType, Cluster, Node, Resources
from gangplan.domain.job import Component, Job, Running, TaskGroup, TaskPlacement
from gangplan.domain.plan import (
    Action,
    ActionKind,
    Plan,
    Quality,
    RoundResult,
    Stage,
    TerminationLimit,
    TerminationReason,
    Verdict,
    VerdictKind,
)
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.runner import Cancellation
from gangplan.observe.logs import LogFormat, configure_logs
from gangplan.service.call import Call
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement, Planner
from gangplan.service.server import Server

NOW = 1_767_225_600.0


def round_of(jobs: int = 2, nodes: int = 2) -> Round:
    """Nodes of four devices; one job runs on the first two devices of the first, the others wait for two."""
    host = Resources(cpu_milli=64_000, memory_bytes=2**36)
    group = TaskGroup(devices_per_task=2, resources_per_task=Resources(1000, 2**30))
    running = Running((TaskPlacement("worker", "node-0", 1, (0, 1)),), started_at=NOW - 600)
    return Round(
        now=NOW,
        cluster=Cluster(nodes=tuple(Node(f"node-{n}", None, "A100", 4, host) for n in range(nodes))),
        accelerators=(AcceleratorType("A100"),),
        jobs=tuple(
            Job(f"job-{j}", Component((group,)), submit_time=NOW - 700, running=running if j == 0 else None)
            for j in range(jobs)
        ),
    )


def keep_everything(round_: Round, parameters: PlanParameters) -> RoundResult:
    """Running jobs stay and waiting ones wait; says so honestly, though nobody verified it."""
    actions = tuple(
        Action(f"a{place}", ActionKind.KEEP, job.name, job.running.placements, "node", 1.0)
        for place, job in enumerate(round_.jobs)
        if job.running is not None
    )
    verdicts = tuple(
        Verdict(job.name, VerdictKind.NOT_ATTEMPTED, "TEST", "nobody looked")
        for job in round_.jobs
        if job.running is None
    )
    return RoundResult(
        plan=Plan(actions),
        verdicts=verdicts,
        notices=(),
        quality=Quality(1.0, 2.0, 1.0, 0.5, 1.0, 1.0, {"throughput": 1.0}),
        reason=TerminationReason.FEASIBLE,
        limit=TerminationLimit.NONE,
        stages=(Stage("keep_and_fill", 0.0, 1.0, None),),
        pipeline=parameters.pipeline,
        seed=parameters.seed,
    )


class InstantPlanner:
    """Keeps everything at once, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[PlanParameters] = []
        self.closed = False

    def plan(
        self,
        round_: Round,
        parameters: PlanParameters,
        budget: Budget,
        cancellation: Cancellation,
        on_stage: Callable[[Stage], None] | None = None,
        on_better: Callable[[RoundResult], None] | None = None,
    ) -> RoundResult:
        del budget, cancellation, on_stage
        self.asked.append(parameters)
        return keep_everything(round_, parameters)

    def warm(self) -> None:
        """Nothing to get ready."""

    def close(self) -> None:
        self.closed = True


class SlowPlanner(InstantPlanner):
    """Takes its whole time budget, unless it is cancelled or let go."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[float] = []
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Event()
        self.seen_cancelled = threading.Event()

    def plan(
        self,
        round_: Round,
        parameters: PlanParameters,
        budget: Budget,
        cancellation: Cancellation,
        on_stage: Callable[[Stage], None] | None = None,
        on_better: Callable[[RoundResult], None] | None = None,
    ) -> RoundResult:
        self.left.append(budget.remaining)
        self.begun.release()
        while not budget.exhausted and not self.let_go.is_set():
            if cancellation.cancelled:
                self.seen_cancelled.set()
                break
            time.sleep(0.005)
        return keep_everything(round_, parameters)


class FailingPlanner(InstantPlanner):
    """Raises what it is given."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def plan(
        self,
        round_: Round,
        parameters: PlanParameters,
        budget: Budget,
        cancellation: Cancellation,
        on_stage: Callable[[Stage], None] | None = None,
        on_better: Callable[[RoundResult], None] | None = None,
    ) -> RoundResult:
        raise self.error


@contextlib.asynccontextmanager
async def running_server(planner: Planner, **settings: object) -> AsyncIterator[Server]:
    """A server on a free loopback port in the test's own event loop."""
    options = ServerOptions(**{"port": 0, **settings})
    server = Server(options, placement=Placement(planner, options))
    await server.start()
    try:
        yield server
    finally:
        await server.stop(0)


@contextlib.contextmanager
def configured_logs(level: str) -> Iterator[None]:
    """Logs as the service writes them, and then as before.

    A level that is not set by ``setLevel`` is not seen by loggers that have logged already.
    """
    root = logging.getLogger()
    handlers, before = root.handlers[:], root.level
    configure_logs(LogFormat.JSON, level)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(before)


async def until(holds: Callable[[], bool]) -> None:
    """Let everybody else go on until something holds, for a minute at most."""
    async with asyncio.timeout(60.0):
        while not holds():  # noqa: ASYNC110 - what it waits for has no event
            await asyncio.sleep(0.002)


@pytest.fixture
def make_round() -> Callable[..., Round]:
    return round_of


@pytest.fixture
def serving() -> Callable[..., contextlib.AbstractAsyncContextManager[Server]]:
    return running_server


@pytest.fixture
def instant() -> InstantPlanner:
    return InstantPlanner()


@pytest.fixture
def slow() -> SlowPlanner:
    return SlowPlanner()


@pytest.fixture
def failing() -> Callable[[Exception], FailingPlanner]:
    return FailingPlanner


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[weakref.WeakSet[Any]]:
    """The cancellations of all calls, each as long as its call is there; without the collector."""
    there: weakref.WeakSet[Any] = weakref.WeakSet()
    plain = Call.__init__

    def noted(self: Call, *some: Any, **more: Any) -> None:
        plain(self, *some, **more)
        there.add(self.cancellation)

    monkeypatch.setattr(Call, "__init__", noted)
    gc.collect()
    gc.disable()
    yield there
    gc.enable()
