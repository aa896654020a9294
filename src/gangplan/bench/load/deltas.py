"""Rounds on a session beside whole ones: the CPU time of all that is not planning, and how soon answers are.

A round is asked for whole; then a session is opened with it, and round after round a share of the waiting
jobs gets another weight, by a delta, and a round is planned on the session, of which is asked, as clients do,
what is other than in the plan before. What counts as *overhead*, in seconds of CPU of the thread that
answers: reading the request (or the delta), what is in flight, the model's arrays and the verifier's facts,
writing the answer and keeping it. The rest of the planner's own time is left out.

``options`` may set ``change``, the share of the jobs in a delta, ``rounds``, and ``most_share``, of the
whole round's overhead, above which the row is told as a problem.
"""

from __future__ import annotations

import dataclasses
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gangplan.bench import machine
from gangplan.bench.runs import Row, Run, Status
from gangplan.engine.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from gangplan.domain.plan import RoundResult, Stage
    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters
    from gangplan.engine.runner import Cancellation
    from gangplan.service.placement import Placement
    from gangplan.v1 import round_pb2, session_service_pb2

CHANGE = 0.01
ROUNDS = 3
MOST_SHARE = 0.2
_ANSWER_SECONDS = 0.1
_CALM_SECONDS = 60.0
_PARTS = ("outside", "instance", "facts")


class _CpuBudget(Budget):
    """Counts seconds of CPU of the thread by phase as well."""

    __slots__ = ("cpu_by_phase",)

    def __init__(self, deadline: float) -> None:
        super().__init__(deadline=deadline)
        self.cpu_by_phase: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """As a budget does, in seconds of CPU, too."""
        began = time.thread_time()
        with super().phase(name):
            yield
        self.cpu_by_phase[name] = self.cpu_by_phase.get(name, 0.0) + time.thread_time() - began


class _Planner:
    """Prices and greedy in this thread; remembers how long it took, and its phases."""

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self.by_phase: dict[str, float] = {}

    def plan(
        self,
        round_: Round,
        parameters: PlanParameters,
        budget: Budget,
        cancellation: Cancellation,
        on_stage: Callable[[Stage], None] | None = None,
        on_better: Callable[[RoundResult], None] | None = None,
    ) -> RoundResult:
        from gangplan.engine.round import plan_round

        began = time.thread_time()
        how = dataclasses.replace(parameters, pipeline="greedy")
        counted = _CpuBudget(budget.deadline)
        result = plan_round(round_, how, budget=counted, cancellation=cancellation)
        self.cpu_s, self.by_phase = time.thread_time() - began, counted.cpu_by_phase
        return result

    def warm(self) -> None:
        """Nothing to get ready."""

    def close(self) -> None:
        """Nothing to end."""


def measure(run: Run) -> list[Row]:
    """The row of a run; ``whole`` and ``delta`` have CPU seconds by part, those of the delta as medians."""
    from gangplan.engine.practice import compile_loops
    from gangplan.planning.generate import generate_named
    from gangplan.service.options import ServerOptions
    from gangplan.service.placement import Placement

    compile_loops()
    calibration = [machine.calibrate()]
    rng = random.Random(run.seed)
    round_ = generate_named(run.instance)
    planner = _Planner()
    placement = Placement(planner, ServerOptions())
    change = float(run.options.get("change", CHANGE))
    whole = _whole(placement, planner, round_)
    session = _Session(placement, planner, round_)
    session.plan(_CALM_SECONDS)  # the first round of all, with what it starts in flight
    found, answers = [], []
    for _ in range(int(run.options.get("rounds", ROUNDS))):
        found.append(session.changed(rng, change))
        answers.append(session.answered())
    delta = {part: statistics.median(each[part] for each in found) for part in _PARTS}
    share = sum(delta.values()) / sum(whole.values())
    most = float(run.options.get("most_share", MOST_SHARE))
    calibration.append(machine.calibrate())
    missed = []
    if share > most:
        missed.append(f"a delta's round has {share:.0%} of a whole one's overhead; {most:.0%} is the most")
    return [
        {
            "name": "deltas",
            "status": Status.FEASIBLE.value,
            "jobs": len(round_.jobs),
            "change": change,
            "whole": whole,
            "delta": delta,
            "overhead_share": share,
            "answer_cpu_s": statistics.median(cpu for cpu, _, _ in answers),
            "answer_s": statistics.median(wall for _, wall, _ in answers),
            "answer_gap": statistics.median(gap for _, _, gap in answers),
            "missed": missed,
            "calibration_s": calibration,
        }
    ]


