"""Solvers that crash, hang, grow and lie: the caller hears in time, and the next call is answered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangplan.engine.budget import Budget
from gangplan.engine.runner import Cancellation, InProcessRunner, Runner
from gangplan.engine.worker import SolverWorker
from gangplan.engine.worker_pool import WorkerPool
from gangplan.errors import BackendError, UnknownSolverError, WorkerError
from gangplan.model.program import SolveParameters, SolveStatus
from gangplan.testing.faulty_backends import EXTRA, LIARS
from gangplan.testing.programs import KNOWN_ANSWERS, hard_knapsack

KNAPSACK = KNOWN_ANSWERS["knapsack"].program
START = np.array([1.0, 1.0, 0.0])
PLAIN = SolveParameters()
MEMORY_LIMIT = 400 * 2**20
LATE_SECONDS = 0.5
"""How much later than the deadline a call may return on a busy machine; it is some 10 ms on an idle one."""


@pytest.fixture(scope="module")
def worker() -> Iterator[SolverWorker]:
    """One worker without solver libraries (quick to replace), with faulty backends."""
    with SolverWorker(preload=("honest",), extra=EXTRA, memory_limit_bytes=MEMORY_LIMIT) as it:
        yield it


@pytest.fixture(scope="module")
def warm() -> Iterator[SolverWorker]:
    """One worker with the real solvers; patient, since what is tested is that they stop by themselves."""
    with SolverWorker(grace_seconds=10.0) as it:
        assert it.wait_until_ready() == {}
        yield it


def works(runner: Runner) -> bool:
    """A good call is answered, by a new process where the old one had to go."""
    return runner.solve("honest", KNAPSACK, PLAIN, START, Budget(30)).objective == 160.0


def until(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.005)
    return condition()


def alive(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("name", ["highs", "cpsat"])
def test_solves_as_in_process(warm: SolverWorker, name: str) -> None:
    what = hard_knapsack(20, 2)
    here = InProcessRunner().solve(name, what, PLAIN, None, Budget(60))
    there = warm.solve(name, what, PLAIN, None, Budget(60))
    assert here.status is there.status is SolveStatus.OPTIMAL
    assert here.objective == there.objective
    assert (here.values == there.values).all()  # type: ignore[union-attr]
    assert (here.nodes, here.iterations, here.solver) == (there.nodes, there.iterations, there.solver)


@pytest.mark.parametrize("name", ["highs", "cpsat"])
def test_the_deadline_reaches_the_library(warm: SolverWorker, name: str) -> None:
    """It stops by itself and gives its best: the process is not replaced."""
    replaced, process = warm.replaced, warm.process_id
    what = hard_knapsack(100, 5)
    budget = Budget(1.0)
    solution = warm.solve(name, what, PLAIN, np.zeros(100), budget)
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.objective is not None
    assert solution.objective > 0
    assert budget.remaining > 0 or time.monotonic() - budget.deadline < LATE_SECONDS
    assert (warm.replaced, warm.process_id) == (replaced, process)


def test_errors_of_the_backend_come_through(warm: SolverWorker) -> None:
    with pytest.raises(BackendError, match="continuous; use highs"):
        warm.solve("cpsat", KNOWN_ANSWERS["linear"].program, PLAIN, None, Budget(10))
    with pytest.raises(UnknownSolverError, match=r"no solver 'nope'; there are: .*cpsat.*highs"):
        warm.solve("nope", KNAPSACK, PLAIN, None, Budget(10))
    assert warm.solve("highs", KNAPSACK, PLAIN, None, Budget(10)).objective == 220.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crash", r"the solver process died \(signal SIGSEGV\)"),
        ("exit", r"the solver process died \(exit code 7\)"),
    ],
)
def test_a_death_is_told_at_once(worker: SolverWorker, name: str, message: str) -> None:
    assert works(worker)
    began, replaced = time.monotonic(), worker.replaced
    with pytest.raises(WorkerError, match=message):
        worker.solve(name, KNAPSACK, PLAIN, START, Budget(30))
    assert time.monotonic() - began < 10  # not at the deadline
    assert worker.replaced == replaced + 1
    assert works(worker)


@pytest.mark.parametrize("name", ["hang", "hang-holding-the-interpreter", "stop", "late"])
def test_a_late_solver_is_ended_at_the_deadline(
    worker: SolverWorker, name: str, record_property: pytest.RecordProperty
) -> None:
    assert works(worker)
    process, replaced = worker.process_id, worker.replaced
    assert process is not None
    budget = Budget(0.2)
    with pytest.raises(WorkerError, match=f"{name} gave no answer by the deadline"):
        worker.solve(name, KNAPSACK, PLAIN, START, budget)
    late = time.monotonic() - budget.deadline
    record_property("late_seconds", late)
    assert 0 <= late < LATE_SECONDS
    assert until(lambda: not alive(process))
    assert worker.replaced == replaced + 1
    assert works(worker)


def test_a_process_that_grows_is_ended(worker: SolverWorker) -> None:
    assert works(worker)
    began = time.monotonic()
    with pytest.raises(WorkerError, match=rf"grew to \d+ bytes; the limit is {MEMORY_LIMIT}"):
        worker.solve("grow", KNAPSACK, PLAIN, START, Budget(60))
    assert time.monotonic() - began < 30
    assert works(worker)


@pytest.mark.parametrize("name", [*LIARS, "wrong-type", "unpicklable", "raise"])
def test_a_lie_costs_the_backend_and_not_the_process(worker: SolverWorker, name: str) -> None:
    assert works(worker)
    process = worker.process_id
    with pytest.raises(BackendError):
        worker.solve(name, KNAPSACK, PLAIN, START, Budget(30))
    assert works(worker)
    assert worker.process_id == process


def test_the_better_start_is_kept(worker: SolverWorker) -> None:
    solution = worker.solve("worse-than-start", KNAPSACK, PLAIN, START, Budget(30))
    assert solution.objective == 160.0
    assert solution.detail == "the start was kept"


def test_a_budget_that_is_spent_is_refused_in_time(worker: SolverWorker) -> None:
    assert works(worker)
    budget = Budget(0.0)
    with pytest.raises(WorkerError):
        worker.solve("hang", KNAPSACK, PLAIN, START, budget)
    assert time.monotonic() - budget.deadline < LATE_SECONDS
    assert works(worker)


def test_a_process_killed_between_calls_is_replaced(worker: SolverWorker) -> None:
    assert works(worker)
    process = worker.process_id
    assert process is not None
    os.kill(process, signal.SIGKILL)
    assert until(lambda: not alive(process))
    with pytest.raises(WorkerError, match="died"):
        worker.solve("honest", KNAPSACK, PLAIN, START, Budget(30))
    assert works(worker)


def test_a_process_that_does_not_read_costs_no_more_than_the_deadline(worker: SolverWorker) -> None:
    """It is stopped before a programme far larger than the socket's buffer is sent."""
    assert works(worker)
    process = worker.process_id
    assert process is not None
    os.kill(process, signal.SIGSTOP)
    budget = Budget(0.2)
    with pytest.raises(WorkerError, match="did not take the programme"):
        worker.solve("honest", hard_knapsack(2000, 50), PLAIN, None, budget)
    assert time.monotonic() - budget.deadline < LATE_SECONDS
    assert until(lambda: not alive(process))
    assert works(worker)


