"""Time is kept for what comes after the plan of a round: how long that took before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from gangplan.domain.round import Round
from gangplan.engine import budget as budget_module
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.service import call as call_module
from gangplan.service import placement as placement_module
from gangplan.service.afterwards import Afterwards, seconds_after
from gangplan.service.call import LEAST_RESERVE_SECONDS, Call
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.sessions.registry import Sessions
from gangplan.service.sessions.store import MemoryStore
from gangplan.service.wire import write_round
from gangplan.v1 import round_pb2, session_service_pb2


class SlowStore(MemoryStore):
    """Takes three tenths of a second for whatever is to be kept."""

    def commit(self, *words: Any, **more: Any) -> bool:
        time.sleep(0.3)
        return super().commit(*words, **more)


def test_what_it_took_is_kept_free_the_next_time(instant: Any, make_round: Callable[..., Round]) -> None:
    deadlines: list[float] = []
    plan = instant.plan

    def planned(round_: Round, parameters: PlanParameters, budget: Budget, *more: Any) -> Any:
        deadlines.append(budget.deadline)
        return plan(round_, parameters, budget, *more)

    instant.plan = planned
    placement = Placement(instant, ServerOptions(), sessions=Sessions(SlowStore()))
    round_ = make_round(jobs=600)
    snapshot = write_round(round_, PlanParameters(time_budget_seconds=2.0))
    chunk = session_service_pb2.OpenSessionRequest(snapshot=snapshot)
    state = placement.session_calls.open_session([chunk.SerializeToString()], "me").session
    request = round_pb2.PlanRoundRequest(now=snapshot.now)
    request.session.session_id = state.session_id
    assert placement.seconds_left(request, Call()) > 2.0  # nothing is known of it
    calls = [Call(caller="me"), Call(caller="me")]
    for call in calls:
        placement.plan_round(request, call)
        call.answered()
    assert 0.0 < placement.seconds_left(request, Call()) <= 2.0  # in the queue, too, it is the session's
    free = [call.started + 2.0 - deadline for call, deadline in zip(calls, deadlines, strict=True)]
    assert free[1] >= 0.3, free


class Clock:
    """Seconds that pass when somebody says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the whole service."""
    clock = Clock()
    for module in (placement_module, call_module, budget_module):
        monkeypatch.setattr(module, "time", clock)
    return clock


def test_a_busy_service_keeps_more_for_its_answers_and_a_calm_one_less(
    instant: Any, make_round: Callable[..., Round], clock: Clock
) -> None:
    """Every plan comes 30 ms after its deadline, and its answer 40 ms later: from the second on, in time."""
    slowness, late = [1.0], []
    plan = instant.plan

    def planned(round_: Round, parameters: PlanParameters, budget: Budget, *more: Any) -> Any:
        clock.now = budget.deadline + 0.03 * slowness[0]
        return plan(round_, parameters, budget, *more)

    instant.plan = planned
    placement = Placement(instant, ServerOptions())
    request = write_round(make_round(), PlanParameters(time_budget_seconds=0.3))
    for number in range(100):
        call = Call(started=clock.now)
        slowness[0] = 1.0 if number < 4 else 0.01
        placement.plan_round(request, call)
        clock.now += 0.04 * slowness[0]
        late.append(clock.now - call.started - 0.3)
        call.answered()
    assert late[0] == pytest.approx(0.07 - LEAST_RESERVE_SECONDS)
    assert late[1:4] == pytest.approx([-LEAST_RESERVE_SECONDS] * 3)
    assert late[4] < -0.07  # calm again; the time that was kept for nothing
    assert late[-1] == pytest.approx(-LEAST_RESERVE_SECONDS, abs=1e-4)


def test_no_more_is_kept_than_half_of_what_is_left(
    instant: Any, make_round: Callable[..., Round], clock: Clock
) -> None:
    left = []
    plan = instant.plan

    def planned(round_: Round, parameters: PlanParameters, budget: Budget, *more: Any) -> Any:
        left.append(budget.remaining)
        return plan(round_, parameters, budget, *more)

    instant.plan = planned
    placement = Placement(instant, ServerOptions())
    request = write_round(make_round(), PlanParameters(time_budget_seconds=0.3))
    for _ in range(2):
        call = Call(started=clock.now)
        placement.plan_round(request, call)
        clock.now += 5.0
        call.answered()
    assert left == pytest.approx([0.3 - LEAST_RESERVE_SECONDS, 0.15 - LEAST_RESERVE_SECONDS])


@pytest.mark.parametrize(
    ("planned", "deadline", "first", "answered", "seconds"),
    [
        (1.0, 2.0, 0.5, 1.2, 0.2),  # planned before it had to be
        (2.1, 2.0, 0.5, 2.3, 0.3),  # later: that is to be kept, too
        (2.6, 2.0, 2.5, 2.8, 0.3),  # nothing was there at the deadline: no reserve would have helped
        (2.6, 2.0, 2.7, 2.5, 0.0),
    ],
)
def test_what_would_have_to_be_kept(
    planned: float, deadline: float, first: float, answered: float, seconds: float
) -> None:
    assert seconds_after(planned, deadline, first, answered) == pytest.approx(seconds)


def test_small_rounds_tell_nothing_of_larger_ones_and_quicker_ones_count_little_by_little() -> None:
    after = Afterwards()
    after.note(3, 1.0)
    assert after.expected(1000) == 0.0
    assert after.expected(2) == 1.0
    after.note(1000, 1.0)
    assert after.expected(2000) == 2.0
    after.note(1000, 0.5)
    assert abs(after.expected(1000) - 0.95) < 1e-12
    assert after.expected(2) == 1.0
