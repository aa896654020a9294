"""A solver process is killed or stopped, or the caller of a stream leaves, at random instants of a round."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from tests.faults.instants import Instants

from gangplan.bench.faults import solver_processes
from gangplan.bench.serving import Service, service
from gangplan.client import Client
from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.engine.worker import START_SECONDS
from gangplan.errors import ServiceError
from gangplan.model.verifier.verify import verify
from gangplan.planning.generate import generate_named

BUDGET = 0.5
MOST_LATE = 2.0
"""Seconds, on a machine that is busy with other tests, and as many times more as it has processes for each
core; the suite `faults` of `gangplan bench` says how late answers are on a quiet one."""

MOST_LEAVING = 4.0
"""Seconds, like those: who left had 20 more."""

MOST_RECOVERY = 2.0 * START_SECONDS
"""Seconds: a process that was stopped while it started is given up after :data:`START_SECONDS`."""


@pytest.fixture(scope="module")
def served() -> Iterator[Service]:
    with service() as running:
        yield running


@pytest.fixture(scope="module")
def round_() -> Round:
    return generate_named("M/steady/85/seed1")


@pytest.fixture(scope="module")
def small() -> Round:
    return generate_named("S/steady/50/seed1")


def busy() -> float:
    """Processes for each core, at least one."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def judged(
    client: Client, round_: Round, budget: float, instants: Instants, pipeline: str = "full"
) -> RoundResult:
    """The answer to a round: in time, and no wrong plan."""
    began = time.monotonic()
    result = client.plan_round(round_, time_budget=budget, pipeline=pipeline, relative_gap=0.0)
    instants.late.append(time.monotonic() - began - budget)
    assert instants.late[-1] < MOST_LATE * busy()
    assert result.verified
    assert verify(round_, result.plan).violations == ()
    return result


@contextlib.contextmanager
def striking(process: int, after: float, number: signal.Signals) -> Iterator[None]:
    """Send a signal to the solver processes of a service after a while."""

    def strike() -> None:
        time.sleep(after)
        for solver in solver_processes(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(solver, number)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def until_it_solves(client: Client, small: Round, instants: Instants) -> float:
    """Seconds until a solver answers again."""
    began = time.monotonic()
    while not judged(client, small, 1.0, instants).solver:
        assert time.monotonic() - began < MOST_RECOVERY
    return time.monotonic() - began


def until_it_is_let_in(client: Client, small: Round, instants: Instants) -> float:
    """Seconds until a call has its answer; it comes again when told to, for as long as the service has yet to
    see that the one before it left."""
    began = time.monotonic()
    while True:
        try:
            judged(client, small, 3.0, instants, pipeline="greedy")  # it takes no longer than it must
        except ServiceError as error:
            if error.code != "RESOURCE_EXHAUSTED" or time.monotonic() - began > MOST_LEAVING * busy():
                raise
            instants.count("calls told to come again")
            time.sleep(error.retry_after_seconds or 0.1)
        else:
            return time.monotonic() - began


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hung"])
def test_a_solver_process_is_struck(
    served: Service, round_: Round, small: Round, number: signal.Signals
) -> None:
    what = "worker killed" if number is signal.SIGKILL else "worker hung"
    instants = Instants(what, few=1)
    with Client(served.address) as client:
        for instant in instants:
            with striking(served.process, instant.rng.uniform(0.0, BUDGET), number):
                if judged(client, round_, BUDGET, instants).solver:
                    instants.count("rounds solved all the same")
            instants.recovered.append(until_it_solves(client, small, instants))


@pytest.mark.timeout(3600)
def test_the_reader_of_a_stream_leaves(served: Service, round_: Round, small: Round) -> None:
    """Its slot, the only one, is free for the next call long before its time is up."""
    instants = Instants("client gone mid-stream", few=3)
    with Client(served.address) as client:
        client.get_capabilities()
        for instant in instants:
            with Client(served.address) as other:
                stream = other.stream_round(round_, time_budget=20.0, pipeline="full", relative_gap=0.0)
                leaves = time.monotonic() + instant.rng.uniform(0.0, 0.6)
                reader = threading.Thread(target=read_until, args=(stream, leaves))
                reader.start()
                time.sleep(max(0.0, leaves - time.monotonic()))
            reader.join(10.0)
            assert not reader.is_alive()
            instants.recovered.append(until_it_is_let_in(client, small, instants))


def read_until(stream: Iterator[RoundResult], moment: float) -> None:
    """Read a stream until then; its channel is closed by somebody else."""
    with contextlib.suppress(ServiceError, ValueError):
        for _ in stream:
            if time.monotonic() > moment:
                return