def test_a_call_that_comes_before_the_process_is_ready_waits_its_turn() -> None:
    with SolverWorker(preload=("hang",), extra=EXTRA) as starting:
        process = starting.process_id
        budget = Budget(0.2)
        with pytest.raises(WorkerError, match="not ready by the deadline"):
            starting.solve("honest", KNAPSACK, PLAIN, START, budget)
        assert time.monotonic() - budget.deadline < LATE_SECONDS
        assert starting.process_id == process  # it may yet become ready
        assert starting.replaced == 0


def test_a_process_that_takes_long_to_start_costs_no_more_than_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a busy machine, or when it is stopped before it is a program of its own."""
    may_go_on = threading.Event()
    start = subprocess.Popen

    def slow(*words: Any, **more: Any) -> Any:
        assert may_go_on.wait(60)
        return start(*words, **more)

    monkeypatch.setattr(subprocess, "Popen", slow)
    starting = SolverWorker(preload=("honest",), extra=EXTRA)
    try:
        for _ in range(2):
            with pytest.raises(WorkerError, match="no solver process was started by the deadline"):
                starting.solve("honest", KNAPSACK, PLAIN, START, Budget(0.05))
        may_go_on.set()
        assert works(starting)
    finally:
        may_go_on.set()
        starting.close()


def test_a_worker_that_is_closed_while_its_process_starts_leaves_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_go_on = threading.Event()
    start = subprocess.Popen
    started: list[subprocess.Popen[bytes]] = []

    def slow(*words: Any, **more: Any) -> Any:
        assert may_go_on.wait(60)
        started.append(start(*words, **more))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", slow)
    starting = SolverWorker(preload=("honest",), extra=EXTRA)
    with pytest.raises(WorkerError):
        starting.solve("honest", KNAPSACK, PLAIN, START, Budget(0.05))
    starting.close()
    may_go_on.set()
    assert until(lambda: bool(started) and started[0].returncode is not None, 60.0)


def test_a_backend_that_cannot_be_loaded_is_named() -> None:
    with SolverWorker(preload=("honest", "gone"), extra={**EXTRA, "gone": "not_there:GONE"}) as partly:
        failed = partly.wait_until_ready()
        assert list(failed) == ["gone"]
        assert "not_there" in failed["gone"]
        assert works(partly)


def test_cancellation_ends_a_call_at_once(worker: SolverWorker) -> None:
    assert works(worker)
    cancellation = Cancellation()
    timer = threading.Timer(0.1, cancellation.cancel)
    timer.start()
    began = time.monotonic()
    with pytest.raises(WorkerError, match="the call was cancelled"):
        worker.solve("hang", KNAPSACK, PLAIN, START, Budget(60), cancellation)
    assert time.monotonic() - began < 10
    timer.join()
    with pytest.raises(WorkerError, match="the call was cancelled"):  # it stays given
        worker.solve("honest", KNAPSACK, PLAIN, START, Budget(60), cancellation)
    assert works(worker)


def test_close_ends_a_call_in_another_thread() -> None:
    closing = SolverWorker(preload=(), extra=EXTRA)
    closing.start()
    process = closing.process_id
    assert process is not None
    timer = threading.Timer(0.3, closing.close)
    timer.start()
    began = time.monotonic()
    with pytest.raises(WorkerError):
        closing.solve("hang", KNAPSACK, PLAIN, START, Budget(60))
    assert time.monotonic() - began < 10
    timer.join()
    assert until(lambda: not alive(process))
    with pytest.raises(WorkerError, match="closed"):
        closing.solve("honest", KNAPSACK, PLAIN, START, Budget(1))
    closing.close()


def test_calls_from_several_threads_take_turns(worker: SolverWorker) -> None:
    assert works(worker)
    results: list[bool] = []
    threads = [threading.Thread(target=lambda: results.append(works(worker))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [True] * 4


def test_the_process_ends_with_its_parent() -> None:
    """Even in the middle of a solve, and when the parent is killed."""
    code = (
        "import numpy as np\n"
        "from gangplan.engine.budget import Budget\n"
        "from gangplan.engine.worker import SolverWorker\n"
        "from gangplan.model.program import SolveParameters\n"
        "from gangplan.testing.faulty_backends import EXTRA\n"
        "from gangplan.testing.programs import KNOWN_ANSWERS\n"
        "worker = SolverWorker(preload=(), extra=EXTRA)\n"
        "worker.start()\n"
        "print(worker.process_id, flush=True)\n"
        "worker.wait_until_ready()\n"
        "worker.solve('hang', KNOWN_ANSWERS['knapsack'].program, SolveParameters(), None, Budget(60))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        process = int(parent.stdout.readline())
        assert alive(process)
        time.sleep(0.5)
        parent.kill()
    assert until(lambda: not alive(process))


def test_a_script_without_a_main_guard_may_start_workers(tmp_path: Path) -> None:
    """Its module is not imported a second time, and nothing but its own print is on standard output."""
    script = tmp_path / "script.py"
    script.write_text(
        "from gangplan.engine.budget import Budget\n"
        "from gangplan.engine.worker import SolverWorker\n"
        "from gangplan.model.program import SolveParameters\n"
        "from gangplan.testing.programs import KNOWN_ANSWERS\n"
        "with SolverWorker() as worker:\n"
        "    for name in ('highs', 'cpsat'):\n"
        "        what = KNOWN_ANSWERS['knapsack'].program\n"
        "        print(worker.solve(name, what, SolveParameters(), None, Budget(60)).objective)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=90, check=True
    )
    assert done.stdout.split() == ["220.0", "220.0"]
    assert done.stderr == ""


def test_a_pool_solves_at_the_same_time_and_frees_slots() -> None:
    with WorkerPool(2, preload=("honest",), extra=EXTRA) as pool:
        assert pool.wait_until_ready() == {}
        assert (pool.size, pool.free) == (2, 2)
        cancellation = Cancellation()
        ended: list[str] = []

        def hang() -> None:
            try:
                pool.solve("hang", KNAPSACK, PLAIN, START, Budget(60), cancellation)
            except WorkerError as error:
                ended.append(str(error))

        threads = [threading.Thread(target=hang) for _ in range(2)]
        threads[0].start()
        assert until(lambda: pool.free == 1)
        assert works(pool)  # beside the one that hangs
        threads[1].start()
        assert until(lambda: pool.free == 0)
        budget = Budget(0.1)
        with pytest.raises(WorkerError, match="no solver worker was free"):
            pool.solve("honest", KNAPSACK, PLAIN, START, budget)
        assert time.monotonic() - budget.deadline < LATE_SECONDS
        waiting = Cancellation()
        timer = threading.Timer(0.1, waiting.cancel)
        timer.start()
        began = time.monotonic()
        with pytest.raises(WorkerError, match="cancelled"):
            pool.solve("honest", KNAPSACK, PLAIN, START, Budget(60), waiting)
        timer.join()
        cancellation.cancel()
        for thread in threads:
            thread.join(10)
        assert time.monotonic() - began < 10
        assert ended == ["the call was cancelled"] * 2
        assert pool.free == 2
        assert pool.replaced == 2
        assert works(pool)
    with pytest.raises(WorkerError, match="closed"):
        pool.solve("honest", KNAPSACK, PLAIN, START, Budget(1))


def test_a_pool_has_at_least_one_worker() -> None:
    with pytest.raises(ValueError, match="1 or more"):
        WorkerPool(0)
