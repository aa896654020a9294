"""A solver process that dies, hangs, lies or grows while the service plans: the plan comes, and the next one.

The faulty backends are installed as another package's would be, so that everything on the way is the real
thing: the client, the wire, the service in its own process, its engine and its solver processes. Times are
asserted generously, since machines that run tests are busy; ``gangplan bench run --suite faults`` shows how
late an answer is on a quiet one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gangplan.bench.faults import solver_processes
from gangplan.bench.serving import Service, service
from gangplan.client import Client
from gangplan.domain.plan import RoundResult, TerminationLimit, TerminationReason
from gangplan.domain.round import Round
from gangplan.model.verifier.verify import verify
from gangplan.planning.generate import generate_named
from gangplan.testing.faulty_backends import LIARS, install

BUDGET = 1.5
LATE_SECONDS = 3.0
MEBIBYTE = 2**20


@pytest.fixture(scope="module")
def faulty_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PYTHONPATH with which a process has the faulty backends installed."""
    folder = tmp_path_factory.mktemp("faulty")
    install(folder)
    return os.pathsep.join([str(folder), *(path for path in sys.path if path and Path(path).is_dir())])


@pytest.fixture(scope="module")
def served(faulty_path: str) -> Iterator[Service]:
    with service(environment={"PYTHONPATH": faulty_path}) as running:
        yield running


@pytest.fixture(scope="module")
def round_() -> Round:
    """Four hundred jobs on 544 devices: more than a first plan at prices proves best."""
    return generate_named("M/steady/85/seed1")


def ask(address: str, round_: Round, budget: float = BUDGET, **how: object) -> RoundResult:
    """The answer to a round within the budget, in time and verified by us."""
    with Client(address) as client:
        client.get_capabilities()  # the channel is open
        began = time.monotonic()
        result = client.plan_round(round_, time_budget=budget, relative_gap=0.0, **how)
        took = time.monotonic() - began
    print(f"{(took - budget) * 1e3:+.0f} ms")
    assert took < budget + LATE_SECONDS
    assert result.verified
    judged = verify(round_, result.plan)
    assert judged.violations == ()
    assert judged.objective == pytest.approx(result.quality.objective)
    assert result.quality.objective >= result.quality.keep_and_fill
    assert result.quality.objective <= result.quality.bound + 1e-9
    return result


def ask_a_solver(address: str, round_: Round, **how: object) -> RoundResult:
    """The answer to a round in which a solver had its turn, on a busy machine with a larger budget."""
    for times in (1, 4):
        result = ask(address, round_, times * BUDGET, pipeline="full", **how)
        if "left no time for a solver" not in result.detail:
            return result
    return ask(address, round_, 16 * BUDGET, pipeline="full", **how)


def assert_the_next_is_served(address: str, round_: Round) -> None:
    """By a solver that answers: the process that had to go is replaced."""
    small = generate_named("S/steady/50/seed1")
    for _ in range(5):  # a new process needs its seconds to start on a busy machine
        result = ask(address, small, budget=20.0, pipeline="full")
        if result.solver:
            break
    assert result.reason is TerminationReason.OPTIMAL, result.detail
    assert result.solver.startswith(("cpsat", "highs")), result.detail


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        ("crash", "the solver process died (signal SIGSEGV)"),
        ("exit", "the solver process died (exit code 7)"),
        ("raise", "raise raised ZeroDivisionError"),
        ("hang", "hang gave no answer by the deadline"),
        ("hang-holding-the-interpreter", "hang-holding-the-interpreter gave no answer by the deadline"),
        ("stop", "stop gave no answer by the deadline"),
        ("late", "late gave no answer by the deadline"),
        ("unpicklable", "cannot be sent"),
        ("wrong-type", "a str instead of a Solution"),
        *((liar, "lied") for liar in LIARS),
    ],
)
def test_a_faulty_solver_costs_its_answer_and_not_the_round(
    served: Service, round_: Round, solver: str, said: str
) -> None:
    result = ask_a_solver(served.address, round_, solver=solver)
    assert said in result.detail
    assert result.limit is TerminationLimit.FAILURE if said == "lied" else result.limit
    assert_the_next_is_served(served.address, round_)


@contextlib.contextmanager
def killing(service_process: int, after: float, every: float = 0.05) -> Iterator[list[int]]:
    """Kill every solver process again and again, from ``after`` seconds on; those killed."""
    killed: list[int] = []
    over = threading.Event()

    def strike() -> None:
        over.wait(after)
        while not over.is_set():
            for process in solver_processes(service_process):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
            over.wait(every)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def test_a_worker_that_is_killed_again_and_again(served: Service, round_: Round) -> None:
    with killing(served.process, after=0.2) as killed:
        result = ask_a_solver(served.address, round_)
    assert killed
    assert "died" in result.detail or "not ready by the deadline" in result.detail, result.detail
    assert_the_next_is_served(served.address, round_)


def test_a_memory_limit_just_above_the_idle_size(faulty_path: str, round_: Round) -> None:
    """Every process that begins to solve is ended for its size, and the plan comes none the less."""
    with service(environment={"PYTHONPATH": faulty_path}) as idle:
        (worker,) = solver_processes(idle.process)
        size = resident(worker)
    above = size // MEBIBYTE + 8
    with service("--worker-memory-mib", str(above), environment={"PYTHONPATH": faulty_path}) as capped:
        result = ask_a_solver(capped.address, round_, solver="grow")
        assert f"the limit is {above * MEBIBYTE}" in result.detail
        assert "the solver process grew to" in result.detail
        assert_the_next_is_served(capped.address, round_)


def resident(process: int) -> int:
    """Bytes in memory now."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_the_command_line_says_what_memory_a_worker_may_have() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gangplan.cli.main", "serve", "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"},
    )
    assert "--worker-memory-mib" in done.stdout