def _whole(placement: Placement, planner: _Planner, round_: Round) -> dict[str, float]:
    """CPU seconds of a whole round, by part."""
    from gangplan.engine.parameters import PlanParameters
    from gangplan.service.call import Call
    from gangplan.service.wire import write_round

    how = PlanParameters(time_budget_seconds=_CALM_SECONDS)
    encoded = write_round(round_, how, compact=True).SerializeToString()
    began = time.thread_time()
    placement.plan_round(placement.parse_round(encoded), Call()).SerializeToString()
    return _parts(planner, time.thread_time() - began - planner.cpu_s)


def _parts(planner: _Planner, outside: float) -> dict[str, float]:
    return dict(zip(_PARTS, (outside, *(planner.by_phase[name] for name in _PARTS[1:])), strict=True))


class _Session:
    """A session and its rounds, in process."""

    def __init__(self, placement: Placement, planner: _Planner, round_: Round) -> None:
        from gangplan.engine.parameters import PlanParameters
        from gangplan.service.wire import write_round
        from gangplan.v1 import session_service_pb2

        self._placement, self._planner = placement, planner
        self._known = write_round(round_, PlanParameters(time_budget_seconds=_CALM_SECONDS), compact=False)
        opening = session_service_pb2.OpenSessionRequest(snapshot=self._known)
        opened = placement.session_calls.open_session([opening.SerializeToString()], "")
        self._state = opened.session
        self._plan_id = ""
        self._now = self._known.now.seconds

    def changed(self, rng: random.Random, share: float) -> dict[str, float]:
        """CPU seconds of a delta of that share of the jobs and of the round after it, by part."""
        delta = self._delta(rng, share)
        began = time.thread_time()
        answer = self._placement.session_calls.apply_delta(delta)
        applying = time.thread_time() - began
        self._state = answer.session
        outside = self.plan(_CALM_SECONDS)
        return _parts(self._planner, applying + outside)

    def plan(self, budget: float) -> float:
        """Plan a round; the CPU seconds outside the planner."""
        request = self._round(budget)
        began = time.thread_time()
        self._answer(request).SerializeToString()
        return time.thread_time() - began - self._planner.cpu_s

    def answered(self) -> tuple[float, float, float]:
        """A round with little time: CPU seconds of the process, seconds, and the relative gap."""
        request = self._round(_ANSWER_SECONDS)
        cpu, wall = time.process_time(), time.monotonic()
        answer = self._answer(request)
        answer.SerializeToString()
        return time.process_time() - cpu, time.monotonic() - wall, answer.quality.relative_gap

    def _answer(self, request: round_pb2.PlanRoundRequest) -> round_pb2.PlanRoundResponse:
        from gangplan.service.call import Call

        call = Call()
        answer = self._placement.plan_round(request, call)
        call.answered()
        self._plan_id = answer.session.plan_id
        return answer

    def _round(self, budget: float) -> round_pb2.PlanRoundRequest:
        from gangplan.v1 import round_pb2

        self._now += 60
        request = round_pb2.PlanRoundRequest()
        request.now.seconds = self._now
        request.session.session_id = self._state.session_id
        request.session.difference_from = self._plan_id
        request.parameters.time_budget.FromNanoseconds(round(budget * 1e9))
        return request

    def _delta(self, rng: random.Random, share: float) -> session_service_pb2.ApplyDeltaRequest:
        from gangplan.v1 import session_service_pb2

        waiting = [job for job in self._known.jobs if not job.HasField("running")]
        some = rng.sample(waiting, max(1, round(share * len(self._known.jobs))))
        for job in some:
            job.weight = rng.uniform(0.5, 2.0)
        return session_service_pb2.ApplyDeltaRequest(
            session_id=self._state.session_id, base_revision=self._state.revision, upsert_jobs=some
        )
